"""Torch's global state, which belongs to the caller."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch


@contextmanager
def own_state() -> Iterator[None]:
    """Make new tensors of 32 bits, on the processor, with gradients, whatever the caller's defaults; restore those."""
    dtype = torch.get_default_dtype()
    # A device that is set, the processor too, makes torch run Python code at each of its functions.
    is_cpu = torch.get_default_device().type == "cpu"
    with torch.inference_mode(False), torch.enable_grad(), nullcontext() if is_cpu else torch.device("cpu"):
        try:
            if dtype != torch.float32:  # one for all threads, so it is left alone where it can be
                torch.set_default_dtype(torch.float32)
            yield
        finally:
            if dtype != torch.float32:
                torch.set_default_dtype(dtype)


def default_device() -> torch.device:
    """Return the GPU if there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
