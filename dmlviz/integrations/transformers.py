"""A callback of Hugging Face's Trainer that records a training: `Trainer(callbacks=[DmlvizCallback(…)])`."""

from typing import Any

from dmlviz.integrations.probe import Embed, Probe
from dmlviz.integrations.requirement import missing

try:
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
except ImportError:
    raise missing("transformers", "transformers") from None


class DmlvizCallback(TrainerCallback):
    """Records the embeddings of some images while a `Trainer` trains: before, after each epoch, at each evaluation.

    The curve of the loss has a point wherever the Trainer logs (`logging_steps`).

    Args:
        title: title of the run.
        images: what the model takes (n × …), as its image processor gives it; the same ones every time.
        labels: their classes (n).
        shown: the images as a person should see them; by default `images`.
        embed: function of the model and a batch of images that returns embeddings (batch × d); by default the model's
            output, or its `pooler_output` or `image_embeds`.
        batch_size: images embedded at a time.
        **options: further arguments of `dmlviz.record`.
    """

    def __init__(
        self,
        title: str,
        images: Any,
        labels: Any,
        *,
        shown: Any = "images",
        embed: Embed | None = None,
        batch_size: int = 64,
        **options: Any,
    ) -> None:
        self.probe = Probe(title, images, labels, shown=shown, embed=embed, batch_size=batch_size, **options)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Any = None, **kwargs: Any
    ) -> None:
        """Record the model as it is before."""
        if state.is_world_process_zero:
            self.probe.options.setdefault("steps", state.max_steps)
        self._snapshot(state, model)

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, logs: Any = None, **kwargs: Any
    ) -> None:
        """Record the loss."""
        if state.is_world_process_zero and logs and "loss" in logs:
            self.probe.loss(state.global_step, float(logs["loss"]))

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Any = None, **kwargs: Any
    ) -> None:
        """Record an epoch."""
        self._snapshot(state, model)

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Any = None, **kwargs: Any
    ) -> None:
        """Record the model as it is evaluated."""
        self._snapshot(state, model)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Any = None, **kwargs: Any
    ) -> None:
        """Record the end."""
        self._snapshot(state, model)
        self.probe.end()

    def _snapshot(self, state: TrainerState, model: Any) -> None:
        if state.is_world_process_zero and model is not None:
            self.probe.snapshot(model, state.global_step)
