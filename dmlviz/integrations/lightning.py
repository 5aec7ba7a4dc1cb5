"""A callback of Lightning that records a training: `Trainer(callbacks=[DmlvizCallback(…)])`."""

from typing import Any

from dmlviz.integrations import missing, prepare_import
from dmlviz.integrations.probe import Embed, Probe, at_least_one

try:
    prepare_import("lightning")
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError:
    raise missing("lightning", "lightning") from None


class DmlvizCallback(Callback):
    """Records the embeddings of some images while a `Trainer` trains: before, after every so many epochs, at the end.

    Each `fit` is a run of its own. A failure of recording is a warning, and the training goes on.

    Args:
        title: Title of the run.
        images: Input of the module: a tensor (n × …), a list of tensors, or a Dataset; the same ones every time.
        labels: Their classes (n); None for those of the Dataset, or for images without labels.
        shown: The images as a person should see them; by default `images`.
        embed: Function of the module and a batch of images; by default the module's output.
        every_n_epochs: Epochs between snapshots.
        every_n_train_steps: Batches between further snapshots; None for none.
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
        every_n_train_steps: int | None = None,
        batch_size: int = 256,
        **options: Any,
    ) -> None:
        super().__init__()
        self.probe = Probe(title, images, labels, shown=shown, embed=embed, batch_size=batch_size, **options)
        self.every_n_epochs = at_least_one("every_n_epochs", every_n_epochs)
        self.every_n_train_steps = every_n_train_steps

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the untrained net."""
        self.probe.start()
        self._snapshot(trainer, pl_module)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Record the loss."""
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None:
            parts = (
                trainer.accumulate_grad_batches if pl_module.automatic_optimization else 1
            )  # Lightning divides by it
            self.probe.loss(trainer.fit_loop.total_batch_idx + 1, parts * loss)
        if self.every_n_train_steps and (trainer.fit_loop.total_batch_idx + 1) % self.every_n_train_steps == 0:
            self._snapshot(trainer, pl_module)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record an epoch."""
        if (trainer.current_epoch + 1) % self.every_n_epochs == 0:
            self._snapshot(trainer, pl_module)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the end."""
        self._snapshot(trainer, pl_module)
        self.probe.end()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """End the recording of a training that fails, or is interrupted."""
        self.probe.fail(exception)

    def _snapshot(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.probe.snapshot(pl_module, trainer.fit_loop.total_batch_idx + 1)
