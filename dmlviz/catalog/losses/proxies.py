"""The specs of losses with class weights."""

from typing import Any

from dmlviz.catalog.class_scores import nearest_prototype, scaled_cosine, soft_nearest_center
from dmlviz.catalog.losses._shared import distance, margin, scale
from dmlviz.catalog.parameters import LossSpec, Parameter, texts

_FREE = {"sampler": "shuffled", "normalize": False}
_SPHERE = {"sampler": "shuffled", "normalize": True}
# On a circle ten classes are 36° apart: a scale of 64 leaves no force between them, and a margin of 0.5 no room. Class
# weights that turn slowly wait until the images have come.
_CIRCLE = {"loss_learning_rate": 1e-3, "steps": 1200}
# Of a softmax of scores z: y is the own class, c the strongest other one.
_ENTROPY = r"\log\Big(1 + e^{<z_c> - <z_y>} + <\sum_{k\ne y,c} e^{z_k-z_y}>\Big)"
_STRONGEST = "y is its own class, c the strongest other class; the last number is what the rest add."


def _multiplier(default: float, name: str = "margin", minimum: float = 1) -> Parameter:
    return Parameter(
        name=name,
        kind=float,
        default=default,
        minimum=minimum,
        maximum=8,
        step=0.1,
        help="multiplier of the angle to the true class; need not be a whole number",
    )


def _angle(default: float, name: str = "margin") -> Parameter:
    return Parameter(
        name=name,
        kind=float,
        default=default,
        minimum=0,
        maximum=1.5,
        step=0.05,
        help="added to the angle to its own class, in radians",
    )


def _proxies(name: str, **fields: Any) -> LossSpec:
    usual = {"family": "proxies", "compares": "classes", "class_centers": "weights", "term_note": _STRONGEST}
    return LossSpec(needs_classes=True, **usual | texts("loss", name) | fields)


PROXIES = [
    _proxies("softmax", term=r"z_y = <w_y\cdot f> + <b_y>,\quad " + _ENTROPY, recommended=_FREE),
    _proxies(
        "normalized_softmax",
        term=r"z_y = <s>\cos <\theta_y°>,\quad " + _ENTROPY,
        on_sphere=True,
        recommended=_SPHERE,
        in_dimensions={2: _CIRCLE | {"loss_params": {"scale": 16}}},
        angular_margins=lambda p: (1, 0, 0),
        parameters=(scale(20, "s: how sharply the nearest class wins"),),
    ),
    _proxies(
        "large_margin_softmax",
        term=r"z_y = <\|w_y\|>\cdot <\|f\|>\cdot <\psi(\theta_y)>,\quad " + _ENTROPY,
        recommended=_SPHERE | {"learning_rate": 2e-3},
        in_dimensions={2: _CIRCLE | {"learning_rate": 4e-3}},
        angular_margins=lambda p: (p["margin"], 0, 0),
        class_scores=scaled_cosine,
        parameters=(_multiplier(4.0),),
    ),
    _proxies(
        "sphereface",
        term=r"z_y = <\|f\|>\cdot <\psi(\theta_y)>,\quad " + _ENTROPY,
        recommended=_SPHERE | {"learning_rate": 2e-3},
        in_dimensions={2: _CIRCLE | {"learning_rate": 4e-3}},
        angular_margins=lambda p: (p["margin"], 0, 0),
        parameters=(_multiplier(4.0),),
    ),
    _proxies(
        "cosface",
        term=r"z_y = <s>(\cos <\theta_y°> - <m>),\quad " + _ENTROPY,
        on_sphere=True,
        recommended=_SPHERE,
        in_dimensions={2: _CIRCLE | {"loss_params": {"margin": 0.2, "scale": 16}}},
        angular_margins=lambda p: (1, 0, p["margin"]),
        parameters=(
            margin(0.35, "taken off the cosine with its own class", maximum=2),
            scale(64, "s: how sharply the nearest class wins"),
        ),
    ),
    _proxies(
        "arcface",
        term=r"z_y = <s>\cdot <\psi(\theta_y)>,\quad " + _ENTROPY,
        term_note=_STRONGEST
        + r" θ is <\theta_y°> and m <m°>: ψ(θ) = cos(θ + m), but cos θ − m sin m where θ + m > 180°.",
        on_sphere=True,
        recommended=_SPHERE,
        in_dimensions={2: _CIRCLE | {"loss_params": {"margin": 0.2, "scale": 16}}},
        angular_margins=lambda p: (1, p["margin"], 0),
        parameters=(_angle(0.5), scale(64, "s: how sharply the nearest class wins")),
    ),
    _proxies(
        "combined_margin",
        term=r"z_y = <s>\cdot <\psi(\theta_y)>,\quad " + _ENTROPY,
        term_note=_STRONGEST
        + r" θ is <\theta_y°>: ψ(θ) = cos(m₁θ + m₂) − m₃, continued so that it falls on beyond 180°.",
        on_sphere=True,
        recommended=_SPHERE,
        in_dimensions={2: _CIRCLE | {"loss_params": {"m2": 0.1, "m3": 0.1, "scale": 16}}},
        angular_margins=lambda p: (p["m1"], p["m2"], p["m3"]),
        parameters=(
            _multiplier(1.0, "m1", minimum=0.5),
            _angle(0.3, "m2"),
            margin(0.2, "taken off the cosine with its own class", name="m3", maximum=2),
            scale(64, "s: how sharply the nearest class wins"),
        ),
    ),
    _proxies(
        "proxy_nca",
        term=r"z_y = -<\|\tilde f-\tilde p_y\|^2>,\quad " + _ENTROPY,
        on_sphere=True,
        recommended=_SPHERE | {"learning_rate": 2e-3},
        in_dimensions={2: _CIRCLE | {"learning_rate": 4e-3}},
        angular_margins=lambda p: (1, 0, 0),
        parameters=(scale(3, "s: length to which embeddings and proxies are brought", maximum=30),),
    ),
    _proxies(
        "soft_triple",
        term=r"z_y = <\lambda>(<S_y> - <\delta>),\quad " + _ENTROPY,
        on_sphere=True,
        recommended=_SPHERE,
        class_scores=soft_nearest_center,
        parameters=(
            Parameter(name="centers", kind=int, default=10, minimum=1, maximum=100, help="centers of each class"),
            scale(20, "λ: how sharply the nearest class wins", name="la"),
            Parameter(
                name="gamma",
                kind=float,
                default=0.1,
                minimum=0.001,
                maximum=10,
                step=0.01,
                help="γ: softmax temperature over the centers; small = nearest only",
            ),
            margin(0.01, "δ: taken off the similarity to its own class", maximum=2),
        ),
    ),
    _proxies(
        "center",
        term=r"z_y = <w_y\cdot f> + <b_y>,\quad " + _ENTROPY + r" + <\lambda>\cdot <\|f-c_y\|^2>",
        recommended=_FREE,
        class_centers="points",
        parameters=(
            Parameter(
                name="weight",
                kind=float,
                default=0.003,
                minimum=0,
                maximum=10,
                step=0.001,
                help="λ: strength of the pull towards the center",
            ),
        ),
    ),
    LossSpec(
        **texts("loss", "prototypical"),
        term=r"z_y = -<d(f,c_y)>,\quad " + _ENTROPY,
        term_note=_STRONGEST,
        recommended={"sampler": "balanced", "normalize": False},
        compares="classes",
        class_scores=nearest_prototype,
        class_centers="means",
        parameters=(
            Parameter(
                name="support",
                kind=int,
                default=5,
                minimum=1,
                maximum=1000,
                help="images of each class, the first in the batch, that form its prototype; the others are queries",
            ),
            distance("sqeuclidean"),
        ),
    ),
]
