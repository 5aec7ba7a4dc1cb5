"""Finds the architecture of any torch module by running it once: layers, shapes, weights, what is shared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from dmlviz.errors import UserError
from dmlviz.nets.architecture import Architecture, Layer, rows_of

MOST_ROWS = 15  # of a picture; deeper nets are drawn by their blocks
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
_MODULES: Mapping[type[nn.Module], str] = {  # the words of a layer, with its attributes
    nn.Conv1d: "{0.kernel_size[0]} convolution, {0.out_channels}",
    nn.Conv2d: "{0.kernel_size[0]} × {0.kernel_size[1]} convolution, {0.out_channels}",
    nn.Linear: "linear, {0.out_features}",
    nn.MultiheadAttention: "attention, {0.num_heads} heads",
    nn.Embedding: "embedding, {0.embedding_dim}",
    nn.Flatten: "",
    nn.Identity: "",
    nn.modules.batchnorm._BatchNorm: "batch normalization",
    nn.Dropout: "dropout",
    nn.LayerNorm: "layer normalization",
    nn.MaxPool2d: "{0.kernel_size} × {0.kernel_size} pooling",
    nn.AdaptiveAvgPool2d: "average of all places",
}
# Functions of torch that are drawn: of one input, which follow the layer before; with a place of their own; of several.
_AFTER = {
    "relu": "ReLU", "prelu": "PReLU", "gelu": "GELU", "leaky_relu": "leaky ReLU", "silu": "SiLU",
    "max_pool2d": "pooling", "normalize": "length 1", "adaptive_avg_pool2d": "average of all places",
    "batch_norm": "batch normalization", "layer_norm": "layer normalization",
} | {name: name.replace("_", " ") for name in ("sigmoid", "tanh", "softmax", "log_softmax", "dropout")}  # fmt: skip
_ALONE = {
    "linear": "linear", "conv2d": "convolution", "avg_pool2d": "averages", "interpolate": "resized",
    "__getitem__": "cut out", "scaled_dot_product_attention": "attention", "cross_entropy": "cross-entropy",
}  # fmt: skip
_JOIN = {
    "cat": "joined", "concat": "joined", "stack": "joined", "add": "sum", "add_": "sum", "__add__": "sum",
    "__iadd__": "sum", "__radd__": "sum", "sub": "difference", "__sub__": "difference", "mul": "product",
    "__mul__": "product", "matmul": "products", "__matmul__": "products", "mm": "products", "cdist": "distances",
    "pairwise_distance": "distance", "cosine_similarity": "cosine",
}  # fmt: skip
_NORMS = ("vector_norm", "linalg_vector_norm", "norm", "sqrt", "sqrt_")
_QUOTIENTS = ("div", "truediv", "true_divide")
_FOLLOWING = ("Norm", "Pool", "Dropout", "LU", "Sigmoid", "Tanh", "Softmax", "Identity", "Flatten", "Softplus")


def describe(
    net: nn.Module, *inputs: Tensor, names: Sequence[str] = (), title: str = "", rows: int = MOST_ROWS
) -> Architecture:
    """Return the layers of a net, what comes out of each, its weights, and which layers have them in common.

    The net is run once on the inputs, without gradients and in evaluation mode; nothing in it changes. Layers that are
    the same object, or hold the same parameters, are shared. A module of one's own says what it is called by an
    attribute `words`.

    Args:
        net: Any module of torch.
        *inputs: What it is called with: for most nets a batch of images, n × channels × height × width.
        names: What the inputs are called, by default "input".
        title: Name of the net, by default that of its class.
        rows: A net of more rows than this is drawn by its blocks.

    Raises:
        UserError: If the net cannot be run on these inputs.

    Examples:
        >>> import torch
        >>> from dmlviz.nets import build
        >>> print(describe(build("linear", embedding_dim=3, size=8), torch.zeros(1, 1, 8, 8)))
        EmbeddingNet: 192 weights.
        1. input: 1 × 8 × 8
        2. linear, 3, length 1 of 1: 3, 192 weights
    """
    deepest = max((path.count(".") + 1 for path, _ in net.named_modules() if path), default=0)
    for depth in range(deepest, 0, -1):
        layers = _trace(net, inputs, names, depth)
        if max(rows_of(layers)) < rows:
            break
    else:
        layers = _trace(net, inputs, names, min(deepest, 1))
    weights = sum(parameter.numel() for parameter in net.parameters())
    return Architecture(title=title or type(net).__name__, layers=tuple(layers), weights=weights)


@dataclass
class _Node:
    words: list[str]
    shape: tuple[int, ...]
    weights: dict[int, int]
    inputs: tuple[int, ...]
    follows: bool = False


@dataclass
class _Trace(TorchFunctionMode):
    """Follows tensors through a net: each comes from some nodes, and brings weights that no node has used yet."""

    own: Mapping[int, int]
    nodes: list[_Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.inside = 0
        self._from: dict[int, tuple[tuple[int, ...], dict[int, int]]] = {}
        self._alive: list[Tensor] = []  # so that no number of an object comes twice
        self._norms: set[int] = set()

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        outputs = [*_tensors(result)]
        if self.inside or not outputs:
            return result
        name, taken = getattr(func, "__name__", ""), [*_tensors([args, kwargs])]
        sources, loose = self._origin(taken)
        if not sources and not loose:
            return result
        if name in _NORMS:
            self._norms |= {id(tensor) for tensor in outputs}
        if name.strip("_") in _QUOTIENTS and any(id(tensor) in self._norms for tensor in taken):
            lengths = outputs[0].flatten(1).norm(dim=1)
            if ((lengths - 1).abs().lt(1e-3) | lengths.eq(0)).all():
                name = "normalize"
        is_cut = name != "__getitem__" or (taken[0].ndim > 2 and outputs[0].shape[-2:] != taken[0].shape[-2:])
        words = _AFTER.get(name) or (is_cut and _ALONE.get(name)) or (len(sources) > 1 and _JOIN.get(name))
        if words and sources:
            self.add(words, loose, sources, outputs, follows=name in _AFTER)
        else:
            self._note(outputs, sources, loose)
        return result

    def add(
        self, words: str, weights: dict[int, int], inputs: tuple[int, ...], outputs: list[Tensor], follows: bool = False
    ) -> None:
        shape = tuple(outputs[0].shape[1:]) if outputs else ()
        self.nodes.append(_Node([words] if words else [], shape, weights, inputs, follows))
        self._note(outputs, (len(self.nodes) - 1,), {})

    def called(self, module: nn.Module, taken: Any, result: Any) -> None:
        """Add a module that was called."""
        inputs, loose = self._origin([*_tensors(taken)])
        weights = loose | {id(one): one.numel() for one in module.parameters()}
        self.add(_words(module), weights, inputs, [*_tensors(result)], follows=_follows(module))

    def end(self, result: Any) -> None:
        """Add what the net returns, where it is more than what a layer gives."""
        for tensor in _tensors(result):
            sources, loose = self._origin([tensor])
            if loose or len(sources) > 1:
                self.add("output", loose, sources, [tensor])

    def _origin(self, tensors: Sequence[Tensor]) -> tuple[tuple[int, ...], dict[int, int]]:
        sources: dict[int, None] = {}
        loose: dict[int, int] = {}
        for tensor in tensors:
            if id(tensor) in self.own:
                loose[id(tensor)] = self.own[id(tensor)]
            elif id(tensor) in self._from:
                nodes, weights = self._from[id(tensor)]
                sources |= dict.fromkeys(nodes)
                loose |= weights
        return tuple(sources), loose

    def _note(self, tensors: Sequence[Tensor], nodes: tuple[int, ...], loose: dict[int, int]) -> None:
        for tensor in tensors:
            self._from[id(tensor)] = nodes, loose
        self._alive += tensors


def _trace(net: nn.Module, inputs: Sequence[Tensor], names: Sequence[str], depth: int) -> list[Layer]:
    trace = _Trace({id(one): one.numel() for one in net.parameters()})
    modes = [(module, module.training) for module in net.modules()]
    hooks = []

    def enter(module: nn.Module, *_: Any) -> None:
        trace.inside += 1

    def leave(module: nn.Module, args: Any, kwargs: Any, result: Any) -> None:
        trace.inside -= 1
        if not trace.inside:
            trace.called(module, [args, kwargs], result)

    device = next((one.device for one in net.parameters()), torch.device("cpu"))
    given = [tensor.detach().clone().to(device) for tensor in inputs]
    for number, tensor in enumerate(given):
        trace.add(names[number] if number < len(names) else "input", {}, (), [tensor])
    try:
        for module in _shown(net, depth):
            hooks += [
                module.register_forward_pre_hook(enter),
                module.register_forward_hook(leave, with_kwargs=True),
            ]
        net.eval()
        with torch.no_grad(), trace:
            result = net(*given)
        trace.end(result)
    except UserError:
        raise
    except Exception as error:
        shapes = ", ".join(" × ".join(map(str, tensor.shape)) for tensor in inputs) or "no inputs"
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"A net is described by running it; {type(net).__name__} fails with {shapes}: {reason} Call it with inputs "
            "of the shape that it takes."
        ) from error
    finally:
        for hook in hooks:
            hook.remove()
        for module, training in modes:
            module.training = training
    return _layers(trace.nodes)


def _shown(net: nn.Module, depth: int) -> Iterator[nn.Module]:
    """Yield the modules that are drawn: layers, and blocks so deep in the net."""

    def below(module: nn.Module, level: int) -> Iterator[nn.Module]:
        children = [*module.children()]
        of_torch = type(module).__module__.startswith("torch.nn") and not isinstance(module, _CONTAINERS)
        if not children or of_torch or level == depth or hasattr(module, "words"):
            yield module
        else:
            for child in children:
                yield from below(child, level + 1)

    if not [*net.children()]:
        return iter(() if not type(net).__module__.startswith("torch.nn") else (net,))
    return iter(dict.fromkeys(module for child in net.children() for module in below(child, 1)))


def _words(module: nn.Module) -> str:
    own = getattr(module, "words", None)
    if own is not None:
        return str(own)
    for kind, words in _MODULES.items():
        if isinstance(module, kind):
            return words.format(module)
    name = type(module).__name__.removeprefix("Parametrized")
    if isinstance(module, nn.Sequential):
        kinds = {type(child).__name__ for child in module}
        return f"{len(module)} × {kinds.pop()}" if len(kinds) == 1 else f"{len(module)} layers"
    layers = sum(any(True for _ in each.parameters(recurse=False)) for each in module.modules())
    return f"{name}, {layers} layers" if layers > 1 else name


def _follows(module: nn.Module) -> bool:
    """Return whether a module belongs to the layer before it: an activation, a normalization, a pooling."""
    return not [*module.children()] and any(
        word in kind.__name__ for kind in type(module).__mro__ for word in _FOLLOWING
    )


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors([*value.values()])


def _layers(nodes: Sequence[_Node]) -> list[Layer]:
    """Return layers, each with those that belong to it."""
    readers = [0] * len(nodes)
    for node in nodes:
        for source in node.inputs:
            readers[source] += 1
    kept: list[_Node] = []
    place: dict[int, int] = {}
    for number, node in enumerate(nodes):
        only = node.inputs[0] if len(node.inputs) == 1 else None
        is_alone = only is not None and readers[only] == 1 and bool(nodes[only].inputs)
        if (node.follows or not node.words) and only is not None and is_alone:
            before = kept[place[only]]
            before.words += node.words
            before.shape = node.shape if node.words else before.shape  # not flattened
            before.weights = before.weights | node.weights
            place[number] = place[only]
            continue
        inputs = tuple(dict.fromkeys(place[each] for each in node.inputs))
        if not node.words and only is not None and not node.weights:  # of a flatten, say, right after an input
            place[number] = place[only]
            continue
        place[number] = len(kept)
        kept.append(_Node([*node.words], node.shape, dict(node.weights), inputs))
    first: dict[int, int] = {}
    layers = []
    for number, node in enumerate(kept):
        known = [first[weight] for weight in node.weights if weight in first]
        new = sum(size for weight, size in node.weights.items() if weight not in first)
        first |= {weight: number for weight in node.weights if weight not in first}
        layers.append(
            Layer(
                words=tuple(node.words) or ("layer",),
                shape=node.shape,
                weights=sum(node.weights.values()),
                new=new,
                inputs=node.inputs,
                same=min(known, default=number),
            )
        )
    return layers
