"""The specs of the projections."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from typing_extensions import TypedDict

from dmlviz.catalog import projection_checks as checks
from dmlviz.catalog.parameters import Catalog, Fields, Params, Spec, specs
from dmlviz.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ProjectionSpec(Spec):
    """A projection, with all that the program must know of it beside its computation.

    A parameter called `iterations` makes it iterative: it is drawn while it forms. One called `metric` is the distance
    of the embedding that it goes by, and one called `supervised`, where true, hands it the labels.

    explanation: the formula in words, for readers who have not met it.
    linear: whether the map is a linear function of the embedding; new points are then placed exactly.
    caution: two lines on what may not be read from its picture.
    module: the module that implements it, imported when it is needed; empty for a plug-in.
    native: whether a run plays it by itself, without being asked.
    identity: whether it draws the embedding's own dimensions as they are.
    needs_labels: whether it cannot do without the class of every point.
    resumable: whether a stopped layout can continue from its positions.
    slow_in_3d: the number of points from which on three dimensions take minutes, or None.
    in_page: whether the page computes it, too, from its own parameters: for points to play with.
    waiting: what is said until its first positions are there, for one that shows nothing before its end.
    check_params: raises UserError for parameters (by name) that do not go together in so many dimensions of the map.
    check_points: the same for parameters, dimensions of the map, number of points, dimensions of the embedding.
    limits: from number of points and dimensions of the embedding, the largest value of parameters, by name; a map is
        drawn with a lower perplexity or fewer neighbors than asked for, and the rest is what `check_points` refuses.
    """

    linear: bool
    caution: str
    explanation: str = ""
    module: str = ""
    native: bool = False
    identity: bool = False
    needs_labels: bool = False
    resumable: bool = False
    slow_in_3d: int | None = None
    in_page: bool = False
    waiting: str = ""
    check_params: Callable[[Params, int], None] | None = None
    check_points: Callable[[Params, int, int, int], None] | None = None
    limits: Callable[[int, int], Mapping[str, float]] | None = None

    @property
    def iterative(self) -> bool:
        """Return whether it moves the points step by step."""
        return any(parameter.name == "iterations" for parameter in self.parameters)

    @property
    def follows(self) -> bool:
        """Return whether its map can go on from snapshot to snapshot of a training."""
        return (self.linear or self.resumable) and not self.native


PROJECTIONS = Catalog(
    "projection",
    specs(
        ProjectionSpec,
        "projection",
        {
            "plane": {"check_points": checks.check_plane},
            "pca": {
                "check_params": checks.check_different_axes,
                "check_points": checks.check_components,
                "limits": checks.component_limits,
            },
            "tsne": {"limits": checks.perplexity_limit},
            "umap": {"limits": checks.neighbors_limit},
            "pacmap": {"limits": checks.pairs_limit},
            "localmap": {"limits": checks.pairs_limit},
        },
    ),
)


def _by_method(table: str, **code: Fields) -> dict[str, ProjectionSpec]:
    cautions = {method: {"caution": PROJECTIONS[method].caution} | fields for method, fields in code.items()}
    return dict(zip(cautions, specs(ProjectionSpec, table, cautions), strict=True))


_PERPLEXITY, _NEIGHBORS = {"limits": checks.perplexity_limit}, {"limits": checks.neighbors_limit}
_SPREAD = {"check_params": checks.check_spread}
# scikit-learn's and umap-learn's maps: their own parameters, by our names where we have one.
REFERENCES = _by_method(
    "reference", tsne={"check_points": checks.check_scikit_learn} | _PERPLEXITY, umap=_SPREAD | _NEIGHBORS
)
TORCHDR = _by_method("torchdr", tsne=_PERPLEXITY, umap=_SPREAD | _NEIGHBORS)

Engine = Literal["dmlviz", "reference", "torchdr"]
OTHERS: Mapping[Engine, Mapping[str, ProjectionSpec]] = {"reference": REFERENCES, "torchdr": TORCHDR}


def declaration(method: str, engine: Engine = "dmlviz") -> ProjectionSpec:
    """Return the declaration of a method as this engine draws it; raise UserError if the engine does not support it."""
    own = PROJECTIONS[method]
    if engine == "dmlviz":
        return own
    if method not in OTHERS[engine]:
        raise UserError(
            f"The engine {engine} draws {', '.join(OTHERS[engine])}; got {method}: leave the engine out, or set it to "
            "dmlviz."
        )
    return OTHERS[engine][method]


def programs(method: str) -> dict[Engine, str]:
    """Return the names of the programs that draw t-SNE or UMAP, by engine."""
    return {"dmlviz": "dmlviz", "reference": REFERENCES[method].name, "torchdr": "TorchDR"}


def declarations(method: str) -> list[ProjectionSpec]:
    """Return the declarations of a method by every engine that draws it."""
    return [specs[method] for specs in (PROJECTIONS, *OTHERS.values()) if method in specs]


MOVING = ("perplexity", "attraction", "neighbors", "min_dist", "mid_near_ratio", "further_ratio", "metric")
LARGEST = 100  # perplexity or number of neighbors that the page takes on the way


class LayoutSetting(TypedDict):
    """A parameter of the shown projection that moves the layout: from `minimum` to `maximum`, or one of `choices`."""

    name: str
    help: str
    value: float | str
    minimum: float
    maximum: float
    step: float
    choices: list[str]


def layout_settings(method: str, values: Params | None = None) -> list[LayoutSetting]:
    """Return the parameters of a method that move a layout in the page, with these values; by default its own."""
    spec = PROJECTIONS[method]
    values = spec.with_defaults(values or {})
    return [
        LayoutSetting(
            name=one.name,
            help=one.help,
            value=values[one.name],
            minimum=one.minimum or 0,
            maximum=max(min(one.maximum or 1, LARGEST), values[one.name]) if one.kind is not str else 0,
            step=one.step or 1,
            choices=[*one.choices],
        )
        for one in spec.parameters
        if one.name in MOVING
    ]


def layouts_in_page() -> dict[str, list[LayoutSetting]]:
    """Return the settings of each method by which a page without a server draws images, by name."""
    return {name: layout_settings(name) for name, spec in PROJECTIONS.items() if spec.in_page}
