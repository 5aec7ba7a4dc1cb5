"""A training within a trial: it reports its progress, stops on request, and gives the reason of a failure."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from dmlviz.config import TrainConfig
from dmlviz.data import Dataset
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.labs.kept_arrays import NET
from dmlviz.storage.arrays import read_arrays
from dmlviz.studies.trial import TrialContext, TrialStoppedError, Values
from dmlviz.training.events import Event, Failed, Finished, Snapshot, Stopping
from dmlviz.training.loop import train
from dmlviz.training.trainer import Trainer


def train_to_the_end(
    config: TrainConfig,
    data: Dataset,
    context: TrialContext,
    on_snapshot: Callable[[Snapshot], Values] = lambda snapshot: {},
    on_event: Callable[[Event], object] = lambda event: None,
    share: tuple[float, float] = (0.0, 1.0),
) -> Finished:
    """Train; return the last event, with the embeddings of all test images.

    Args:
        config: The settings.
        data: The data set.
        context: Gets the share that is done; says when to stop.
        on_snapshot: Returns what to report of a snapshot besides the share.
        on_event: Called with every event but the end.
        share: Part of the trial that this training is.

    Raises:
        UserError: If the training diverged.
        TrialStoppedError: If the trial was asked to stop.
    """
    begin, end = share
    for event in train(config, data=data, stop=context.stop):
        if isinstance(event, Failed):
            raise UserError(event.reason)
        if isinstance(event, Stopping):  # before the test images are scored, which would not be read
            raise TrialStoppedError
        if isinstance(event, Finished):
            return event
        on_event(event)
        if isinstance(event, Snapshot):
            context.report(begin + (end - begin) * event.step / config.steps, **on_snapshot(event))
    raise TrialStoppedError


def keep_net(net: nn.Module, folder: Path) -> None:
    """Write the weights of a net into a trial's folder, in 16 bits, shared ones once: a playground needs no more."""
    weights: Values = {name: weight.detach().numpy().astype(np.float16) for name, weight in net.named_parameters()}
    np.savez_compressed(folder / NET, **weights)


def fill_with_kept(net: nn.Module, folder: Path) -> nn.Module:
    """Give a net the weights that a trial kept, and return it, ready to embed.

    Raises:
        DamagedFileError: If they are of another net.
    """
    arrays, weights = read_arrays(folder / NET), dict(net.named_parameters())
    shapes = {name: tuple(weight.shape) for name, weight in weights.items()}
    if {name: values.shape for name, values in arrays.items()} != shapes:
        raise DamagedFileError(folder / NET, "it does not hold the weights of this lab's net")
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(torch.from_numpy(arrays[name].astype(np.float32)))
    return net.eval()


CHECK_EVERY = 20  # steps between two looks whether to stop
CHUNK = 200  # images per forward pass


def train_net(
    config: TrainConfig,
    data: Dataset,
    context: TrialContext,
    share: tuple[float, float] = (0.0, 1.0),
    look: Callable[[int, Trainer], object] = lambda step, trainer: None,
) -> torch.nn.Module:
    """Train on the CPU and return the net, ready to embed.

    Args:
        config: The settings.
        data: The data set; its test images are not looked at.
        context: Gets the share that is done; says when to stop.
        share: Part of the trial that this training is.
        look: Called every `CHECK_EVERY` steps with the number of the step and the trainer.

    Raises:
        UserError: If the training diverged.
        TrialStoppedError: If the trial was asked to stop.
    """
    trainer = Trainer(config, data, torch.device("cpu"))
    begin, end = share
    for step in range(1, config.steps + 1):
        stats = trainer.train_step(step)
        if not math.isfinite(stats.loss):
            raise UserError(f"The training diverged: step {step:,} gave a loss of {stats.loss}.")
        if step % CHECK_EVERY == 0:
            if context.stop():
                raise TrialStoppedError
            context.report(begin + (end - begin) * step / config.steps)
            look(step, trainer)
    net: torch.nn.Module = trainer.net.eval()
    return net


@torch.no_grad()
def embed(net: torch.nn.Module, images: np.ndarray, data: Dataset) -> np.ndarray:
    """Embed images.

    Args:
        net: The net.
        images: uint8, n × h × w or n × h × w × 3.
        data: The data set that the net was trained on, for mean and standard deviation.

    Returns:
        Embeddings, n × d, float32.

    Raises:
        UserError: If one is not finite.
    """
    pixels = torch.from_numpy(images).reshape(len(images), *images.shape[1:3], data.channels)
    parts = [
        net(part.float().sub_(255 * data.mean).div_(255 * data.std).permute(0, 3, 1, 2)) for part in pixels.split(CHUNK)
    ]
    embeddings: np.ndarray = torch.cat(parts).float().numpy()
    if not np.isfinite(embeddings).all():
        raise UserError("The training diverged: its embeddings are not finite.")
    return embeddings


def embed_test_images(
    fields: Mapping[str, Any],
    data: Dataset,
    context: TrialContext,
    look: Callable[[int, Trainer], object] = lambda step, trainer: None,
) -> np.ndarray:
    """Return an embedding of each test image (n × d, float32).

    Args:
        fields: Fields of a TrainConfig; without any, an image is its own embedding: its pixels, scaled to [0, 1].
        data: The data set.
        context: Gets the share that is done; says when to stop.
        look: As of `train_net`.

    Raises:
        UserError: If the training diverged.
        TrialStoppedError: If the trial was asked to stop.
    """
    if not fields:
        return data.test.images.reshape(len(data.test), -1).astype(np.float32) / 255
    net = train_net(TrainConfig(dataset=data.name, **fields), data, context, share=(0.0, 0.9), look=look)
    return embed(net, data.test.images, data)
