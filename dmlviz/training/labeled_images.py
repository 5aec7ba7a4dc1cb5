"""Images, or their features, on a device with their labels, normalized when they are needed."""

from collections.abc import Mapping
from copy import copy
from typing import Self

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from dmlviz.catalog.datasets import AUGMENTATION, DATASETS
from dmlviz.data import Dataset, Split

MAX_DRAWS = 64  # random draws a batch; images of larger batches share them, as one transform of one image costs 0.2 ms


class Augmentation:
    """Changes the images of a batch at random; equal seeds change equal batches alike.

    torchvision's transforms draw once a call. So a batch is split at random into at most MAX_DRAWS groups, each with a
    draw of its own. torch's global random state stays untouched.

    Args:
        strengths: Strengths by name, see `dmlviz.catalog.datasets`.
        size: Side of the images in pixels.
        background: Value of pixels that a shift or a rotation uncovers, from 0 (black) to 1.
        color: Whether the images have three channels.
        seed: Seed of the random numbers.
    """

    def __init__(self, strengths: Mapping[str, float], *, size: int, background: float, color: bool, seed: int) -> None:
        self._transform = _transform(strengths, size, background, color)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._state = torch.get_rng_state()

    def __call__(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Return the changed images; values lie from 0 to 1, before and after."""
        result = torch.empty_like(images)
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self._state)
            for rows in torch.randperm(len(images)).tensor_split(min(len(images), MAX_DRAWS)):
                result[rows] = self._transform(images[rows])
            self._state = torch.get_rng_state()
        return result

    def pixels(self, images: Tensor) -> Tensor:
        """Return changed pixels (uint8 n × h × w × c, before and after)."""
        changed = self(images.permute(0, 3, 1, 2).float().div_(255))
        return changed.mul_(255).round_().byte().permute(0, 2, 3, 1).contiguous()


def _transform(strengths: Mapping[str, float], size: int, background: float, color: bool) -> nn.Module:
    from dmlviz.nets.torchvision_operators import register_missing

    register_missing()
    from torchvision.transforms import v2

    steps: list[nn.Module] = []
    strengths = AUGMENTATION.with_defaults(strengths)
    if strengths["flip"]:
        steps.append(v2.RandomHorizontalFlip(strengths["flip"]))
    if strengths["crop"]:
        narrow = 1 - strengths["ratio"]
        steps.append(v2.RandomResizedCrop(size, (1 - strengths["crop"], 1.0), (narrow, 1 / narrow), antialias=True))
    shift, rotate = strengths["shift"], strengths["rotate"]
    if shift or rotate:
        bilinear = v2.InterpolationMode.BILINEAR
        steps.append(v2.RandomAffine(rotate, (shift, shift), interpolation=bilinear, fill=background))
    jitter, hue = strengths["jitter"], strengths["hue"]
    if jitter or hue:
        steps.append(v2.ColorJitter(jitter or None, jitter or None, (jitter or None) if color else None, hue or None))
    if erase := strengths["erase"]:
        steps.append(v2.RandomErasing(0.5, scale=(min(0.02, erase), erase), value=background))
    transform: nn.Module = v2.Compose(steps)
    return transform


class LabeledImages:
    """The images of a split, or some of them: uint8 on the device if there is room, normalized on access.

    `images[indices]` is n × channels × height × width, as a net takes it: float, or uint8 for a net that normalizes
    them itself. Features of a backbone count as images of one pixel, with a channel for each dimension.

    Args:
        split: The images and their labels.
        data: The data set, for channels, mean and standard deviation.
        device: Target device.
        as_bytes: Whether a net takes the pixels themselves, and not features, even if there are some.
    """

    def __init__(self, split: Split, data: Dataset, device: torch.device, as_bytes: bool = False) -> None:
        self.rows = np.arange(len(split))
        self.labels = split.labels
        self._device = device
        self._as_bytes = as_bytes
        features = None if split.features is None or as_bytes else DATASETS[data.name].features
        if split.features is not None and features is not None:
            pixels = torch.from_numpy(split.features)[:, None, None]
            self._mean, self._std = features.mean, features.std
        else:
            pixels = torch.from_numpy(split.images).reshape(len(split), *split.images.shape[1:3], data.channels)
            self._mean, self._std = 255 * data.mean, 255 * data.std
        # The pixels of the whole split: on the CPU they are not copied, and stay there if they would fill a GPU.
        self._pixels = pixels.to(device if _fits(pixels, device) else "cpu")
        self._rows = torch.from_numpy(self.rows).to(self._pixels.device)

    def select(self, rows: np.ndarray) -> Self:
        """Return the images at some rows; their pixels are shared."""
        subset = copy(self)
        subset.rows, subset.labels = self.rows[rows], self.labels[rows]
        subset._rows = torch.from_numpy(subset.rows).to(self._pixels.device)
        return subset

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, indices: Tensor | slice) -> Tensor:
        return self._normalize(self._take(indices))

    def augment(self, indices: Tensor, augmentation: Augmentation) -> tuple[Tensor, Tensor]:
        """Return augmented images: as a net takes them, and as uint8 pixels, in the shape of the data set's."""
        pixels = augmentation.pixels(self._take(indices))
        return self._normalize(pixels), pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels

    def _take(self, indices: Tensor | slice) -> Tensor:
        where = indices.to(self._rows.device) if isinstance(indices, Tensor) else indices
        return self._pixels[self._rows[where]].to(self._device)

    def _normalize(self, pixels: Tensor) -> Tensor:
        if self._as_bytes:
            return pixels.permute(0, 3, 1, 2)
        # Stored as n × h × w × c, so the permuted view is channels_last without a second copy.
        return pixels.float().sub_(self._mean).div_(self._std).permute(0, 3, 1, 2)


def _fits(pixels: Tensor, device: torch.device) -> bool:
    return device.type != "cuda" or pixels.nbytes < torch.cuda.mem_get_info(device)[0] // 2
