"""Instructions on numbered buffers, as a trace is written down: where arrays lie, and loops over their numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from dmlviz.errors import UserError
from dmlviz.export.program.trace import Trace, storage

KINDS = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i32", torch.int32: "i32", torch.bool: "u8"}
KINDS |= {torch.uint8: "u8", torch.int16: "i32"}
Instruction: TypeAlias = dict[str, Any]  # an operation of a program, its buffers and settings


@dataclass
class Buffer:
    """Memory of a program: kind and count of its numbers, where it begins, and from when to when it is in use."""

    kind: str
    count: int
    first: int = -1
    last: int = -1
    place: int = -1


class Instructions:
    """The instructions of a program, and its buffers."""

    def __init__(self, written: Trace) -> None:
        self.written = written
        self.buffers: list[Buffer] = []
        self.constants: dict[int, np.ndarray] = {}
        self.known: dict[bytes, int] = {}
        self.numbers: dict[int, int] = {}
        self.instructions: list[Instruction] = []
        self.kept: list[Tensor] = []  # memory that is freed might be given to another tensor
        self.inputs = {name: self.buffer(tensor) for name, tensor in written.inputs.items()}

    # What instructions work on.

    def buffer(self, tensor: Tensor) -> int:
        """Return the number of the buffer of a varying tensor."""
        place = storage(tensor)
        if place not in self.numbers:
            size = tensor.untyped_storage().nbytes() // tensor.element_size()
            self.numbers[place] = self.new(kind_of(tensor), size)
        if self.buffers[self.numbers[place]].kind != kind_of(tensor):
            raise UserError("It reads the bytes of numbers as numbers of another kind, which a program does not.")
        return self.numbers[place]

    def new(self, kind: str, count: int) -> int:
        """Return the number of a new buffer."""
        self.buffers.append(Buffer(kind, count))
        return len(self.buffers) - 1

    def view(self, tensor: Tensor) -> list[int]:
        """Return buffer, offset and strides of a tensor."""
        if self.written.varies(tensor):
            return [self.buffer(tensor), int(tensor.storage_offset()), *tensor.stride()]
        array = tensor.detach().contiguous().numpy()
        array = array.astype({"i32": np.int32, "u8": np.uint8}.get(kind_of(tensor), array.dtype))
        key = str(array.dtype).encode() + array.tobytes()
        if key not in self.known:
            self.known[key] = self.new(kind_of(tensor), array.size)
            self.constants[self.known[key]] = array.ravel()
        return [self.known[key], 0, *tensor.contiguous().stride()]

    def operand(self, value: Any) -> Any:
        """Return a number as it is, a constant that is one number as that number, or where a tensor lies."""
        if not isinstance(value, Tensor):
            return number_of(value)
        if not self.written.varies(value) and value.numel():
            first = value.flatten()[0]
            if bool((value == first).all()):
                return number_of(first.item())
        return self.view(value)

    def add(self, op: str, shape: Sequence[int], out: list[int], inputs: Sequence[Any], **more: Any) -> None:
        """Add an instruction; see `Instruction` in frontend/src/program/format.ts."""
        self.instructions.append({"op": op, "shape": list(shape), "out": out, "in": list(inputs), **more})

    def pointwise(self, op: str, result: Tensor, *inputs: Any) -> None:
        """Add an instruction on all numbers of a result, with inputs that are broadcast to its shape."""
        operands = [self.operand(each.expand(result.shape) if isinstance(each, Tensor) else each) for each in inputs]
        if op == "copy" and kind_of(result) == "u8":
            op, operands = "ne", [*operands, 0]
        views = [each for each in (self.view(result), *operands) if isinstance(each, list)]
        shape, strides = collapsed(list(result.shape), [view[2:] for view in views])
        looped = iter([*view[:2], *stride] for view, stride in zip(views, strides, strict=True))
        out = next(looped)
        self.add(op, shape, out, [next(looped) if isinstance(each, list) else each for each in operands])

    def scratch(self, like: Tensor) -> Tensor:
        """Return a new tensor that only this program uses."""
        made = torch.empty(like.shape, dtype=like.dtype)
        self.written.varying.add(storage(made))
        self.kept.append(made)
        return made

    def contiguous(self, tensor: Tensor) -> Tensor:
        """Return the tensor, or a copy of it, row by row."""
        if tensor.is_contiguous() or not self.written.varies(tensor):
            return tensor.contiguous()
        made = self.scratch(tensor)
        self.pointwise("copy", made, tensor)
        return made


def kind_of(tensor: Tensor) -> str:
    """Return the kind of a tensor's numbers in a program; raise UserError for one that no program has."""
    if tensor.dtype not in KINDS:
        raise UserError(f"It computes with {str(tensor.dtype).removeprefix('torch.')}, which a program does not.")
    return KINDS[tensor.dtype]


def number_of(value: Any) -> Any:
    """Return a number as JSON has it; infinity and NaN as text."""
    number = value.item() if isinstance(value, Tensor) else value
    if isinstance(number, bool):
        return int(number)
    return number if math.isfinite(number) else str(number)


def collapsed(shape: list[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Join dimensions along which all arrays go on evenly, and drop those of one item."""
    dims: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        now = [stride[dim] for stride in strides]
        if dims and all(step[-1] == size * one for step, one in zip(steps, now, strict=True)):
            dims[-1] *= size
            for step, one in zip(steps, now, strict=True):
                step[-1] = one
        else:
            dims.append(size)
            for step, one in zip(steps, now, strict=True):
                step.append(one)
    return dims, steps
