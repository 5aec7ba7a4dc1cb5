"""Plug-ins: a loss, miner, sampler, net, data set, metric, projection or feature, of a file or an installed package.

A plug-in declares what it brings with one decorator, for example::

    from dmlviz.plugins import loss, margin, reduction

    @loss(title="My loss", summary="…", formula=r"[m - d]_+", compares="pairs",
          parameters=[margin(1.0, "distance from which negatives cost nothing"), reduction()])
    def my_loss(batch, *, margin, reduction):
        return batch.terms((margin - batch.distances("euclidean")).relu(), batch.negative, reduction)

The function's name becomes the name of the choice. The server reads plug-ins too, to show what there is, and loads no
torch: import torch inside functions, not at the top of the file. A file that imports it at the top works, but makes
the server start seconds later and take some 200 MB more.

Files come from `--plugin FILE` and from the environment variable DMLVIZ_PLUGINS (paths, separated as in PATH), which
the processes that train inherit; packages name their modules as entry points `dmlviz.losses`, `dmlviz.miners`,
`dmlviz.samplers`, `dmlviz.nets`, `dmlviz.datasets`, `dmlviz.metrics`, `dmlviz.projections` and `dmlviz.features`.

A feature (a page, routes, background work, commands) is declared by `dmlviz_app.feature.FEATURES.add(Feature(…))`.
"""

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from dmlviz import metrics
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS, SAMPLERS, SamplerSpec
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS, MetricSpec
from dmlviz.catalog.miners import MINERS, MinerSpec
from dmlviz.catalog.nets import NETS, NetSpec
from dmlviz.catalog.pair_thresholds import PairThresholds
from dmlviz.catalog.parameters import (
    OF_FILE,
    Catalog,
    Fields,
    LossSpec,
    Parameter,
    Spec,
    distance,
    margin,
    reduction,
    scale,
)
from dmlviz.catalog.projections import PROJECTIONS, ProjectionSpec
from dmlviz.errors import UserError
from dmlviz.parts import PLUGGED

__all__ = [
    "PairThresholds",
    "Parameter",
    "dataset",
    "distance",
    "load_plugins",
    "loss",
    "margin",
    "metric",
    "miner",
    "net",
    "projection",
    "reduction",
    "sampler",
    "scale",
]

ENVIRONMENT = "DMLVIZ_PLUGINS"
CATALOGS: dict[str, Catalog[Any]] = {
    "losses": LOSSES,
    "miners": MINERS,
    "samplers": SAMPLERS,
    "nets": NETS,
    "datasets": DATASETS,
    "metrics": METRICS,
    "projections": PROJECTIONS,
}
FAMILY = "plug-ins"

F = TypeVar("F", bound=Callable[..., Any])

_loaded: set[str] = set()  # paths of files and "group:name" of entry points


def loss(
    *, title: str, summary: str, parameters: Sequence[Parameter] = (), family: str = FAMILY, **fields: Any
) -> Callable[[F], F]:
    """Declare a loss.

    Args:
        title: Title on the page.
        summary: One sentence on what it does.
        parameters: Its parameters; the function takes each by keyword.
        family: The group that it is listed in.
        **fields: Further fields of `dmlviz.catalog.parameters.LossSpec`, such as `formula`, `compares`, `tuple_kinds`.

    Returns:
        A decorator. A function whose first argument is called `batch` (a `dmlviz.losses.batch.LossBatch`) computes the
        loss's terms. Any other is called with `embedding_dim`, `num_classes`, `seed` and the parameters by keyword
        and returns a `dmlviz.losses.base.Loss`, for a loss with weights of its own.

    Example: docs/EXTENDING.md
    """
    fields["tuple_kinds"] = frozenset(fields.get("tuple_kinds", ()))
    return _declare(LOSSES, LossSpec, title=title, summary=summary, parameters=parameters, family=family, **fields)


def miner(
    *, title: str, summary: str, tuple_kind: str, parameters: Sequence[Parameter] = (), **fields: Any
) -> Callable[[F], F]:
    """Declare a miner: a function of a `dmlviz.miners.base.MinerBatch` that returns `Pairs` or `Triplets`.

    Args:
        title: Its name for a person.
        summary: One sentence.
        tuple_kind: "pairs" or "triplets".
        parameters: Its options.
        **fields: Further fields of `dmlviz.catalog.miners.MinerSpec`.

    Returns:
        A decorator that registers the function under its name.

    Raises:
        UserError: For another kind.

    Example: docs/EXTENDING.md
    """
    if tuple_kind not in ("pairs", "triplets"):
        raise UserError(f'A miner makes "pairs" or "triplets"; got tuple_kind={tuple_kind!r}.')
    fields = {"family": FAMILY} | fields
    return _declare(
        MINERS, MinerSpec, title=title, summary=summary, tuple_kind=tuple_kind, parameters=parameters, **fields
    )


def sampler(
    *, title: str, summary: str, by_class: bool = False, tuple_kind: str = "", **fields: Any
) -> Callable[[F], F]:
    """Declare a sampler: a function of `config, labels, rng` that yields batches, endlessly.

    Args:
        title: Title on the page.
        summary: One sentence on what it does.
        by_class: Whether its batches have P classes with K images each; otherwise they have `config.batch_size` images.
        tuple_kind: "pairs" or "triplets" for one whose batches are pairs (images 2i and 2i + 1) or triplets (3i,
            3i + 1 and 3i + 2), so that no miner selects.
        **fields: Further fields of `dmlviz.catalog.datasets.SamplerSpec`.

    Returns:
        A decorator. The function takes a `TrainConfig`, the classes of the training images (n whole numbers) and a
        NumPy random generator. A batch is an array of `config.effective_batch_size` indices into the labels.

    Raises:
        UserError: For another kind.

    Example: docs/EXTENDING.md
    """
    if tuple_kind not in ("", "pairs", "triplets"):
        raise UserError(f'A sampler makes "pairs", "triplets" or neither (""); got tuple_kind={tuple_kind!r}.')
    kind: Fields = {"by_class": by_class, "tuple_kind": tuple_kind}
    return _declare(SAMPLERS, SamplerSpec, title=title, summary=summary, **kind, **fields)


def projection(
    *,
    title: str,
    summary: str,
    caution: str,
    linear: bool = False,
    parameters: Sequence[Parameter] = (),
    **fields: Any,
) -> Callable[[F], F]:
    """Declare a projection: a function of embeddings that returns their positions on a map.

    Args:
        title: Title on the page.
        summary: One sentence on what it does.
        caution: Caution about reading its picture.
        linear: Whether the positions are a linear function of the embeddings; new points are then placed exactly, and
            otherwise between their nearest neighbors.
        parameters: Its parameters; the function takes each by keyword.
        **fields: Further fields of `dmlviz.catalog.projections.ProjectionSpec`.

    Returns:
        A decorator. The function takes the embeddings (n × d, float32) and, by keyword, `dims` (2 or 3). It returns
        positions (n × dims). By the names of its keywords it may ask for more: `seed`, `labels` (n class numbers, with
        `needs_labels=True`), `start` (positions to begin with, in an animation) and `report(iterations, positions)`,
        which shows a layout while it forms; the parameter `iterations` is then how many there are.

    Example: docs/EXTENDING.md
    """
    fields = {"linear": linear, "caution": caution} | fields
    return _declare(PROJECTIONS, ProjectionSpec, title=title, summary=summary, parameters=parameters, **fields)


def net(*, title: str, summary: str, **fields: Any) -> Callable[[F], F]:
    """Declare a net: a function of `channels, size, embedding_dim` that returns a `torch.nn.Module`.

    The module takes images (n × channels × size × size, float) and returns embeddings (n × embedding_dim).

    Args:
        title: Its name for a person.
        summary: One sentence.
        **fields: Further fields of `dmlviz.catalog.nets.NetSpec`.

    Returns:
        A decorator that registers the function under its name.

    Example: docs/EXTENDING.md
    """
    return _declare(NETS, NetSpec, title=title, summary=summary, **fields)


def dataset(
    *, title: str, summary: str, classes: Sequence[str], size: int, mean: float, std: float, **fields: Any
) -> Callable[[F], F]:
    """Declare a data set: a function of the data folder that returns ((images, labels), (images, labels)).

    The first pair is for training, the second for testing: images (n × size × size, or × 3 for `channels=3`, uint8)
    and labels (n, whole numbers from 0). `mean` and `std` are those of the training pixels, scaled to [0, 1].

    Args:
        title: Its name for a person.
        summary: One sentence.
        classes: Names of the classes, in the order of the labels.
        size: Side of the square images, in pixels.
        mean: Of the training pixels, scaled to [0, 1].
        std: Their standard deviation.
        **fields: Further fields of `dmlviz.catalog.dataset_spec.DatasetSpec`.

    Returns:
        A decorator that registers the function under its name.

    Example: docs/EXTENDING.md
    """
    facts: Fields = {"classes": tuple(classes), "size": size, "mean": mean, "std": std}
    return _declare(DATASETS, DatasetSpec, title=title, summary=summary, **facts, **fields)


def metric(*, title: str, summary: str, **fields: Any) -> Callable[[F], F]:
    """Declare a metric: a function of embeddings (n × d) and class ids (n), as NumPy arrays, that returns a number.

    It is computed at every snapshot, so it should take milliseconds for a thousand images.

    Args:
        title: Its name for a person.
        summary: One sentence.
        **fields: Further fields of `dmlviz.catalog.metrics.MetricSpec`.

    Returns:
        A decorator that registers the function under its name.

    Example: docs/EXTENDING.md
    """
    declare = _declare(METRICS, MetricSpec, title=title, summary=summary, **{"family": FAMILY} | fields)

    def bind(function: F) -> F:
        metrics.PLUGGED[function.__name__] = declare(function)
        return function

    return bind


def _declare(
    catalog: Catalog[Any], spec: type[Spec], *, parameters: Sequence[Parameter] = (), **fields: Any
) -> Callable[[F], F]:
    def bind(function: F) -> F:
        arguments = inspect.signature(function).parameters
        missing = [parameter.name for parameter in parameters if parameter.name not in arguments]
        if missing and not any(one.kind is one.VAR_KEYWORD for one in arguments.values()):
            raise UserError(
                f"{function.__name__} declares the parameter {missing[0]} but its function does not take it."
            )
        try:
            entry = spec(name=function.__name__, parameters=tuple(parameters), **fields)
        except TypeError as error:  # a field that the spec does not have
            raise UserError(
                f"{function.__name__}: {str(error).removeprefix(spec.__name__ + '.__init__() ')}."
            ) from None
        entry.with_defaults({})
        catalog.add(entry, function)
        return function

    return bind


def load_plugins(files: Iterable[str | Path] = ()) -> None:
    """Load `files`, the files that DMLVIZ_PLUGINS names, and the plug-ins of installed packages, each once.

    `files` are added to DMLVIZ_PLUGINS, so that processes started later load them too. Raises UserError, in one
    sentence, for a plug-in that cannot be loaded.

    Args:
        files: Paths of Python files.

    Example: docs/EXTENDING.md
    """
    from_environment = [path for path in os.environ.get(ENVIRONMENT, "").split(os.pathsep) if path]
    paths = list(dict.fromkeys([*from_environment, *(str(Path(file).expanduser().resolve()) for file in files)]))
    for path in paths:
        if path not in _loaded:
            _load_file(Path(path))
            _loaded.add(path)
    if paths:
        os.environ[ENVIRONMENT] = os.pathsep.join(paths)
    points = installed()
    for group in (*CATALOGS, "features"):
        for point in points.select(group=f"dmlviz.{group}"):
            if (key := f"{group}:{point.value}") not in _loaded:
                _run(f"{point.name} of the package {point.dist.name if point.dist else '?'}", point.load)
                _loaded.add(key)


@cache
def installed() -> Any:
    """Return the entry points of all packages, read once: a process that is forked has them from the one before.

    Examples:
        >>> "dmlviz" in installed().select(group="console_scripts").names
        True
    """
    return entry_points()


def _load_file(path: Path) -> None:
    if not path.is_file():
        raise UserError(f"There is no plug-in file {path}: give the path of a Python file.")
    spec = importlib.util.spec_from_file_location(f"{OF_FILE}{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UserError(f"A plug-in is a Python file, ending in .py; got {path}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # so that it may import files beside it
    _run(str(path), lambda: spec.loader.exec_module(module))  # type: ignore[union-attr]


def _run(name: str, load: Callable[[], object]) -> None:
    """Call `load`; if it fails, take back what it declared and say in one sentence what is wrong."""
    before, features = [set(catalog.plugged) for catalog in CATALOGS.values()], len(PLUGGED)
    try:
        load()
    except (Exception, SystemExit) as error:
        del PLUGGED[features:]
        for catalog, names in zip(CATALOGS.values(), before, strict=True):
            for new in set(catalog.plugged) - names:
                catalog.remove(new)
                metrics.PLUGGED.pop(new, None) if catalog is METRICS else None
        raise UserError(f"The plug-in {name} cannot be loaded: {_where(name, error)}.") from None


def _where(file: str, error: BaseException) -> str:
    """Return the last line of the file that the error came from, and the error in words."""
    if isinstance(error, UserError):
        words = str(error).rstrip(".")
    else:
        words = f"{type(error).__name__}: {error}".rstrip(": ").rstrip(".")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return f"line {line}: {words}" if line else words


def __dir__() -> list[str]:
    return [*__all__]
