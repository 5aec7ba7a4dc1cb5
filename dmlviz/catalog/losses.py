"""The losses: what of their specs needs code, and sums of two."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dmlviz.catalog.class_scores import nearest_center, nearest_prototype, scaled_cosine, soft_nearest_center
from dmlviz.catalog.formula import read_formula
from dmlviz.catalog.pair_thresholds import NEGLIGIBLE_LOGIT, Distance, PairThresholds, default_measure
from dmlviz.catalog.parameters import (
    Catalog,
    Fields,
    LossSpec,
    Parameter,
    Params,
    VectorParameter,
    Weights,
    brief,
    parse_literal,
    specs,
)
from dmlviz.errors import UserError

# Of a softmax of scores z: y is the own class, c the strongest other one.
_ENTROPY = r"\log\Big(1 + e^{<z_c> - <z_y>} + <\sum_{k\ne y,c} e^{z_k-z_y}>\Big)"
_STRONGEST = "y is its own class, c the strongest other class; the last number is what the rest add."
_LIFTED_PAIR = r"J_{ij} = \log\Big(<\sum_k e^{m-d_{ik}}> + <\sum_l e^{m-d_{jl}}>\Big) + <d_{ij}>,\quad "
_NEIGHBOR = r"p = \frac{<\sum_P e^{-\sigma d^2}>}{<\sum_P e^{-\sigma d^2}> + <\sum_N e^{-\sigma d^2}>},\quad "


def _between_margins(params: Params, weights: Weights) -> PairThresholds:
    return PairThresholds.between(default_measure(params, False), params["pos_margin"], params["margin"])


def _boundary(params: Params, weights: Weights) -> PairThresholds:
    boundary, room = float(np.mean(weights.get("beta", params["beta"]))), params["alpha"]
    return PairThresholds("euclidean", 2 * room, boundary - room, boundary, boundary + room)


def _logistic(params: Params, weights: Weights) -> PairThresholds:
    margin = params["margin"]
    return PairThresholds("euclidean", NEGLIGIBLE_LOGIT, 0.0, margin, margin + NEGLIGIBLE_LOGIT, is_hinge=False)


def _multi_similarity(params: Params, weights: Weights) -> PairThresholds:
    middle, pull, push = 1 - params["base"], NEGLIGIBLE_LOGIT / params["alpha"], NEGLIGIBLE_LOGIT / params["beta"]
    return PairThresholds("cosine", push, middle - pull, middle, middle + push, is_hinge=False)


def _circle(params: Params, weights: Weights) -> PairThresholds:
    m = params["margin"]
    return PairThresholds("cosine", max(0.0, 1 - 2 * m), m, 0.5, 1 - m, is_hinge=False)


def _soft(measure: Distance | None, sharpness: Callable[[Params], float] = lambda params: 1) -> Fields:
    """Return the thresholds of a loss whose terms fade, `sharpness` times as fast as a logistic."""

    def thresholds(params: Params, weights: Weights) -> PairThresholds:
        reach = NEGLIGIBLE_LOGIT / sharpness(params)
        return PairThresholds(measure or default_measure(params, False), reach, is_hinge=False)

    return {"thresholds": thresholds}


def _by_temperature(params: Params, weights: Weights) -> PairThresholds:
    return PairThresholds("cosine", NEGLIGIBLE_LOGIT * params["temperature"], is_hinge=False)


def _batch_hard_term(params: Params) -> str:
    gap = r"<\max_p d_{ap}> - <\min_n d_{an}>"
    return rf"\log\big(1 + e^{{{gap}}}\big)" if params["margin"] == "soft" else rf"\big[<m> + {gap}\big]_+"


def _softmax(score: str, *, after: str = "", note: str = "", **fields: Any) -> Fields:
    term = rf"z_y = {score},\quad {_ENTROPY}{after}"
    return {
        "term": lambda params: "" if params.get("label_smoothing") else term,
        "term_note": _STRONGEST + note,
        **fields,
    }


LABEL_SMOOTHING = Parameter(
    name="label_smoothing",
    kind=float,
    default=0.0,
    minimum=0.0,
    maximum=0.99,
    step=0.05,
    help="share of the target that all classes have alike; the own class has the rest",
    optional=True,
)


def _with_smoothing(loss: LossSpec) -> LossSpec:
    """Return a spec with label smoothing (Szegedy et al. 2016), if it is a softmax over learned classes."""
    is_softmax = loss.needs_classes and callable(loss.term)
    return replace(loss, parameters=(*loss.parameters, LABEL_SMOOTHING)) if is_softmax else loss


def _no_margin(params: Params) -> tuple[float, float, float]:
    return 1, 0, 0


_ANGLE_NOTE = r" θ is <\theta_y°> and m <m°>: ψ(θ) = cos(θ + m), but cos θ − m sin m where θ + m > 180°."

_CODE: dict[str, Fields] = {
    "contrastive": {"thresholds": _between_margins},
    "contrastive_linear": {"thresholds": _between_margins},
    "contrastive_double": {
        "thresholds": lambda p, w: PairThresholds.between("sqeuclidean", p["pos_margin"], p["margin"])
    },
    "cosine_pair": {"thresholds": lambda p, w: PairThresholds.between("cosine", 0.0, 1.0)},
    "distance_logistic": {"thresholds": _logistic},
    "margin": {"thresholds": _boundary},
    "multi_similarity": {"thresholds": _multi_similarity},
    "circle": {"thresholds": _circle},
    "triplet_soft": _soft(None),
    "batch_hard": {"term": _batch_hard_term},
    "hierarchical_triplet": {"thresholds": lambda p, w: PairThresholds("sqeuclidean", p["beta"])},
    "nt_xent": {"thresholds": _by_temperature},
    "tuplet_margin": _soft("cosine", lambda p: p["scale"]),
    "lifted": {"term": lambda p: _LIFTED_PAIR + (r"\tfrac12[<J_{ij}>]_+^2" if p["squared"] else r"[<J_{ij}>]_+")},
    "nca": {
        "term": lambda p: _NEIGHBOR + (r"-\log <p>" if p["log"] else r"-<p>"),
        **_soft("sqeuclidean", lambda p: p["scale"]),
    },
    "supcon": {"thresholds": _by_temperature},
    "softmax": _softmax(r"<w_y\cdot f> + <b_y>"),
    "normalized_softmax": _softmax(r"<s>\cos <\theta_y°>", angular_margins=_no_margin),
    "large_margin_softmax": _softmax(
        r"<\|w_y\|>\cdot <\|f\|>\cdot <\psi(\theta_y)>",
        angular_margins=lambda p: (p["margin"], 0, 0),
        class_scores=scaled_cosine,
    ),
    "sphereface": _softmax(r"<\|f\|>\cdot <\psi(\theta_y)>", angular_margins=lambda p: (p["margin"], 0, 0)),
    "cosface": _softmax(r"<s>(\cos <\theta_y°> - <m>)", angular_margins=lambda p: (1, 0, p["margin"])),
    "arcface": _softmax(
        r"<s>\cdot <\psi(\theta_y)>",
        note=_ANGLE_NOTE,
        angular_margins=lambda p: (1, p["margin"], 0),
    ),
    "subcenter_arcface": _softmax(
        r"<s>\cdot <\psi(\theta_y)>",
        note=_ANGLE_NOTE,
        angular_margins=lambda p: (1, p["margin"], 0),
        class_scores=nearest_center,
    ),
    "combined_margin": _softmax(
        r"<s>\cdot <\psi(\theta_y)>",
        note=r" θ is <\theta_y°>: ψ(θ) = cos(m₁θ + m₂) − m₃, continued so that it falls on beyond 180°.",
        angular_margins=lambda p: (p["m1"], p["m2"], p["m3"]),
    ),
    "magface": _softmax(
        r"<s>\cdot <\psi(\theta_y)>",
        after=r" + <\lambda>\cdot <g(a)>",
        note=r" θ is <\theta_y°> and ψ(θ) = cos(θ + m): at the length <a> the margin m is <m°>.",
    ),
    "adaface": _softmax(
        r"<s>\cdot <\psi(\theta_y)>",
        note=r" θ is <\theta_y°> and ψ(θ) = cos(θ − mq) − m(1 + q): the length of this image has the quality q = <q>.",
    ),
    "proxy_nca": _softmax(r"-<\|\tilde f-\tilde p_y\|^2>", angular_margins=_no_margin),
    "soft_triple": _softmax(r"<\lambda>(<S_y> - <\delta>)", class_scores=soft_nearest_center),
    "center": _softmax(r"<w_y\cdot f> + <b_y>", after=r" + <\lambda>\cdot <\|f-c_y\|^2>"),
    "prototypical": _softmax("-<d(f,c_y)>", class_scores=nearest_prototype),
    "custom_pair": {"term": lambda p: read_formula(p["formula"], "pairs").latex()},
    "custom_triplet": {"term": lambda p: read_formula(p["formula"], "triplets").latex()},
}


@dataclass(frozen=True, kw_only=True)
class LossChoice(Parameter):
    """A loss by name, or with parameters of its own: {"name": "triplet", "margin": 0.3}."""

    losses: Catalog[LossSpec]

    def check(self, owner: str, value: Any) -> str | Fields:
        """Return the name, with all parameters where one differs from its default; raise UserError for a wrong one."""
        name, params = self.split(value)
        if not isinstance(name, str):
            raise UserError(f'{owner}: {self.name} is a loss, as in "triplet"; got {brief(value)}.')
        if name == owner:
            raise UserError(f"{owner}: {self.name} is a loss that is no sum itself; got {brief(value)}.")
        declaration = self.losses[name]
        complete = declaration.with_defaults(params)
        return name if complete == declaration.with_defaults({}) else {"name": name, **complete}

    @staticmethod
    def split(value: Any) -> tuple[Any, Fields]:
        """Return the name and the parameters that were given with it."""
        value = parse_literal(value)
        if not isinstance(value, Mapping):
            return value, {}
        return value.get("name"), {name: parameter for name, parameter in value.items() if name != "name"}


@dataclass(frozen=True, kw_only=True)
class WeightedSumSpec(LossSpec):
    """A sum takes the tuples that either of its losses takes, and trains as its first loss does."""

    losses: Catalog[LossSpec]

    def parts(self, params: Mapping[str, Any]) -> dict[str, tuple[str, Fields]]:
        """Return name and parameters of the two losses, with the defaults filled in."""
        values = self.with_defaults(params)
        choices = {side: LossChoice.split(values[side]) for side in ("a", "b")}
        return {side: (name, self.losses[name].with_defaults(own)) for side, (name, own) in choices.items()}

    def for_params(self, params: Mapping[str, Any]) -> LossSpec:
        """Return the sum as these two losses make it."""
        a, b = (self.losses[name] for name, _ in self.parts(params).values())
        return replace(
            self,
            tuple_kinds=a.tuple_kinds | b.tuple_kinds,
            needs_classes=a.needs_classes or b.needs_classes,
            on_sphere=a.on_sphere and b.on_sphere,
            memory=_of_both(a, b),
            recommended=a.recommended,
        )


def _of_both(a: LossSpec, b: LossSpec) -> Literal["", "mined", "always"]:
    """Return what a sum does with a memory: a loss with weights of classes leaves it to the other one."""
    takes = {loss.memory for loss in (a, b) if loss.needs_pairs}
    return "" if "" in takes or not takes else "mined" if "mined" in takes else "always"


class Losses(Catalog[LossSpec]):
    """The losses, and the sums of any two of them; a loss that a plug-in brings can be a part of a sum too."""

    def __init__(self, single: Sequence[LossSpec]) -> None:
        super().__init__("loss", [*single, *_sums(single)])

    def add(self, entry: LossSpec, implementation: Callable[..., Any]) -> None:
        """Add the loss of a plug-in, by itself and within sums."""
        super().add(entry, implementation)
        self._declare_sums()

    def remove(self, name: str) -> None:
        """Remove the loss of a plug-in."""
        super().remove(name)
        self._declare_sums()

    def _declare_sums(self) -> None:
        single = [spec for spec in self.values() if not isinstance(spec, WeightedSumSpec)]
        self._entries.update({spec.name: spec for spec in _sums(single)})


def _sums(losses: Sequence[LossSpec]) -> list[LossSpec]:
    """Declare the sum of any two of `losses`."""
    catalog = Catalog("loss", losses)

    def side(name: str, default: str, text: str) -> LossChoice:
        return LossChoice(name=name, kind=str, default=default, choices=tuple(catalog), losses=catalog, help=text)

    parameters = (
        side("a", "contrastive", "the first loss; training follows its recommendations"),
        side("b", "softmax", "the second loss"),
        VectorParameter(
            name="weights",
            kind=list,
            length=2,
            default=[1.0, 1.0],
            minimum=0,
            maximum=1000,
            step=0.1,
            help="how much each of the two counts",
        ),
    )
    code = {"weighted_sum": {"losses": catalog, "parameters": parameters}}
    return [declared.for_params({}) for declared in specs(WeightedSumSpec, "sum", code)]


LOSSES = Losses([*map(_with_smoothing, specs(LossSpec, "loss", _CODE))])
