"""A net as a short list of plain operations, which a page can do without torch."""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import Any

import numpy as np
import torch
from torch import fx, nn

from dmlviz.errors import UserError
from dmlviz.nets.models import EmbeddingNet, PooledPReLU


@dataclass(frozen=True)
class NetProgram:
    """A net as operations on numbered values: value 0 is the image, operation k makes value k + 1.

    Attributes:
        image: Shape of the input (channels, height, width).
        normalize: Whether the last value, which is the result, is scaled to length 1.
        operations: As plain JSON types: "op", "inputs" (numbers of values), and what the operation needs; its arrays
            by name. The operations are those of `frontend/src/standalone/netProgram.ts`.
        arrays: float32, by name.
    """

    image: tuple[int, int, int]
    normalize: bool
    operations: tuple[Mapping[str, Any], ...]
    arrays: Mapping[str, np.ndarray]


def net_program(net: EmbeddingNet) -> NetProgram:
    """Write a net as a program.

    Args:
        net: A net in evaluation mode.

    Raises:
        UserError: If it holds a layer that no operation does.

    Example:
        >>> from dmlviz.nets import build
        >>> [operation["op"] for operation in net_program(build("linear", embedding_dim=2).eval()).operations]
        ['flatten', 'linear']
    """
    graph = _Tracer().trace(net.body)
    writer = _Writer(net)
    for node in graph.nodes:
        writer.write(node)
    return NetProgram(net.image, net.normalize, tuple(writer.operations), writer.arrays)


class _Tracer(fx.Tracer):
    """A tracer that treats a module without parts as one operation, no matter who wrote it."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return not any(True for _ in m.children())


@dataclass
class _Writer:
    net: EmbeddingNet
    operations: list[dict[str, Any]] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    _values: dict[fx.Node, int] = field(default_factory=dict)

    def write(self, node: fx.Node) -> None:
        """Add the operations of one node of the graph."""
        inputs = [self._values[each] for each in node.all_input_nodes]
        if node.op == "placeholder":
            self._values[node] = 0
            return
        if node.op == "output":
            return
        if node.op == "call_module":
            module = self.net.body.get_submodule(str(node.target))
            self._values[node] = self._module(module, *inputs)
        elif node.target in (operator.add, operator.iadd, torch.add) and len(inputs) == 2:
            self._values[node] = self._add("add", inputs)
        elif node.target in (torch.flatten, "flatten") and node.args[1:] == (1,):
            self._values[node] = self._add("flatten", inputs)
        else:
            raise self._unknown(str(node.target))

    def _add(
        self, op: str, inputs: list[int], arrays: Mapping[str, torch.Tensor | None] | None = None, **more: Any
    ) -> int:
        names = {}
        for name, array in (arrays or {}).items():
            if array is not None:
                names[name] = f"{len(self.operations)}.{name}"
                self.arrays[names[name]] = array.detach().cpu().float().numpy()
        self.operations.append({"op": op, "inputs": inputs, **names, **more})
        return len(self.operations)

    def _unknown(self, what: str) -> UserError:
        return UserError(
            f"A page can do convolutions, linear layers, batch norm, ReLU, PReLU and pooling; {self.net.name} also "
            f"has {what}: leave its run out, or choose another net."
        )

    @singledispatchmethod
    def _module(self, module: nn.Module, *inputs: int) -> int:
        raise self._unknown(type(module).__name__)

    @_module.register
    def _(self, module: nn.Identity, source: int) -> int:
        return source

    @_module.register
    def _(self, module: nn.Flatten, source: int) -> int:
        return self._add("flatten", [source])

    @_module.register
    def _(self, module: nn.ReLU, source: int) -> int:
        return self._add("relu", [source])

    @_module.register
    def _(self, module: nn.PReLU, source: int) -> int:
        return self._add("prelu", [source], {"weight": module.weight})

    @_module.register
    def _(self, module: PooledPReLU, source: int) -> int:
        slope = self._add("prelu", [source], {"weight": module.weight})
        return self._add("max_pool", [slope], size=2, stride=2, padding=0)

    @_module.register
    def _(self, module: nn.MaxPool2d, source: int) -> int:
        size, stride, padding = (_side(value) for value in (module.kernel_size, module.stride, module.padding))
        if module.ceil_mode or _side(module.dilation) != 1:
            raise self._unknown("a max pooling with dilation or ceil_mode")
        return self._add("max_pool", [source], size=size, stride=stride, padding=padding)

    @_module.register
    def _(self, module: nn.AdaptiveAvgPool2d, source: int) -> int:
        if module.output_size not in (1, (1, 1)):
            raise self._unknown(f"an average pooling to {module.output_size}")
        return self._add("mean", [source])

    @_module.register
    def _(self, module: nn.BatchNorm2d, source: int) -> int:
        assert module.running_mean is not None
        assert module.running_var is not None
        scale = (module.running_var + module.eps).rsqrt()
        scale = scale if module.weight is None else scale * module.weight
        shift = -module.running_mean * scale
        shift = shift if module.bias is None else shift + module.bias
        return self._add("affine", [source], {"weight": scale, "bias": shift})

    @_module.register
    def _(self, module: nn.Linear, source: int) -> int:
        return self._add("linear", [source], {"weight": module.weight, "bias": module.bias})

    @_module.register
    def _(self, module: nn.Conv2d, source: int) -> int:
        if module.groups != 1 or _side(module.dilation) != 1 or module.padding_mode != "zeros":
            raise self._unknown("a convolution with groups, dilation or another padding than zeros")
        if isinstance(module.padding, str):
            raise self._unknown(f"a convolution with padding={module.padding!r}")
        arrays = {"weight": module.weight, "bias": module.bias}
        return self._add("conv", [source], arrays, stride=_side(module.stride), padding=_side(module.padding))


def _side(value: int | tuple[int, ...]) -> int:
    """Return the one number of a setting that is equal for rows and columns."""
    sides = {value} if isinstance(value, int) else set(value)
    if len(sides) != 1:
        raise UserError(f"A page does layers that treat rows and columns alike; got {value}: choose another net.")
    return sides.pop()
