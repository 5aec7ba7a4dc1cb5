"""Write a trace as a program: instructions on numbered buffers, which `frontend/src/program` runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor

from dmlviz.export.program.instructions import Buffer, Instruction
from dmlviz.export.program.operations import Operations
from dmlviz.export.program.trace import Trace

VERSION = 1
ALIGNMENT = 16  # bytes, as vector instructions want them
WIDTHS = {"f32": 4, "f64": 8, "i32": 4, "u8": 1}


@dataclass
class Program:
    """A program as plain JSON types, and the arrays that are always the same.

    Attributes:
        described: See `ProgramData` in frontend/src/program/program.ts.
        constants: Contents of constant buffers, in the order of their numbers in `described["constants"]`.
    """

    described: dict[str, Any]
    constants: list[np.ndarray] = field(default_factory=list)


def write_program(written: Trace, until: str = "") -> Program:
    """Write a trace as a program.

    Args:
        written: The trace.
        until: An input that comes later: the instructions that do not need it are done first, and counted in "first".

    Raises:
        UserError: If an operation is none that a program has.
    """
    writer = _Writer(written)
    for call in written.calls:
        writer.call(call)
    outputs = {name: writer.output(tensor) for name, tensor in written.outputs.items()}
    return writer.program(outputs, until)


class _Writer(Operations):
    def output(self, tensor: Tensor) -> int:
        """Return the number of a buffer that holds just a result, row by row."""
        whole = tensor.is_contiguous() and tensor.storage_offset() == 0
        if self.written.varies(tensor) and whole and self.buffers[self.buffer(tensor)].count == tensor.numel():
            return self.buffer(tensor)
        made = self.scratch(tensor)
        self.pointwise("copy", made, tensor)
        return self.buffer(made)

    def program(self, outputs: dict[str, int], until: str) -> Program:
        """Leave out what no result needs, find each buffer a place, and describe the program."""
        needed, kept = set(outputs.values()), []
        for one in reversed(self.instructions):
            made = [one["out"][0], *([one["places"][0]] if "places" in one and one["op"] in _TWO_RESULTS else [])]
            if needed.intersection(made):
                needed.update(_buffers(one))
                kept.append(one)
        instructions = kept[::-1]
        late = self.inputs.get(until, -1)
        first = next((i for i, one in enumerate(instructions) if late in _buffers(one)), len(instructions))
        size = self._place(instructions, outputs)
        constants = {number: array for number, array in self.constants.items() if self.buffers[number].first >= 0}
        described = {
            "version": VERSION,
            "buffers": [[each.kind, each.count, each.place] for each in self.buffers],
            "inputs": self.inputs,
            "outputs": outputs,
            "constants": [*constants],
            "instructions": instructions,
            "first": first,
            "size": size,
        }
        return Program(described, [*constants.values()])

    def _place(self, instructions: Sequence[Instruction], outputs: dict[str, int]) -> int:
        """Give each buffer a place in one memory, which those in use at other times share; return its size."""
        for i, one in enumerate(instructions):
            for number in _buffers(one):
                buffer = self.buffers[number]
                buffer.first, buffer.last = (i if buffer.first < 0 else buffer.first), i
        for number in (*outputs.values(), *self.inputs.values(), *self.constants):
            self.buffers[number].last = len(instructions)
        elsewhere = {*self.inputs.values(), *self.constants}  # the page brings these
        placed: list[Buffer] = []
        own = [each for i, each in enumerate(self.buffers) if each.first >= 0 and i not in elsewhere]
        for buffer in sorted(own, key=lambda each: -_bytes(each)):
            place = 0
            for other in placed:  # by place
                together = other.first <= buffer.last and buffer.first <= other.last
                if together and place + _bytes(buffer) > other.place and other.place + _bytes(other) > place:
                    place = other.place + _bytes(other)
            buffer.place = place
            placed = sorted([*placed, buffer], key=lambda each: each.place)
        return max((each.place + _bytes(each) for each in placed), default=0)


_TWO_RESULTS = ("sort", "max_pool")


def _buffers(instruction: Instruction) -> list[int]:
    places = instruction.get("places", [])
    views = [instruction["out"], *instruction["in"], *(places if places and isinstance(places[0], list) else [places])]
    return [view[0] for view in views if isinstance(view, list) and view]


def _bytes(buffer: Buffer) -> int:
    return -(-buffer.count * WIDTHS[buffer.kind] // ALIGNMENT) * ALIGNMENT
