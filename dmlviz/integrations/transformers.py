"""A callback of Hugging Face's Trainer that records a training: `Trainer(callbacks=[DmlvizCallback(…)])`."""

from typing import Any, Self

from dmlviz.integrations import missing, prepare_import
from dmlviz.integrations.probe import Embed, Probe

try:
    prepare_import("transformers")
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
except ImportError:
    raise missing("transformers", "transformers") from None


class DmlvizCallback(TrainerCallback):
    """Records the embeddings of some images while a `Trainer` trains: before, after each epoch, at each evaluation.

    The curve of the loss has a point wherever the Trainer logs (`logging_steps`). Each training is a run of its own.
    A failure of recording is a warning, and the training goes on.

    The Trainer informs no callback of an error. As a context manager around `Trainer.train`, it ends the run with the
    reason at once; otherwise the run ends with the program, or with the next training.

    Args:
        title: Title of the run.
        images: Input of the model, as its image processor gives it: a tensor (n × …), a list of tensors, or a
            Dataset; the same ones every time.
        labels: Their classes (n); None for those of the Dataset, or for images without labels.
        shown: The images as a person should see them; by default `images`.
        embed: Function of the model and a batch of images that returns embeddings (batch × d); by default the model's
            output, or its `pooler_output` or `image_embeds`.
        batch_size: Images embedded at a time.
        **options: Further arguments of `dmlviz.record`.
    """

    def __init__(
        self,
        title: str,
        images: Any,
        labels: Any = None,
        *,
        shown: Any = "images",
        embed: Embed | None = None,
        batch_size: int = 64,
        **options: Any,
    ) -> None:
        self.probe = Probe(title, images, labels, shown=shown, embed=embed, batch_size=batch_size, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.probe.fail(error)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Any = None, **kwargs: Any
    ) -> None:
        """Record the model as it is before."""
        self.probe.start()
        self.probe.steps = state.max_steps
        self._snapshot(state, model)

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, logs: Any = None, **kwargs: Any
    ) -> None:
        """Record the loss."""
        if logs and "loss" in logs:
            self.probe.loss(state.global_step, logs["loss"])

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
        if model is not None:
            self.probe.snapshot(model, state.global_step)
