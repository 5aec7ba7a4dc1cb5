"""The precision of a net's arithmetic: 32-bit numbers, or mixed precision."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import cast

import torch
from torch import Tensor
from torch.optim import Optimizer

from dmlviz.ops.pairwise import gradients_may_overflow
from dmlviz.storage.run_schema.validation import Precision as Name

FIRST_SCALE = 1024.0  # torch begins with 65,536, which the first gradients of a loss of embeddings often exceed


class Precision:
    """The precision of a net's forward pass, and the update that goes with it; weights and losses have 32 bits.

    Args:
        device: The net's device.
        mixed: Whether the net computes with 16-bit numbers where that is exact enough.
        half: The 16-bit type; by default bfloat16 where the device computes with it, else float16.
    """

    def __init__(self, device: torch.device, mixed: bool, half: torch.dtype | None = None) -> None:
        self._device = device
        self._type = (half or _half_type(device)) if mixed else torch.float32
        # Gradients too small for float16 are scaled on their way; bfloat16 has the range of float32.
        self._scaler = (
            torch.amp.GradScaler(device.type, init_scale=FIRST_SCALE) if self._type == torch.float16 else None
        )

    @property
    def name(self) -> Name:
        """The type of the net's numbers: float32, bfloat16 or float16."""
        return cast(Name, str(self._type).removeprefix("torch."))

    def autocast(self) -> AbstractContextManager[object]:
        """Return the context for a forward pass."""
        if self._type == torch.float32:
            return nullcontext()
        return self._half()

    @contextmanager
    def _half(self) -> Iterator[None]:
        overflow = nullcontext() if self._scaler is None else gradients_may_overflow()
        with torch.autocast(self._device.type, dtype=self._type), overflow:
            yield

    @property
    def gradient_scale(self) -> float:
        """Return the factor on the gradients of the next update."""
        return 1.0 if self._scaler is None else float(self._scaler.get_scale())

    def update(self, loss: Tensor, optimizer: Optimizer) -> bool:
        """Compute the gradients of a loss and let the optimizer take a step.

        Returns:
            Whether it was taken: not where gradients were too large for float16; the next ones are scaled less.
        """
        optimizer.zero_grad()
        if self._scaler is None:
            loss.backward()
            optimizer.step()
            return True
        self._scaler.scale(loss).backward()
        before = self._scaler.get_scale()
        self._scaler.step(optimizer)
        self._scaler.update()
        return self._scaler.get_scale() >= before


def _half_type(device: torch.device) -> torch.dtype:
    if device.type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return torch.float16
