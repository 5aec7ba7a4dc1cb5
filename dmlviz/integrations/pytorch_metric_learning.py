"""Hooks of pytorch-metric-learning's trainers that record a training."""

from collections.abc import Callable
from typing import Any, Self

from torch import nn

from dmlviz.integrations import missing, prepare_import
from dmlviz.integrations.probe import Embed, Probe, at_least_one

try:
    prepare_import("pytorch_metric_learning")
    from pytorch_metric_learning.trainers import BaseTrainer
except ImportError:
    raise missing("pytorch-metric-learning", "pytorch-metric-learning") from None


class DmlvizHooks:
    """Records the embeddings of some images after each epoch, and at the end; a context manager around `trainer.train`.

    Pass `end_of_iteration_hook` and `end_of_epoch_hook` to the trainer by these names. The trainer has no hook before
    its first batch: call `begin(trainer)` to record the untrained net too. Each training is a run of its own. What
    cannot be recorded is a warning, and the training goes on.

    Args:
        title: Title of the run.
        images: Input of the trunk: a tensor (n × …), a list of tensors, or a Dataset; the same ones every time.
        labels: Their classes (n); None for those of the Dataset, or for images without labels.
        shown: The images as a person should see them; by default `images`.
        embed: Function of the net (trunk, then embedder) and a batch of images; by default the net's output.
        every_n_epochs: Epochs between snapshots.
        next_hook: Another `end_of_epoch_hook`, as that of a HookContainer, which is called after this one.
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
        every_n_epochs: int = 1,
        next_hook: Callable[[BaseTrainer], bool | None] | None = None,
        batch_size: int = 256,
        **options: Any,
    ) -> None:
        self.probe = Probe(title, images, labels, shown=shown, embed=embed, batch_size=batch_size, **options)
        self.every_n_epochs, self.next_hook = at_least_one("every_n_epochs", every_n_epochs), next_hook
        self._trainer: BaseTrainer | None = None  # the one that has trained
        self._in_epoch = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None and self._trainer is not None:
            self._snapshot(self._trainer, _step(self._trainer))
        self._trainer = None
        self.probe.fail(error)

    def begin(self, trainer: BaseTrainer) -> None:
        """Record the untrained net; call it before `trainer.train`.

        Args:
            trainer: The trainer.
        """
        self.probe.start()
        self._snapshot(trainer, 0)

    def end_of_iteration_hook(self, trainer: BaseTrainer) -> None:
        """Record the loss of a batch.

        Args:
            trainer: The trainer.
        """
        self._trainer = trainer
        if _step(trainer) <= self.probe.last_loss_step:
            if not self._in_epoch:
                self.probe.end()
            self.probe.start()  # it trains again, from its first epoch
        self._in_epoch = True
        self.probe.loss(_step(trainer), trainer.losses["total_loss"])

    def end_of_epoch_hook(self, trainer: BaseTrainer) -> bool | None:
        """Record an epoch.

        Args:
            trainer: The trainer.

        Returns:
            What the next hook says: False ends the training.
        """
        self._in_epoch = False
        if trainer.epoch % self.every_n_epochs == 0:
            self._snapshot(trainer, _step(trainer))
        return None if self.next_hook is None else self.next_hook(trainer)

    def _snapshot(self, trainer: BaseTrainer, step: int) -> None:
        with self.probe.harmless():  # models may have other names
            parts = (trainer.models["trunk"], trainer.models.get("embedder"))
            self.probe.snapshot(nn.Sequential(*(part for part in parts if part is not None)), step)


def _step(trainer: BaseTrainer) -> int:
    """Return the number of batches so far; an epoch counts them from 0."""
    return int((trainer.epoch - 1) * trainer.iterations_per_epoch + trainer.iteration + 1)
