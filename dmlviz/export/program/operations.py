"""Each operation of torch as instructions of a program."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dmlviz.errors import UserError
from dmlviz.export.program.instructions import Instructions, collapsed, number_of
from dmlviz.export.program.trace import Call, storage

# Operations on one number of each input, with their names in a program.
SAME_NAME = (
    "add sub mul div pow maximum minimum remainder logaddexp eq ne lt le gt ge where atan2 neg abs exp log log1p expm1"
)
SAME_NAME += " sqrt rsqrt reciprocal sigmoid tanh floor ceil round sign relu sin cos acos asin isnan"
POINTWISE = {
    **{name: name for name in SAME_NAME.split()},
    "bitwise_and": "and",
    "logical_and": "and",
    "bitwise_or": "or",
    "logical_or": "or",
    "bitwise_xor": "ne",
    "logical_not": "not",
    "bitwise_not": "not",
    "clamp_min": "maximum",
    "clamp_max": "minimum",
    "_to_copy": "copy",
    "to": "copy",
    "clone": "copy",
    "copy": "copy",
    "fill": "copy",
    "masked_fill": "where",
    "true_divide": "div",
    "copy_to": "copy",
}
REDUCTIONS = {"sum": "sum", "mean": "mean", "amax": "max", "amin": "min", "max": "max", "min": "min", "any": "any"}
REDUCTIONS |= {"all": "all", "prod": "prod", "argmax": "argmax", "argmin": "argmin"}
SPECIAL = (
    "clamp var mm bmm addmm mv cat stack cumsum flip gather scatter scatter_add sort topk searchsorted index index_put"
)
SPECIAL += " rand randperm convolution convolution_backward max_pool2d_with_indices max_pool2d_with_indices_backward"


def is_known(name: str) -> bool:
    """Return whether a program has an operation of this name of torch's."""
    return name in POINTWISE or name in REDUCTIONS or name in SPECIAL.split()


class Operations(Instructions):
    """Writes down the operations of a trace."""

    def call(self, call: Call) -> None:
        """Add the instructions of one operation."""
        name, args, kwargs, results = call.name, call.args, call.kwargs, call.results
        if not results[0].numel():
            return
        if name in POINTWISE:
            self._pointwise(name, args, kwargs, results[0])
        elif name in REDUCTIONS:
            self._reduction(name, args, kwargs, results)
        elif name in SPECIAL.split():
            getattr(self, f"_{name}")(results, *args, **kwargs)
        else:
            raise UserError(f"It uses {name}, which no operation of a program does.")

    def _pointwise(self, name: str, args: tuple[Any, ...], kwargs: Any, result: Tensor) -> None:
        inputs: list[Any] = list(args)
        if name in ("_to_copy", "to", "clone"):
            inputs = inputs[:1]
        elif name in ("copy", "copy_to", "fill"):
            inputs = [args[1]]
        elif name == "masked_fill":
            inputs = [args[1], args[2], args[0]]
        elif name.startswith("bitwise") and result.dtype != torch.bool:
            raise UserError("It works on the bits of whole numbers, which no operation of a program does.")
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
            kept_dims, (of_out, of_in) = collapsed(kept_shape, [place[2:], strides[: len(keep)]])
            gone_dims, (of_gone,) = collapsed([x.shape[dim] for dim in gone], [strides[len(keep) :]])
            self.add(one, kept_dims, [*place[:2], *of_out], [[*view[:2], *of_in]], over=gone_dims, strides=of_gone)

    def _var(self, results: Any, x: Tensor, dim: Any = None, correction: float = 1, keepdim: bool = False) -> None:
        dims = [*range(x.ndim)] if dim is None else [dim] if isinstance(dim, int) else list(dim)
        mean, squares, out = self.scratch(x.mean(dims, keepdim=True)), self.scratch(x), results[0]
        self._reduction("mean", (x, dims), {}, (mean,))
        self.pointwise("sub", squares, x, mean)
        self.pointwise("mul", squares, squares, squares)
        self._reduction("sum", (squares, dims), {}, (out,))
        self.pointwise("div", out, out, x.numel() / out.numel() - correction)

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
        rows: list[Any] = [
            each.movedim(dim, -1) if isinstance(each, Tensor) and each.ndim else each for each in (out, *inputs)
        ]
        lengths = [each.shape[-1] for each in rows if isinstance(each, Tensor) and each.ndim]
        shape = list(rows[0].shape[:-1])
        views: list[Any] = [self.view(each) if isinstance(each, Tensor) else number_of(each) for each in rows]
        self.add(op, shape, views[0], views[1:], lengths=lengths, **more)

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
        places = results[1].movedim(dim, -1)
        self._rows("sort", dim, results[0], [x], places=self.view(places), descending=bool(descending))

    def _topk(self, results: Any, x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> None:
        places = results[1].movedim(dim, -1)
        self._rows("sort", dim, results[0], [x], places=self.view(places), descending=bool(largest))

    def _searchsorted(self, results: Any, rows: Tensor, values: Tensor, **more: Any) -> None:
        if not isinstance(values, Tensor) or (rows.ndim > 1 and rows.shape[:-1] != values.shape[:-1]):
            raise UserError("It searches rows for values in another shape, which no operation of a program does.")
        rows = rows.expand(*values.shape[:-1], rows.shape[-1])
        self._rows("searchsorted", -1, results[0], [rows, values], right=bool(more.get("right")))

    def _index(self, results: Any, x: Tensor, indices: Sequence[Tensor | None]) -> None:
        out, x, places = self._indexed(results[0], x, indices)
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
            self.pointwise(
                "where", target, masks[0].reshape(*masks[0].shape, *[1] * (x.ndim - masks[0].ndim)), values, target
            )
            return
        shape = x[tuple(slice(None) if each is None else each for each in _as_places(indices))].shape
        out, x, places = self._indexed(values.expand(shape), target, indices)
        op = "index_add" if accumulate else "index_put"
        self.add(
            op,
            out.shape,
            self.view(x),
            [self.operand(values) if values.numel() == 1 and not self.written.varies(values) else self.view(out)],
            **places,
        )

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
        return out, x, places

    def _rand(self, results: Any, *_: Any, **__: Any) -> None:
        self.add("rand", [results[0].numel()], self.view(results[0].flatten()), [])

    def _randperm(self, results: Any, *_: Any, **__: Any) -> None:
        self.add("randperm", [results[0].numel()], self.view(results[0]), [])

    def _convolution(self, results: Any, x: Tensor, weight: Tensor, bias: Tensor | None, *how: Any) -> None:
        inputs = [self.contiguous(x), self.contiguous(weight)] + ([] if bias is None else [bias])
        self._spatial("conv", results[0], inputs, _spacing(*how), x.shape, weight.shape)

    def _convolution_backward(
        self, results: Any, grad: Tensor, x: Tensor, weight: Tensor, sizes: Any, *how: Any
    ) -> None:
        *spaces, wanted = how
        grad, x, weight = (self.contiguous(each) for each in (grad, x, weight))
        shapes = (_spacing(*spaces), x.shape, weight.shape)
        made = iter(results)
        if wanted[0]:
            self._spatial("conv_images", next(made), [grad, weight], *shapes)
        if wanted[1]:
            self._spatial("conv_weight", next(made), [grad, x], *shapes)
        if wanted[2]:
            self._reduction("sum", (grad, [0, 2, 3]), {}, (next(made),))

    def _spatial(
        self, op: str, result: Tensor, inputs: Sequence[Tensor], spacing: tuple[int, int], image: Any, kernel: Any
    ) -> None:
        target = result if result.is_contiguous() else self.scratch(result)
        more = {"stride": spacing[0], "padding": spacing[1], "image": list(image), "kernel": list(kernel)}
        self.add(op, target.shape, self.view(target), [self.view(each) for each in inputs], **more)
        if target is not result:
            self.pointwise("copy", result, target)

    def _max_pool2d_with_indices(
        self,
        results: Any,
        x: Tensor,
        size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> None:
        side, step, border = _side(size), _side(stride or size), _side(padding)
        if _side(dilation) != 1 or ceil_mode:
            raise UserError("It pools with dilation or ceil_mode, which no operation of a program does.")
        if not all(each.is_contiguous() for each in results):
            raise UserError("It pools images whose channels come last, which no operation of a program does.")
        more = {"stride": step, "padding": border, "image": list(x.shape), "kernel": [side, side]}
        self.add(
            "max_pool",
            results[0].shape,
            self.view(results[0]),
            [self.view(self.contiguous(x))],
            places=self.view(results[1]),
            **more,
        )

    def _max_pool2d_with_indices_backward(self, results: Any, grad: Tensor, x: Tensor, *how: Any) -> None:
        grad, places, out = self.contiguous(grad), self.contiguous(how[-1]), results[0]
        planes, area = x.shape[0] * x.shape[1], x.shape[2] * x.shape[3]
        self.pointwise("copy", out, 0)
        self._rows("scatter_add", -1, out.view(planes, area), [places.view(planes, -1), grad.view(planes, -1)])


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


def _spacing(
    stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int
) -> tuple[int, int]:
    if transposed or groups != 1 or _side(dilation) != 1:
        raise UserError(
            "It has a convolution with groups, dilation or transposed, which no operation of a program does."
        )
    return _side(stride), _side(padding)
