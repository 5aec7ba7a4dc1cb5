"""Random changes of the images of a batch, by torchvision.transforms.v2."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

MAX_DRAWS = 64  # random draws a batch; images of larger batches share them, as one transform of one image costs 0.2 ms


class Augmentation:
    """Changes the images of a batch at random; equal seeds change equal batches alike.

    torchvision's transforms draw once a call. So a batch is split at random into at most MAX_DRAWS groups, each with a
    draw of its own. torch's global random state stays untouched.

    Args:
        strengths: Strengths by name, see `dmlviz.catalog.augmentation`.
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


def _transform(strengths: Mapping[str, float], size: int, background: float, color: bool) -> nn.Module:
    from dmlviz.nets.torchvision_operators import register_missing

    register_missing()
    from torchvision.transforms import v2

    steps: list[nn.Module] = []
    if crop := strengths.get("crop"):
        steps.append(v2.RandomResizedCrop(size, scale=(1 - crop, 1.0), antialias=True))
    shift, rotate = strengths.get("shift", 0.0), strengths.get("rotate", 0.0)
    if shift or rotate:
        bilinear = v2.InterpolationMode.BILINEAR
        steps.append(v2.RandomAffine(rotate, (shift, shift), interpolation=bilinear, fill=background))
    if jitter := strengths.get("jitter"):
        steps.append(v2.ColorJitter(jitter, jitter, jitter if color else None))
    if erase := strengths.get("erase"):
        steps.append(v2.RandomErasing(0.5, scale=(min(0.02, erase), erase), value=background))
    transform: nn.Module = v2.Compose(steps)
    return transform
