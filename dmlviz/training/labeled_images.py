"""Images, or their features, on a device with their labels, normalized when they are needed."""

import math
from collections.abc import Mapping
from copy import copy
from typing import Self

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from dmlviz.catalog.datasets import AUGMENTATION, DATASETS
from dmlviz.data import Dataset, Split

# The hue turns about the gray axis of the linear YIQ space, which keeps the luminance of a pixel.
_YIQ = np.array([[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]], np.float32)


class Augmentation:
    """Changes the images of a batch at random, each by draws of its own; equal seeds change equal batches alike.

    Crop, shift and rotation are one bilinear sampling of the batch.

    Args:
        strengths: Strengths by name, see `dmlviz.catalog.datasets`.
        background: Value of pixels that a shift or a rotation uncovers, from 0 (black) to 1.
        seed: Seed of the random numbers.
    """

    def __init__(self, strengths: Mapping[str, float], *, background: float, seed: int) -> None:
        self._strengths = AUGMENTATION.with_defaults(strengths)
        self._background = background
        self._generator = torch.Generator().manual_seed(seed)

    def __call__(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Return the changed images; values lie from 0 to 1, before and after."""
        strengths = self._strengths
        if strengths["flip"]:
            mirrored = self._draw(images, 0, 1) < strengths["flip"]
            images = torch.where(mirrored, images.flip(-1), images)
        if strengths["crop"] or strengths["shift"] or strengths["rotate"]:
            images = self._sample(images)
        if strengths["jitter"] or strengths["hue"]:
            images = self._recolor(images)
        return self._erase(images) if strengths["erase"] else images

    def pixels(self, images: Tensor) -> Tensor:
        """Return changed pixels (uint8 n × h × w × c, before and after)."""
        changed = self(images.permute(0, 3, 1, 2).float().div_(255))
        return changed.mul(255).round_().byte().permute(0, 2, 3, 1).contiguous()

    def _draw(self, images: Tensor, low: float, high: float) -> Float[Tensor, "n 1 1 1"]:
        """Return a uniform number for each image."""
        drawn = torch.empty(len(images), 1, 1, 1, dtype=torch.float32, device="cpu")
        return drawn.uniform_(low, high, generator=self._generator).to(images.device)

    def _sample(self, images: Float[Tensor, "n c s s"]) -> Tensor:
        """Crop, then rotate and shift, in coordinates from -1 to 1, the edges of an image."""
        crop, narrow = self._strengths["crop"], math.log(1 - self._strengths["ratio"])
        rotate, size = math.radians(self._strengths["rotate"]), images.shape[-1]
        shift = size * self._strengths["shift"]  # by whole pixels, so that a shift alone blurs nothing
        x = (torch.arange(size, dtype=images.dtype, device=images.device) * 2 + 1) / size - 1
        right, down = (self._draw(images, -shift, shift).round_() * 2 / size for _ in range(2))
        x, y = x - right, x.view(-1, 1) - down
        angle = self._draw(images, -rotate, rotate)
        x, y = angle.cos() * x + angle.sin() * y, angle.cos() * y - angle.sin() * x
        covered = (1 - torch.maximum(x.abs(), y.abs())).mul_(size / 2).add_(0.5).clamp_(0, 1)
        if crop:
            # As torchvision's RandomResizedCrop: the first of ten that lies in the image.
            area, shape = (
                torch.cat([self._draw(images, *ends) for _ in range(10)], dim=1)
                for ends in ((1 - crop, 1), (narrow, -narrow))
            )
            width, height = (area * shape.exp()).sqrt_(), (area / shape.exp()).sqrt_()
            first = (torch.maximum(width, height) <= 1).float().argmax(dim=1, keepdim=True)
            width, height = (side.gather(1, first).clamp_(max=1) for side in (width, height))
            x = x * width + self._draw(images, -1, 1) * (1 - width)
            y = y * height + self._draw(images, -1, 1) * (1 - height)
        grid = torch.stack([x, y], dim=-1).squeeze(1)
        images = nn.functional.grid_sample(images, grid, padding_mode="border", align_corners=False)
        return images.sub_(self._background).mul_(covered).add_(self._background)

    def _recolor(self, images: Tensor) -> Tensor:
        """Change brightness, contrast and, in color, saturation and hue: one linear map of the colors of an image."""
        jitter, hue = self._strengths["jitter"], self._strengths["hue"]
        light, contrast, saturation = (self._draw(images, max(0, 1 - jitter), 1 + jitter) for _ in range(3))
        if images.shape[1] == 1:
            mean = images.mean((-1, -2), keepdim=True)
            return torch.lerp(mean, images, contrast).mul_(light).clamp_(0, 1)
        yiq = torch.from_numpy(_YIQ).to(images.device)
        angle = self._draw(images, -hue, hue).view(-1) * 2 * math.pi
        turn = torch.eye(3, dtype=images.dtype, device=images.device).repeat(len(images), 1, 1)
        turn[:, 1:, 1:] = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], dim=1).view(-1, 2, 2)
        turn[:, 1:] *= saturation[:, 0]
        colors = (yiq.inverse() @ turn @ yiq) @ images.flatten(2)
        mean = (yiq[0] @ images.flatten(2)).mean(-1).view(-1, 1, 1)
        return torch.lerp(mean, colors, contrast[:, 0]).mul_(light[:, 0]).clamp_(0, 1).view_as(images)

    def _erase(self, images: Tensor) -> Tensor:
        """Fill a rectangle of half of the images, up to the share of the area that is asked for."""
        size, erase = images.shape[-1], self._strengths["erase"]
        share, tall = (
            self._draw(images, min(0.02, erase), erase),
            self._draw(images, math.log(0.3), math.log(3.3)).exp(),
        )
        inside = self._draw(images, 0, 1) < 0.5
        at = torch.arange(size, device=images.device)
        for area, line in ((share * tall, at.view(-1, 1)), (share / tall, at)):
            length = (area.sqrt() * size).round_().clamp_(max=size)
            first = (self._draw(images, 0, 1) * (size - length + 1)).floor_()
            inside = inside & (line >= first) & (line < first + length)
        return torch.where(inside, self._background, images)


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
