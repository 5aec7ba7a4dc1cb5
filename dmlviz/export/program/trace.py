"""Write down what torch does: every operation of a function on example inputs, its backward pass included."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

# Private: torch's own way to write an operation as simpler ones. The public table, `torch.export`'s, lacks softmax.
from torch._decomp import decomposition_table
from torch.overrides import TorchFunctionMode

# Documented under "Extending PyTorch", though its module has an underscore: it alone sees what a backward pass does.
from torch.utils._python_dispatch import TorchDispatchMode

from dmlviz.errors import UserError
from dmlviz.ops.fixed_path import fixed_path

aten = torch.ops.aten
LOOKS = (Tensor.numpy, Tensor.tolist, Tensor.__array__)
RANDOM = ("rand", "randperm")
LIKE = ("zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty")

SIMPLER = decomposition_table | {  # for these, torch's own imports its compiler, which takes two seconds
    aten.addcmul.default: lambda x, a, b, value=1: x + value * (a * b),
    aten.isposinf.default: lambda x: x == math.inf,
    aten.isneginf.default: lambda x: x == -math.inf,
    aten.sgn.default: torch.sign,
    aten.softplus.default: lambda x, beta=1, threshold=20: torch.where(
        x * beta > threshold, x, torch.log1p(torch.exp(x * beta)) / beta
    ),
}

RESHAPES = ("squeeze", "unsqueeze", "t", "transpose")  # in place, they change no number


@dataclass(frozen=True)
class Call:
    """An operation as torch did it: its name without the underscore of an in-place one, and its tensors."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    results: tuple[Tensor, ...]


@dataclass
class Trace:
    """The operations of a function that depend on its inputs or on random numbers, in order.

    Attributes:
        inputs: The example inputs by name.
        outputs: The results by name.
        calls: The operations; none of those that give the same for all inputs.
        varying: Storages of the tensors that do not always hold the same.
    """

    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    varying: set[int] = field(default_factory=set)

    def varies(self, tensor: Tensor) -> bool:
        """Return whether a tensor depends on the inputs."""
        return storage(tensor) in self.varying


def trace(
    function: Callable[[dict[str, Tensor]], dict[str, Tensor]], inputs: dict[str, Tensor], known: Callable[[str], bool]
) -> Trace:
    """Run a function of named tensors on an example, on the path that is right for all values.

    Args:
        function: Takes the inputs, and returns named results; it may ask for gradients.
        inputs: The example.
        known: Says whether a program has an operation of this name; others are written as simpler ones.

    Raises:
        UserError: If the function looks at values, so that another input might take another path, or if the number of
            results of an operation depends on values.
    """
    written = Trace(inputs, varying={storage(tensor) for tensor in inputs.values()})
    with torch.random.fork_rng(devices=[]), fixed_path(), _NoLooking(written), _Recorder(written, known):
        written.outputs = function(inputs)
    return written


def storage(tensor: Tensor) -> int:
    """Return what tells the memory of one tensor from that of another; views share it."""
    return tensor.untyped_storage().data_ptr()


def _looked() -> UserError:
    return UserError("It looks at values to decide what to compute; a program computes the same for all values.")


class _NoLooking(TorchFunctionMode):
    """Refuses to take a varying tensor out of torch, where its way could not be followed."""

    def __init__(self, written: Trace) -> None:
        super().__init__()
        self.written = written

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in LOOKS and self.written.varies(args[0]):
            raise _looked()
        return func(*args, **(kwargs or {}))


class _Recorder(TorchDispatchMode):
    def __init__(self, written: Trace, known: Callable[[str], bool]) -> None:
        super().__init__()
        self.written = written
        self.known = known
        self.kept: list[Any] = []  # memory that is freed might be given to another tensor

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Private: else torch imports its compiler, two seconds, only to keep it away from here."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        packet, varying = func.overloadpacket, self.written.varying
        name = packet.__name__ if packet.__name__.startswith("_") else packet.__name__.removesuffix("_")
        tensors = _tensors((*args, *kwargs.values()))
        varies = (any(self.written.varies(each) for each in tensors) and name not in LIKE) or name in RANDOM
        changes = func._schema.is_mutable and name not in RESHAPES
        if varies:
            self._refuse(name, args)
            target = args[0] if changes else None
            if target is not None and not self.written.varies(target):
                size = target.untyped_storage().nbytes() // target.element_size()
                whole = target.detach().as_strided((size,), (1,), 0)
                self._add("copy", (whole, whole.clone()), {}, (whole,))  # as it is before each step
            if not self.known(name) and not _is_view(func) and func in SIMPLER:
                with self:
                    return SIMPLER[func](*args, **kwargs)
        before = {storage(each) for each in tensors}
        result = func(*args, **kwargs)
        results = tuple(_tensors((result,)))
        self.kept.append((args, kwargs, results))
        if varies:
            if changes or not before.issuperset(storage(each) for each in results if each.numel()):
                self._add(name, args, kwargs, results)
            varying |= {storage(each) for each in results if each.numel()}
        return result

    def _add(self, name: str, args: Any, kwargs: Any, results: tuple[Tensor, ...]) -> None:
        def as_now(each: Tensor) -> Tensor:  # its shape may change in place, and so may what is the same for all inputs
            return each.detach() if self.written.varies(each) else each.detach().clone()

        if name == "copy" and not self.written.varies(args[0]):
            self.written.varying.add(storage(args[0]))
        named = {key: _replaced(value, as_now) for key, value in kwargs.items()}
        self.written.calls.append(Call(name, _replaced(args, as_now), named, tuple(each.detach() for each in results)))

    def _refuse(self, name: str, args: Any) -> None:
        if name in ("_local_scalar_dense", "equal", "is_nonzero"):
            raise _looked()
        masks = [each for each in _tensors(args[1:2]) if each.dtype == torch.bool]
        by_mask = name in ("index", "masked_select") and any(self.written.varies(mask) for mask in masks)
        if by_mask or name in ("nonzero", "_unique2", "unique_dim", "unique_consecutive"):
            raise UserError(
                "How many pairs, triplets or classes it takes depends on values; the arrays of a program have fixed "
                "sizes."
            )


def _is_view(operation: Any) -> bool:
    returns = operation._schema.returns
    return bool(returns) and returns[0].alias_info is not None and not operation._schema.is_mutable


def _tensors(values: Iterable[Any]) -> list[Tensor]:
    """Return the tensors among arguments or results, also those in lists."""
    found: list[Tensor] = []
    for each in values:
        if isinstance(each, Tensor):
            found.append(each)
        elif isinstance(each, (list, tuple)):
            found += _tensors(each)
    return found


def _replaced(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return an argument with its tensors changed, also those in lists."""
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(each, change) for each in value)
    return change(value) if isinstance(value, Tensor) else value
