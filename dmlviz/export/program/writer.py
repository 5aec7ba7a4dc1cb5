"""Write a trace as a program: instructions on numbered buffers, which `frontend/src/program` runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dmlviz.errors import UserError
from dmlviz.export.program.trace import Call, Trace, storage

VERSION = 1
ALIGNMENT = 16  # bytes, as vector instructions want them
KINDS = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i32", torch.int32: "i32", torch.bool: "u8"}
KINDS |= {torch.uint8: "u8", torch.int16: "i32"}
WIDTHS = {"f32": 4, "f64": 8, "i32": 4, "u8": 1}

# Operations on one number of each input, with their names in a program.
POINTWISE = {
    **{name: name for name in ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "remainder", "logaddexp")},
    **{name: name for name in ("eq", "ne", "lt", "le", "gt", "ge", "where", "atan2")},
    **{name: name for name in ("neg", "abs", "exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "reciprocal", "sigmoid")},
    **{name: name for name in ("tanh", "floor", "ceil", "round", "sign", "relu", "sin", "cos", "acos", "asin", "isnan")},
    **{"bitwise_and": "and", "logical_and": "and", "bitwise_or": "or", "logical_or": "or", "bitwise_xor": "ne"},
    **{"logical_not": "not", "bitwise_not": "not", "clamp_min": "maximum", "clamp_max": "minimum"},
    **{"_to_copy": "copy", "clone": "copy", "copy": "copy", "fill": "copy", "masked_fill": "where"},
    **{"true_divide": "div", "multiply": "mul", "subtract": "sub", "copy_to": "copy"},
}
REDUCTIONS = {"sum": "sum", "mean": "mean", "amax": "max", "amin": "min", "max": "max", "min": "min", "any": "any"}
REDUCTIONS |= {"all": "all", "prod": "prod", "argmax": "argmax", "argmin": "argmin"}
SPECIAL = ("clamp", "mm", "bmm", "addmm", "mv", "cat", "stack", "cumsum", "flip", "gather", "scatter", "scatter_add")
SPECIAL += ("sort", "topk", "searchsorted", "index", "index_put", "rand", "randperm", "convolution")
SPECIAL += ("convolution_backward", "max_pool2d_with_indices", "max_pool2d_with_indices_backward")

Operand = list[int] | float | str


def is_known(name: str) -> bool:
    """Return whether a program has an operation of this name of torch's."""
    return name in POINTWISE or name in REDUCTIONS or name in SPECIAL


@dataclass
class Buffer:
    """Memory of a program: kind and count of its numbers, where it begins, and from when to when it is in use."""

    kind: str
    count: int
    first: int = -1
    last: int = -1
    place: int = -1


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


class _Writer:
    def __init__(self, written: Trace) -> None:
        self.written = written
        self.buffers: list[Buffer] = []
        self.constants: dict[int, np.ndarray] = {}
        self.known: dict[bytes, int] = {}
        self.numbers: dict[int, int] = {}
        self.instructions: list[dict[str, Any]] = []
        self.inputs = {name: self.buffer(tensor) for name, tensor in written.inputs.items()}

    # What instructions work on.

    def buffer(self, tensor: Tensor) -> int:
        """Return the number of the buffer of a varying tensor."""
        place = storage(tensor)
        if place not in self.numbers:
            size = tensor.untyped_storage().nbytes() // tensor.element_size()
            self.numbers[place] = self.new(_kind(tensor), size)
        if self.buffers[self.numbers[place]].kind != _kind(tensor):
            raise UserError("It reads the bytes of numbers as numbers of another kind, which a program does not.")
        return self.numbers[place]

    def new(self, kind: str, count: int) -> int:
        self.buffers.append(Buffer(kind, count))
        return len(self.buffers) - 1

    def view(self, tensor: Tensor) -> list[int]:
        """Return buffer, offset and strides of a tensor."""
        if self.written.varies(tensor):
            return [self.buffer(tensor), tensor.storage_offset(), *tensor.stride()]
        array = tensor.detach().contiguous().numpy()
        array = array.astype({"i32": np.int32, "u8": np.uint8}.get(_kind(tensor), array.dtype))
        key = str(array.dtype).encode() + array.tobytes()
        if key not in self.known:
            self.known[key] = self.new(_kind(tensor), array.size)
            self.constants[self.known[key]] = array.ravel()
        return [self.known[key], 0, *tensor.contiguous().stride()]

    def operand(self, value: Any) -> Any:
        """Return a number as it is, a constant that is one number as that number, or where a tensor lies."""
        if not isinstance(value, Tensor):
            return _number(value)
        if not self.written.varies(value) and value.numel():
            first = value.flatten()[0]
            if bool((value == first).all()):
                return _number(first.item())
        return self.view(value)

    def add(self, op: str, shape: Sequence[int], out: list[int], inputs: Sequence[Any], **more: Any) -> None:
        self.instructions.append({"op": op, "shape": list(shape), "out": out, "in": list(inputs), **more})

    def pointwise(self, op: str, result: Tensor, *inputs: Any) -> None:
        """Add an instruction on all numbers of a result, with inputs that are broadcast to its shape."""
        operands = [
            self.operand(each.expand(result.shape) if isinstance(each, Tensor) else each) for each in inputs
        ]
        if op == "copy" and _kind(result) == "u8":
            op, operands = "ne", [*operands, 0]
        views = [each for each in (self.view(result), *operands) if isinstance(each, list)]
        shape, strides = _collapsed(list(result.shape), [view[2:] for view in views])
        collapsed = iter([*view[:2], *stride] for view, stride in zip(views, strides, strict=True))
        out = next(collapsed)
        self.add(op, shape, out, [next(collapsed) if isinstance(each, list) else each for each in operands])

    def scratch(self, like: Tensor, shape: Sequence[int] | None = None) -> Tensor:
        """Return a new tensor that only this program uses."""
        made = torch.empty(like.shape if shape is None else tuple(shape), dtype=like.dtype)
        self.written.varying.add(storage(made))
        self.kept = [*getattr(self, "kept", []), made]
        return made

    def contiguous(self, tensor: Tensor) -> Tensor:
        """Return the tensor, or a copy of it, row by row."""
        if tensor.is_contiguous() or not self.written.varies(tensor):
            return tensor.contiguous()
        made = self.scratch(tensor)
        self.pointwise("copy", made, tensor)
        return made

    # The operations.

    def call(self, call: Call) -> None:
        """Add the instructions of one operation."""
        name, args, kwargs, results = call.name, call.args, call.kwargs, call.results
        if not results[0].numel():
            return
        if name in POINTWISE:
            self._pointwise(name, args, kwargs, results[0])
        elif name in REDUCTIONS:
            self._reduction(name, args, kwargs, results)
        elif name in SPECIAL:
            getattr(self, f"_{name}")(results, *args, **kwargs)
        else:
            raise UserError(f"It uses {name}, which no operation of a program does.")

    def _pointwise(self, name: str, args: tuple[Any, ...], kwargs: Any, result: Tensor) -> None:
        inputs: list[Any] = list(args)
        if name in ("_to_copy", "clone"):
            inputs = inputs[:1]
        elif name in ("copy", "copy_to", "fill"):
            inputs = [args[1]]
        elif name == "masked_fill":
            inputs = [args[1], args[2], args[0]]
        elif name == "div" and kwargs.get("rounding_mode"):
            raise UserError("It divides with rounding, which no operation of a program does.")
        elif name in ("add", "sub") and kwargs.get("alpha", 1) != 1:
            scaled = self.scratch(result)
            self.pointwise("mul", scaled, inputs[1], kwargs["alpha"])
            inputs[1] = scaled
        elif name == "pow" and inputs[1] == 2:
            name, inputs = "mul", [inputs[0], inputs[0]]
        self.pointwise(POINTWISE[name], result, *inputs)

    def _clamp(self, results: Any, x: Tensor, low: Any = None, high: Any = None, **more: Any) -> None:
        low, high = more.get("min", low), more.get("max", high)
        if low is not None:
            self.pointwise("maximum", results[0], x, low)
        if high is not None:
            self.pointwise("minimum", results[0], x if low is None else results[0], high)

    def _reduction(self, name: str, args: tuple[Any, ...], kwargs: Any, results: tuple[Tensor, ...]) -> None:
        x, op = args[0], REDUCTIONS[name]
        if len(args) > 1 and isinstance(args[1], Tensor):
            raise UserError(f"It uses {name} of two arrays, which no operation of a program does.")
        dims = args[1] if len(args) > 1 else kwargs.get("dim")
        dims = range(x.ndim) if dims is None or dims == [] else [dims] if isinstance(dims, int) else dims
        gone = [dim % max(1, x.ndim) for dim in dims]
        if x.ndim == 0:
            gone = []
        keep = [dim for dim in range(x.ndim) if dim not in gone]
        kept_shape, kept = [x.shape[dim] for dim in keep], x.permute(*keep, *gone)
        ops = [op] if len(results) == 1 else [op, f"arg{op}"]
        for one, result in zip(ops, results, strict=True):
            out = result.reshape(kept_shape) if storage(result.reshape(kept_shape)) == storage(result) else result
            place, view = self.view(out), self.view(kept)
            strides = view[2:]
            kept_dims, (of_out, of_in) = _collapsed(kept_shape, [place[2:], strides[: len(keep)]])
            gone_dims, (of_gone,) = _collapsed([x.shape[dim] for dim in gone], [strides[len(keep) :]])
            self.add(
                one, kept_dims, [*place[:2], *of_out], [[*view[:2], *of_in]], over=gone_dims, strides=of_gone
            )

    def _mm(self, results: Any, a: Tensor, b: Tensor) -> None:
        self._product(results[0], a, b)

    def _bmm(self, results: Any, a: Tensor, b: Tensor) -> None:
        for i in range(len(a)):
            self._product(results[0][i], a[i], b[i])

    def _mv(self, results: Any, a: Tensor, b: Tensor) -> None:
        self._product(results[0][:, None], a, b[:, None])

    def _addmm(self, results: Any, bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> None:
        out = results[0]
        if alpha == 1 and beta == 1:
            self._product(out, a, b, bias)
            return
        product = self.scratch(out)
        self._product(product, a, b)
        scaled = self.scratch(out)
        self.pointwise("mul", product, product, alpha)
        self.pointwise("mul", scaled, bias, beta)
        self.pointwise("add", out, product, scaled)

    def _product(self, out: Tensor, a: Tensor, b: Tensor, bias: Tensor | None = None) -> None:
        target = out if out.stride(-1) == 1 else self.scratch(out)
        inputs = [self.view(a), self.view(b)]
        if bias is not None:
            inputs.append(self.view(bias.expand(out.shape)))
        self.add("mm", [*a.shape, b.shape[1]], self.view(target), inputs)
        if target is not out:
            self.pointwise("copy", out, target)

    def _cat(self, results: Any, parts: Sequence[Tensor], dim: int = 0) -> None:
        start = 0
        for part in parts:
            if part.numel():
                self.pointwise("copy", results[0].narrow(dim, start, part.shape[dim]), part)
                start += part.shape[dim]

    def _stack(self, results: Any, parts: Sequence[Tensor], dim: int = 0) -> None:
        for i, part in enumerate(parts):
            self.pointwise("copy", results[0].select(dim, i), part)

    def _flip(self, results: Any, x: Tensor, dims: Sequence[int]) -> None:
        view, shape = self.view(x), x.shape
        for dim in dims:
            view[1] += (shape[dim] - 1) * view[2 + dim % x.ndim]
            view[2 + dim % x.ndim] *= -1
        self.add("copy", shape, self.view(results[0]), [view])

    def _rows(self, op: str, dim: int, out: Tensor, inputs: Sequence[Any], **more: Any) -> None:
        """Add an instruction that goes along one dimension of each array, which comes last."""
        rows = [each.movedim(dim, -1) if isinstance(each, Tensor) and each.ndim else each for each in (out, *inputs)]
        lengths = [each.shape[-1] for each in rows if isinstance(each, Tensor) and each.ndim]
        shape = list(rows[0].shape[:-1])
        rows = [self.view(each) if isinstance(each, Tensor) else _number(each) for each in rows]
        self.add(op, shape, rows[0], rows[1:], lengths=lengths, **more)

    def _cumsum(self, results: Any, x: Tensor, dim: int, **_: Any) -> None:
        self._rows("cumsum", dim, results[0], [x])

    def _gather(self, results: Any, x: Tensor, dim: int, index: Tensor, **_: Any) -> None:
        x = x[tuple(slice(size) if each != dim % x.ndim else slice(None) for each, size in enumerate(index.shape))]
        self._rows("gather", dim, results[0], [x, index])

    def _scatter(self, results: Any, x: Tensor, dim: int, index: Tensor, values: Any, op: str = "scatter") -> None:
        out = results[0]
        if storage(x) != storage(out):
            self.pointwise("copy", out, x)
        size = tuple(slice(size) for size in index.shape)
        place = tuple(slice(size) if each != dim % x.ndim else slice(None) for each, size in enumerate(index.shape))
        self._rows(op, dim, out[place], [index, values[size] if isinstance(values, Tensor) else values])

    def _scatter_add(self, results: Any, x: Tensor, dim: int, index: Tensor, values: Tensor) -> None:
        self._scatter(results, x, dim, index, values, "scatter_add")

    def _sort(self, results: Any, x: Tensor, dim: int = -1, descending: bool = False, **more: Any) -> None:
        dim, descending = more.get("dim", dim), more.get("descending", descending)
        values, places = (each.movedim(dim, -1) for each in results)
        self._rows("sort", dim, results[0], [x], places=self.view(places), descending=bool(descending))

    def _topk(self, results: Any, x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> None:
        places = results[1].movedim(dim, -1)
        self._rows("sort", dim, results[0], [x], places=self.view(places), descending=bool(largest))

    def _searchsorted(self, results: Any, rows: Tensor, values: Tensor, **more: Any) -> None:
        if not isinstance(values, Tensor) or rows.ndim > 1 and rows.shape[:-1] != values.shape[:-1]:
            raise UserError("It searches rows for values in another shape, which no operation of a program does.")
        rows = rows.expand(*values.shape[:-1], rows.shape[-1])
        self._rows("searchsorted", -1, results[0], [rows, values], right=bool(more.get("right")))

    def _index(self, results: Any, x: Tensor, indices: Sequence[Tensor | None]) -> None:
        out, x, places, _ = self._indexed(results[0], x, indices)
        self.add("index", out.shape, self.view(out), [self.view(x)], **places)

    def _index_put(
        self, results: Any, x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
    ) -> None:
        target = results[0]
        if storage(x) != storage(target):
            self.pointwise("copy", target, x)
        masks = [each for each in indices if each is not None and each.dtype == torch.bool]
        if any(self.written.varies(mask) for mask in masks):
            if len(indices) != 1 or values.numel() != 1:
                raise UserError("It writes several values through a mask, which no operation of a program does.")
            self.pointwise("where", target, masks[0].reshape(*masks[0].shape, *[1] * (x.ndim - masks[0].ndim)), values,
                           target)
            return
        shape = x[tuple(slice(None) if each is None else each for each in _as_places(indices))].shape
        out, x, places, moved = self._indexed(values.expand(shape), target, indices)
        op = "index_add" if accumulate else "index_put"
        self.add(op, out.shape, self.view(x), [self.operand(values) if values.numel() == 1 and not
                 self.written.varies(values) else self.view(out)], **places)

    def _indexed(self, out: Tensor, x: Tensor, indices: Sequence[Tensor | None]) -> tuple[Any, ...]:
        """Bring the indexed dimensions of both arrays to the front; return them with the places along each."""
        indices = _as_places(indices)
        chosen = [dim for dim, each in enumerate(indices) if each is not None]
        found = torch.broadcast_tensors(*[each for each in indices if each is not None])
        adjacent = chosen == list(range(chosen[0], chosen[-1] + 1))
        start, count = (chosen[0] if adjacent else 0), found[0].ndim
        out = out.movedim(tuple(range(start, start + count)), tuple(range(count)))
        x = x.movedim(chosen, tuple(range(len(chosen))))
        places = {"places": [self.view(each.expand(found[0].shape)) for each in found], "sizes": list(x.shape)}
        return out, x, places, count

    def _rand(self, results: Any, *_: Any, **__: Any) -> None:
        self.add("rand", [results[0].numel()], self.view(results[0].flatten()), [])

    def _randperm(self, results: Any, *_: Any, **__: Any) -> None:
        self.add("randperm", [results[0].numel()], self.view(results[0]), [])

    def _convolution(self, results: Any, x: Tensor, weight: Tensor, bias: Tensor | None, *how: Any) -> None:
        inputs = [self.contiguous(x), self.contiguous(weight)] + ([] if bias is None else [bias])
        self._spatial("conv", results[0], inputs, *_spacing(*how), x.shape, weight.shape)

    def _convolution_backward(
        self, results: Any, grad: Tensor, x: Tensor, weight: Tensor, sizes: Any, *how: Any
    ) -> None:
        *how, wanted = how
        grad, x, weight = (self.contiguous(each) for each in (grad, x, weight))
        shapes = (*_spacing(*how), x.shape, weight.shape)
        made = iter(results)
        if wanted[0]:
            self._spatial("conv_images", next(made), [grad, weight], *shapes)
        if wanted[1]:
            self._spatial("conv_weight", next(made), [grad, x], *shapes)
        if wanted[2]:
            self._reduction("sum", (grad, [0, 2, 3]), {}, (next(made),))

    def _spatial(self, op: str, result: Tensor, inputs: Sequence[Tensor], stride: int, padding: int, image: Any,
                 kernel: Any) -> None:
        target = result if result.is_contiguous() else self.scratch(result)
        more = {"stride": stride, "padding": padding, "image": list(image), "kernel": list(kernel)}
        self.add(op, target.shape, self.view(target), [self.view(each) for each in inputs], **more)
        if target is not result:
            self.pointwise("copy", result, target)

    def _max_pool2d_with_indices(self, results: Any, x: Tensor, size: Any, stride: Any = (), padding: Any = 0,
                                 dilation: Any = 1, ceil_mode: bool = False) -> None:
        side, step, border = _side(size), _side(stride or size), _side(padding)
        if _side(dilation) != 1 or ceil_mode:
            raise UserError("It pools with dilation or ceil_mode, which no operation of a program does.")
        if not all(each.is_contiguous() for each in results):
            raise UserError("It pools images whose channels come last, which no operation of a program does.")
        more = {"stride": step, "padding": border, "image": list(x.shape), "kernel": [side, side]}
        self.add("max_pool", results[0].shape, self.view(results[0]), [self.view(self.contiguous(x))],
                 places=self.view(results[1]), **more)

    def _max_pool2d_with_indices_backward(self, results: Any, grad: Tensor, x: Tensor, *how: Any) -> None:
        grad, places, out = self.contiguous(grad), self.contiguous(how[-1]), results[0]
        planes, area = x.shape[0] * x.shape[1], x.shape[2] * x.shape[3]
        self.pointwise("copy", out, 0)
        self._rows("scatter_add", -1, out.view(planes, area), [places.view(planes, -1), grad.view(planes, -1)])

    # The end.

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

    def _place(self, instructions: Sequence[dict[str, Any]], outputs: dict[str, int]) -> int:
        """Give each buffer a place in one memory, shared with buffers that are not in use meanwhile; return its size."""
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


def _buffers(instruction: dict[str, Any]) -> list[int]:
    places = instruction.get("places", [])
    views = [instruction["out"], *instruction["in"], *(places if places and isinstance(places[0], list) else [places])]
    return [view[0] for view in views if isinstance(view, list) and view]


def _bytes(buffer: Buffer) -> int:
    return -(-buffer.count * WIDTHS[buffer.kind] // ALIGNMENT) * ALIGNMENT


def _kind(tensor: Tensor) -> str:
    if tensor.dtype not in KINDS:
        raise UserError(f"It computes with {str(tensor.dtype).removeprefix('torch.')}, which a program does not.")
    return KINDS[tensor.dtype]


def _number(value: Any) -> Any:
    """Return a number as JSON has it; infinity and NaN as text."""
    number = value.item() if isinstance(value, Tensor) else value
    if isinstance(number, bool):
        return int(number)
    return number if math.isfinite(number) else str(number)


def _collapsed(shape: list[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
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


def _as_places(indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Return indices with the places of a mask in its stead."""
    places: list[Tensor | None] = []
    for each in indices:
        places += [each] if each is None or each.dtype != torch.bool else [*each.nonzero(as_tuple=True)]
    return places


def _side(value: int | Sequence[int]) -> int:
    """Return the one number of a setting that is equal for rows and columns."""
    sides = {value} if isinstance(value, int) else set(value)
    if len(sides) != 1:
        raise UserError(f"A program does layers that treat rows and columns alike; got {value}: choose another net.")
    return sides.pop()


def _spacing(stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int) -> Any:
    if transposed or groups != 1 or _side(dilation) != 1:
        raise UserError("It has a convolution with groups, dilation or transposed, which no operation of a program does.")
    return _side(stride), _side(padding)
