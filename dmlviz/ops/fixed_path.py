"""Whether code must take one path for all values: it is written down as a program, or torch.func transforms it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

_fixed = ContextVar("fixed", default=False)


def on_fixed_path() -> bool:
    """Return whether code must not look at values to choose a faster way; the way for all values is right, too."""
    return _fixed.get()


def is_transformed(*tensors: Tensor | None) -> bool:
    """Return whether a transform of torch.func (grad, vmap, jvp …) works on one of the tensors.

    Such a tensor goes through plain operations of torch, which every transform knows, and vmap looks at no values.
    """
    return any(each is not None and torch.func.debug_unwrap(each, recurse=False) is not each for each in tensors)


def may_look(x: Tensor) -> bool:
    """Return whether code may look at values of `x` to choose a faster way, which on a GPU costs more than it saves."""
    return x.device.type == "cpu" and not on_fixed_path() and not is_transformed(x)


@contextmanager
def fixed_path() -> Iterator[None]:
    """Take, for as long as the block lasts, the path that is right for all values."""
    token = _fixed.set(True)
    try:
        yield
    finally:
        _fixed.reset(token)
