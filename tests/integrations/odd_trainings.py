"""Trainings that do not go as in the examples, of the libraries that are there; prints what was warned of, as JSON."""

import contextlib
import json
import logging
import tempfile
import warnings
from importlib.util import find_spec

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from dmlviz.recording import RecordingWarning

LABELS = torch.arange(32) % 4
IMAGES = torch.randn(32, 1, 4, 4, generator=torch.Generator().manual_seed(0)) + LABELS[:, None, None, None]
DATA = TensorDataset(IMAGES, LABELS)
BATCH = 8  # four batches an epoch


def no_embeddings(net, images):
    """Fail."""
    raise RuntimeError("this net embeds nothing")


def lightning_trainings():
    """An accumulated loss in bfloat16, two fits of one callback, one that crashes, and one that cannot be embedded."""
    from dmlviz.integrations.lightning import DmlvizCallback, LightningModule, Trainer

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Embedder(LightningModule):
        def __init__(self, crash_at=-1):
            super().__init__()
            self.net, self.crash_at = nn.Sequential(nn.Flatten(), nn.Linear(16, 4)), crash_at

        def forward(self, images):
            return self.net(images)

        def training_step(self, batch, index):
            if index == self.crash_at:
                raise ValueError("no more data")
            return 0 * self(batch[0]).square().mean() + 8

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    def fit(callback, module=None, fits=1, **options):
        trainer = Trainer(
            max_epochs=1, callbacks=[callback], accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, **options,
        )  # fmt: skip
        module = module or Embedder()
        for epochs in range(1, fits + 1):
            trainer.fit_loop.max_epochs = epochs
            trainer.fit(module, DataLoader(DATA, BATCH))

    fit(DmlvizCallback("accumulated", DATA), accumulate_grad_batches=2, precision="bf16-true")
    fit(DmlvizCallback("fitted", IMAGES, LABELS), fits=2)
    with contextlib.suppress(ValueError):
        fit(DmlvizCallback("crashed in Lightning", IMAGES, LABELS), Embedder(crash_at=2))
    fit(DmlvizCallback("not embedded", IMAGES, LABELS, embed=no_embeddings))


def transformers_trainings():
    """Two trainings of one callback, and one that crashes while the program goes on."""
    from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainingArguments

    from dmlviz.integrations.transformers import DmlvizCallback

    class Embedder(PreTrainedModel):
        config_class = PretrainedConfig

        def __init__(self, config, crashes=False):
            super().__init__(config)
            self.layer, self.crashes = nn.Linear(16, 4), crashes
            self.post_init()

        def forward(self, pixel_values, labels=None):
            if self.training and self.crashes:
                raise ValueError("no more data")
            embeddings = self.layer(pixel_values.flatten(1))
            return {"loss": embeddings.square().mean(), "embeddings": embeddings}

    class Items(Dataset):
        def __len__(self):
            return len(DATA)

        def __getitem__(self, index):
            return {"pixel_values": IMAGES[index], "labels": LABELS[index]}

    def trainer(callback, crashes=False):
        arguments = TrainingArguments(
            tempfile.gettempdir(), num_train_epochs=1, per_device_train_batch_size=BATCH, logging_steps=1,
            save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
        )  # fmt: skip
        model = Embedder(PretrainedConfig(), crashes)
        return Trainer(model, arguments, train_dataset=Items(), callbacks=[callback])

    twice = trainer(DmlvizCallback("trained", Items()))
    twice.train()
    twice.train()
    with contextlib.suppress(ValueError), DmlvizCallback("crashed in the Trainer", IMAGES, LABELS) as callback:
        trainer(callback, crashes=True).train()


def pytorch_metric_learning_trainings():
    """Three epochs with a snapshot after every second, from the untrained net, and two trainings of the same hooks."""
    from pytorch_metric_learning import losses, trainers

    from dmlviz.integrations.pytorch_metric_learning import DmlvizHooks

    def trainer(hooks):
        net = nn.Sequential(nn.Flatten(), nn.Linear(16, 4))
        return trainers.MetricLossOnly(
            {"trunk": net}, {"trunk_optimizer": torch.optim.SGD(net.parameters(), 0.01)}, BATCH,
            {"metric_loss": losses.ContrastiveLoss()}, DATA, data_device="cpu", dataloader_num_workers=0,
            end_of_iteration_hook=hooks.end_of_iteration_hook, end_of_epoch_hook=hooks.end_of_epoch_hook,
        )  # fmt: skip

    with DmlvizHooks("every second epoch", IMAGES, LABELS, every_n_epochs=2) as hooks:
        three = trainer(hooks)
        hooks.begin(three)
        three.train(num_epochs=3)
    with DmlvizHooks("trained by PML", IMAGES, LABELS) as hooks:
        two = trainer(hooks)
        two.train()
        two.train()


def main():
    """Train, and print the warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", RecordingWarning)
        for library in ("lightning", "transformers", "pytorch_metric_learning"):
            if find_spec(library) is not None:
                globals()[f"{library}_trainings"]()
    print(json.dumps([str(warning.message) for warning in warned if warning.category is RecordingWarning]))


main()
