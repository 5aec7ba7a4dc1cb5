"""Images, or their features, on a device with their labels, normalized when they are needed."""

from copy import copy
from typing import Self

import numpy as np
import torch
from torch import Tensor

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import Dataset, Split
from dmlviz.training.augmentation import Augmentation


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
        images = self._take(indices).permute(0, 3, 1, 2).float().div_(255)
        pixels = augmentation(images).mul_(255).round_().byte().permute(0, 2, 3, 1).contiguous()
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
