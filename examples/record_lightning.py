"""Record a training by Lightning: `pip install 'dmlviz[lightning]'`, then `python examples/record_lightning.py`."""

import torch
from lightning.pytorch import LightningModule, Trainer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from dmlviz import data, losses
from dmlviz.integrations.lightning import DmlvizCallback

digits = data.load("digits")
train, test = (torch.from_numpy(part.images).float() / 255 for part in (digits.train, digits.test))


class Embedder(LightningModule):
    """A small net that learns with the triplet loss."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
        self.loss_function = losses.build("triplet", margin=0.3)

    def forward(self, images):
        """Return normalized embeddings."""
        return nn.functional.normalize(self.net(images))

    def training_step(self, batch, index):
        """Return the loss of a batch."""
        images, labels = batch
        return self.loss_function(self(images), labels)

    def configure_optimizers(self):
        """Return Adam."""
        return torch.optim.Adam(self.parameters(), 1e-3)


batches = DataLoader(TensorDataset(train, torch.from_numpy(digits.train.labels)), batch_size=120, shuffle=True)
callback = DmlvizCallback("Lightning", test, digits.test.labels)
trainer = Trainer(
    max_epochs=8, callbacks=[callback], accelerator="cpu", logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False,
)  # fmt: skip
trainer.fit(Embedder(), batches)

run = callback.probe.recording.run
print(f"{run.title}: P@1 {run.metrics['precision_at_1']:.3f} after {run.steps} steps in {run.path}")
