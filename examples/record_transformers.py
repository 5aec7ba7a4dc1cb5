"""Record a training by Hugging Face's Trainer: `pip install 'dmlviz[transformers]'`, then run this file."""

import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification, set_seed

from dmlviz import data
from dmlviz.integrations.transformers import DmlvizCallback

digits = data.load("digits")
train, test = (torch.from_numpy(part.images).float().unsqueeze(1) / 255 for part in (digits.train, digits.test))


class Digits(Dataset):
    """The training images, as the Trainer takes them."""

    def __len__(self) -> int:
        return len(train)

    def __getitem__(self, index: int):
        return {"pixel_values": train[index], "labels": int(digits.train.labels[index])}


set_seed(0)  # The Trainer's own seed comes too late for the weights that the net starts from.
config = ViTConfig(
    image_size=8, patch_size=2, num_channels=1, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=64, num_labels=10,
)  # fmt: skip
callback = DmlvizCallback(
    "A small ViT",
    test,
    digits.test.labels,
    embed=lambda model, images: nn.functional.normalize(model.vit(images).last_hidden_state[:, 0]),
)
with tempfile.TemporaryDirectory() as folder, callback:
    arguments = TrainingArguments(
        folder, num_train_epochs=8, per_device_train_batch_size=60, learning_rate=3e-3, warmup_steps=20,
        logging_steps=5, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
    )  # fmt: skip
    Trainer(ViTForImageClassification(config), arguments, train_dataset=Digits(), callbacks=[callback]).train()

run = callback.probe.recording.run
print(f"{run.title}: P@1 {run.metrics['precision_at_1']:.3f} after {run.steps} steps in {run.path}")
