"""Arguments of lectures as small figures to move: what each draws is computed here, with dmlviz's own functions.

Title, what to see, pages and sliders stand in figures.toml; a function of the figure's name gets the sliders' values.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.catalog.parameters import describe_unknown
from dmlviz.errors import UserError
from dmlviz.lessons.figure_specs import FIGURES, Drawn, Series


def answer(data_root: Path | None, name: str, values: Mapping[str, float]) -> Drawn:
    """Return a figure with some values of its sliders, by default those of the declaration.

    Raises:
        UserError: For an unknown figure or slider, or a value beyond its ends.
    """
    if name not in FIGURES:
        raise UserError(describe_unknown("figure", name, {each: spec.title for each, spec in FIGURES.items()}))
    sliders = {slider["name"]: slider for slider in FIGURES[name].sliders}
    for key, value in values.items():
        if key not in sliders or not sliders[key]["low"] <= value <= sliders[key]["high"]:
            ends = ", ".join(f"{each} from {one['low']:g} to {one['high']:g}" for each, one in sliders.items())
            raise UserError(f"The figure {name} has {ends or 'no sliders'}; got {key} = {value:g}.")
    whole: dict[str, float] = {key: values.get(key, slider["default"]) for key, slider in sliders.items()}
    draw: Callable[..., Drawn] = globals()[name]
    return draw(**whole)


def _series(name: str, xs: Any, ys: Any, kind: Any = "line") -> Series:
    points = np.column_stack([np.asarray(xs, float), np.asarray(ys, float)])
    kept = [[float(f"{value:.6g}") for value in point] for point in points[np.isfinite(points).all(axis=1)]]
    return {"name": name, "kind": kind, "points": kept}


def _arrows(name: str, starts: Any, ends: Any) -> Series:
    points = np.column_stack([starts, ends]).astype(float)
    return {"name": name, "kind": "arrows", "points": points.round(6).tolist()}


def _drawn(
    series: Sequence[Series],
    x: Sequence[float],
    y: Sequence[float],
    reading: str,
    formula: str = "",
    ticks: Sequence[str] = (),
) -> Drawn:
    return {
        "series": [*series], "x": [*map(float, x)], "y": [*map(float, y)], "ticks": [*ticks], "formula": formula,
        "reading": reading,
    }  # fmt: skip


def _terms(loss: str, x: Any, y: Sequence[int], **params: Any) -> Any:
    """Return the terms of a loss of dmlviz on points x with classes y, as a tensor; of triplets only the first."""
    import torch

    from dmlviz.losses import LOSSES, build
    from dmlviz.miners.tuples import Triplets

    of_triplets = LOSSES[loss].for_params({}).tuple_kinds == {"triplets"}
    tuples = Triplets(*torch.tensor([[0], [1], [2]])) if of_triplets else None
    return build(loss, reduction="none", **params)(x, torch.tensor(y), tuples)


def _pair_curve(loss: str, distances: np.ndarray, same: bool, **params: Any) -> np.ndarray:
    """Return the value of a loss of pairs for one pair at each distance."""
    import torch

    places = [torch.tensor([[0.0, 0.0], [d, 0.0]], dtype=torch.float64) for d in distances]
    return np.array([float(_terms(loss, x, [0, 0 if same else 1], **params)[0]) for x in places])


@lru_cache(maxsize=1)
def _digits() -> tuple[np.ndarray, np.ndarray]:
    from dmlviz.data import load

    test = load("digits", None).test
    return test.images.reshape(len(test.images), -1).astype(np.float64) / 255, test.labels


# Maps


def perplexity(perplexity: float) -> Drawn:
    """σ of one point, and how many neighbors it makes."""
    from dmlviz.projection.affinities import conditional_probabilities

    x, _ = _digits()
    squared = np.sort(((x[1:] - x[0]) ** 2).sum(axis=1))[:150]

    def at(value: float) -> tuple[float, np.ndarray]:
        p = conditional_probabilities(squared[None], value)[0]
        near, far = p[0], p[p > 1e-12 * p[0]][-1]
        count = int((p > 1e-12 * p[0]).sum())
        return math.sqrt((squared[count - 1] - squared[0]) / (2 * math.log(near / far))), p

    values = np.linspace(2, 100, 50)
    sigma, p = at(perplexity)
    entropy = -float((p[p > 0] * np.log2(p[p > 0])).sum())
    curve = _series("perplexity over σ", [at(value)[0] for value in values], values)
    here = _series("here", [sigma], [perplexity], "dots")
    return _drawn(
        [curve, here], [0, at(100)[0]], [0, 100],
        f"σ = {sigma:.3g} was found by bisection: the entropy of p(j|i) is H = {entropy:.3g} bits, and 2^H = "
        f"{2**entropy:.3g}.",
    )  # fmt: skip


def student(distance: float) -> Drawn:
    """Similarity over distance on the map, by a Gaussian and by Student's t."""
    d = np.linspace(0, 6, 121)
    wanted = math.exp(-(distance**2))
    far = math.sqrt(1 / wanted - 1)
    lines = [_series("Gaussian", d, np.exp(-(d**2))), _series("Student's t", d, 1 / (1 + d**2))]
    marks = _series("the same similarity", [distance, far], [wanted, wanted], "dots")
    return _drawn(
        [*lines, marks], [0, 6], [0, 1],
        f"A similarity of {wanted:.2g} needs a distance of {distance:.2f} with a Gaussian, {far:.2f} with Student's t: "
        "what is moderately far has room.",
    )  # fmt: skip


def crowding(dimensions: float) -> Drawn:
    """Distances of points in a ball of so many dimensions, and in a disk."""
    rng, ends = np.random.default_rng(0), np.linspace(0, 2, 41)

    def shares(dims: int) -> tuple[np.ndarray, float]:
        x = rng.standard_normal((400, dims))
        x *= rng.random((400, 1)) ** (1 / dims) / np.linalg.norm(x, axis=1, keepdims=True)
        gram = x @ x.T
        lengths = gram.diagonal()
        d = np.sqrt(np.maximum(lengths[:, None] + lengths - 2 * gram, 0))[np.triu_indices(400, 1)]
        d /= d.mean()
        return np.histogram(d, ends)[0] / len(d), float((np.abs(d - 1) < 0.2).mean())

    (flat, near_flat), (high, near_high) = shares(2), shares(int(dimensions))
    middle = (ends[1:] + ends[:-1]) / 2
    lines = [_series("in the plane", middle, flat), _series(f"in {dimensions:.0f} dimensions", middle, high)]
    return _drawn(
        lines, [0, 2], [0, 1.1 * max(flat.max(), high.max())],
        f"Within a fifth of the mean distance: {near_high:.0%} of the pairs in {dimensions:.0f} dimensions, "
        f"{near_flat:.0%} in a plane. A plane has no room for so many at one distance.",
    )  # fmt: skip


def forces(stray: float, apart: float) -> Drawn:
    """The gradient of t-SNE on the points of a small map, as forces."""
    import torch

    from dmlviz.projection.affinities import conditional_probabilities, joint_probabilities

    rng = np.random.default_rng(1)
    high = np.repeat([[0.0] * 5, [4.0] * 5], 6, axis=0) + rng.standard_normal((12, 5))
    squared = ((high[:, None] - high) ** 2).sum(axis=2)
    order = np.argsort(squared, axis=1)[:, 1:]
    rows = np.take_along_axis(squared, order, axis=1)
    p = torch.tensor(joint_probabilities(conditional_probabilities(rows, 4), order).toarray())
    side = np.repeat([[-apart / 2, 0.0], [apart / 2, 0.0]], 6, axis=0) + 0.4 * rng.standard_normal((12, 2))
    side[5] = stray, 1.5
    y = torch.tensor(side, requires_grad=True)
    w = 1 / (1 + (y[:, None] - y).square().sum(dim=2))
    w = w * (1 - torch.eye(12, dtype=torch.float64))
    q = w / w.sum()
    loss = torch.where(p > 0, p * (p / q.clamp_min(1e-300)).clamp_min(1e-300).log(), 0.0).sum()
    loss.backward()
    assert y.grad is not None
    force = -y.grad.numpy()
    longest = float(np.linalg.norm(force, axis=1).max())
    ends = side + 1.5 * force / longest
    groups = [
        _series("one group", side[:6, 0], side[:6, 1], "dots"),
        _series("the other", side[6:, 0], side[6:, 1], "dots"),
    ]
    return _drawn(
        [*groups, _arrows("force", side, ends)], [-6, 6], [-3, 3],
        f"KL(P‖Q) = {float(loss.detach()):.2f}; the strongest force is {longest:.2f}.",
    )  # fmt: skip


def divergence(mean: float, width: float) -> Drawn:
    """Two bumps P, one bump Q, and both divergences."""
    x = np.linspace(-6, 6, 481)

    def bump(center: float, sigma: float) -> np.ndarray:
        return np.asarray(np.exp(-((x - center) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi)))

    p, q = (bump(-2, 0.6) + bump(2, 0.6)) / 2, bump(mean, width)

    def kl(a: np.ndarray, b: np.ndarray) -> float:
        return float((a * np.log(np.maximum(a, 1e-300) / np.maximum(b, 1e-300))).sum() * (x[1] - x[0]))

    return _drawn(
        [_series("P", x, p), _series("Q", x, q)], [-6, 6], [0, 0.8],
        f"KL(P‖Q) = {kl(p, q):.2f}, KL(Q‖P) = {kl(q, p):.2f}.",
    )  # fmt: skip


# From triplets to NT-Xent

POSITIVE, NEGATIVES, MARGIN = 0.6, (0.75, 0.5, 0.2, -0.1, -0.4), 0.2
STEPS = (
    ("Triplet, by angles, with one negative", "[s_an − s_ap + m]₊"),
    ("(n+1)-tuple: the worst of all negatives", "[max_n s_an − s_ap + m]₊"),
    ("logsumexp in place of the maximum", "[log Σ_n exp(s_an) − s_ap + m]₊"),
    ("InfoNCE: a zero beside them in place of the hinge", "log(1 + Σ_n exp(s_an − s_ap))"),
    ("NT-Xent: the similarities divided by τ", "log(1 + Σ_n exp((s_an − s_ap)/τ))"),
)


def _at(cosines: Any) -> Any:
    """Return an anchor and points of length 1 that have these cosines with it, and no others in common."""
    import torch

    size = len(cosines) + 1
    axes = torch.eye(size, dtype=torch.float64)
    sines = (1 - cosines.square()).clamp_min(0).sqrt()
    return torch.cat([axes[:1], cosines[:, None] * axes[0] + sines[:, None] * axes[1:]])


def step_value(step: int, cosines: Any, tau: float) -> Any:
    """Return the loss of the anchor at a step, by dmlviz where it has that loss; the first cosine is the positive's."""
    import torch

    labels = [0, 0, *range(1, len(cosines))]
    x = _at(cosines)
    if step == 0:
        return _terms("triplet", x[[0, 1, 3]], labels[:3], distance="cosine", margin=MARGIN)[0]
    if step == 1:
        return _terms("tuple_hinge", x, labels, margin=MARGIN)[0]
    if step == 2:
        return (torch.logsumexp(cosines[1:], 0) - cosines[0] + MARGIN).relu()
    return _terms("nt_xent", x, labels, temperature=1.0 if step == 3 else tau)[0]


def derivation(step: float, tau: float) -> Drawn:
    """The gradient on each negative, from the angular triplet to NT-Xent."""
    import torch

    cosines = torch.tensor([POSITIVE, *NEGATIVES], dtype=torch.float64, requires_grad=True)
    value = step_value(round(step) - 1, cosines, tau)
    (gradient,) = torch.autograd.grad(value, cosines)
    pushes = gradient[1:].numpy()
    title, formula = STEPS[round(step) - 1]
    names = [f"cos {cosine:g}".replace("-", "−") for cosine in NEGATIVES]
    return _drawn(
        [_series("gradient on each negative", range(len(pushes)), pushes, "bars")], [-0.5, 4.5],
        [0, max(1.0, 1.1 * float(pushes.max()))],
        f"{title}: loss {float(value.detach()):.3f}; {int((pushes > 0.01).sum())} of {len(pushes)} negatives pushed.",
        formula, names,
    )  # fmt: skip


def temperature(tau: float) -> Drawn:
    """The share of each negative in the gradient of NT-Xent."""
    import torch

    negatives = np.linspace(0.7, -0.7, 15)
    cosines = torch.tensor([POSITIVE, *negatives], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(
        _terms("nt_xent", _at(cosines), [0, 0, *range(1, 16)], temperature=tau)[0], cosines
    )
    shares = gradient[1:].numpy() / gradient[1:].sum().item()
    some = shares[shares > 0]
    count = 2 ** -float((some * np.log2(some)).sum())
    return _drawn(
        [_series("share of the gradient", range(15), shares, "bars")], [-0.5, 14.5], [0, 1],
        f"With τ = {tau:g} the gradient is spread as over {count:.1f} negatives of 15.",
        ticks=[f"{cosine:.1f}".replace("-", "−") for cosine in negatives],
    )  # fmt: skip


# Angles and distances


def scale(classes: float, angle: float) -> Drawn:
    """The loss that is left at the best place, and the force at an angle, over s."""
    import torch

    from dmlviz.losses import build

    count = int(classes)
    weight = torch.eye(count, dtype=torch.float64) - 1 / count
    weight = weight / weight.norm(dim=1, keepdim=True)  # a simplex: all as far apart as can be
    across = weight[1] - (weight[0] @ weight[1]) * weight[0]
    turned = math.cos(math.radians(angle)) * weight[0] + math.sin(math.radians(angle)) * across / across.norm()
    doublings, left, wrong = np.linspace(0, 6, 40), [], []
    for s in 2**doublings:
        loss = build("normalized_softmax", embedding_dim=count, num_classes=count, scale=float(s)).double()
        with torch.no_grad():
            loss.get_parameter("weight").copy_(weight)
            left.append(float(loss(weight[:1], torch.tensor([0]))))
        x = turned[None].clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss(x, torch.tensor([0])), x)
        wrong.append(float(gradient.norm()) / s)
    lines = [_series("loss at the own class's weight", doublings, left), _series("force / s", doublings, wrong)]
    return _drawn(
        lines, [0, 6], [0, max(1.0, 1.05 * max(left))],
        f"With s = 1 a perfect image still costs {left[0]:.2f} of {math.log(count):.2f}, with s = 64 "
        f"{'less than 0.001' if left[-1] < 1e-3 else format(left[-1], '.3f')}.",
    )  # fmt: skip


def bounded(outlier: float) -> Drawn:
    """The gradient of eleven usual pairs and of a far one, by Euclid and by the cosine."""
    import torch

    from dmlviz.losses import build

    reach = np.array([*np.linspace(0.2, 1.2, 11), outlier])
    shares = []
    for name in ("contrastive", "cosine_pair"):
        sizes = []
        for d in reach:
            y = torch.tensor([[1.0, 0.0], [1.0, d]], dtype=torch.float64, requires_grad=True)
            (gradient,) = torch.autograd.grad(build(name)(y, torch.tensor([0, 0])), y)
            sizes.append(float(gradient[1].norm()))
        shares.append(np.array(sizes) / sum(sizes))
    bars = [
        _series(f"{words}: share of the gradient", np.arange(12) + place, share, "bars")
        for words, share, place in zip(("Euclid", "cosine"), shares, (-0.2, 0.2), strict=True)
    ]
    return _drawn(
        bars, [-0.6, 11.6], [0, 1],
        f"The pair at a distance of {outlier:g} has {shares[0][-1]:.0%} of Euclid's gradient and {shares[1][-1]:.0%} "
        "of the cosine's.",
        ticks=[f"{d:.1f}" for d in reach],
    )  # fmt: skip


def cosine(angle: float) -> Drawn:
    """Squared distance and cosine of two points of length 1."""
    import torch

    from dmlviz.ops.pairwise import cross_cosine, cross_distance

    degrees = np.linspace(0, 180, 91)
    v = torch.tensor(np.column_stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))]))
    squared = cross_distance(v[:1], v, "sqeuclidean")[0].numpy()
    product = 2 - 2 * cross_cosine(v[:1], v)[0].numpy()
    at = float(np.interp(angle, degrees, squared))
    return _drawn(
        [
            _series("‖u − v‖²", degrees, squared), _series("2 − 2uᵀv", degrees[::6], product[::6], "dots"),
            _series("here", [angle], [at], "dots"),
        ],
        [0, 180], [0, 4],
        f"At {angle:.0f}°: uᵀv = {math.cos(math.radians(angle)):.3f}, ‖u − v‖² = {at:.3f}.",
    )  # fmt: skip


def sphereface(m: float, between: float, place: float) -> Drawn:
    """Weights of two classes, x, their bisector, and the borders with a margin that multiplies the angle."""
    import torch

    from dmlviz.losses.class_weights import cos_with_margin

    half = math.radians(between) / 2
    low, high = 0.0, half
    for _ in range(50):  # θ₁ with ψ(θ₁) = cos θ₂
        middle = (low + high) / 2
        own = float(cos_with_margin(torch.tensor([math.cos(middle)], dtype=torch.float64), float(m), 0.0, 0.0))
        low, high = (middle, high) if own > math.cos(2 * half - middle) else (low, middle)

    def rays(*angles: float) -> tuple[list[list[float]], list[list[float]]]:
        return [[0.0, 0.0] for _ in angles], [[math.cos(angle), math.sin(angle)] for angle in angles]

    border, at = half - low, math.radians(place)
    plain = "the bisector" if not place else f"class {1 if place > 0 else 2}"
    sure = "the gap" if abs(at) < border else plain
    return _drawn(
        [
            _arrows("W₁ and W₂", *rays(half, -half)), _arrows("bisector, m = 1", *rays(0.0)),
            _arrows(f"borders, m = {m:g}", *rays(border, -border)),
            _series("x", [1.15 * math.cos(at)], [1.15 * math.sin(at)], "dots"),
        ],
        [-0.4, 1.4], [-1.2, 1.2],
        f"Class 1 reaches {math.degrees(low):.1f}° from W₁ where m = {m:g}, {math.degrees(half):.1f}° where m = 1: a "
        f"gap of {2 * math.degrees(border):.1f}°. x lies in {plain} with m = 1, in {sure} with m = {m:g}.",
        "m θ₁ = θ₂",
    )  # fmt: skip


# Pairs and triplets


def logistic(margin: float) -> Drawn:
    """p(x₁, x₂) over the distance, from the loss of a positive pair."""
    d = np.linspace(0, 4, 81)
    p = np.exp(-_pair_curve("distance_logistic", d, True, margin=margin))
    return _drawn(
        [_series("p: of one class", d, p)], [0, 4], [0, 1],
        f"p is 1 at distance 0 and {float(np.interp(margin, d, p)):.2f} at m = {margin:g}; it never gets to 0.",
        "p = (1 + e⁻ᵐ) / (1 + eᵈ⁻ᵐ)",
    )  # fmt: skip


def beside(margin: float) -> Drawn:
    """Distance logistic and contrastive on the same pairs."""
    d = np.linspace(0.02, 4, 81)
    lines = [
        _series(f"{title}, {'one class' if same else 'two classes'}", d, _pair_curve(loss, d, same, margin=margin))
        for loss, title in (("distance_logistic", "logistic"), ("contrastive", "contrastive"))
        for same in (True, False)
    ]
    return _drawn(
        lines, [0, 4], [0, 4],
        "Far pairs of one class: the logistic loss grows as the distance, contrastive as its square. Pairs of two "
        f"classes cost nothing beyond {margin:g} with contrastive, and ever less with the logistic loss.",
    )  # fmt: skip


def cases(distance: float, margin: float) -> Drawn:
    """The three cases of the contrastive loss, with the force on the second image."""
    import torch

    rows, values = (1.0, 0.0, -1.0), []
    places = ((distance, True), (min(distance, 0.9 * margin), False), (margin + distance / 2, False))
    starts, ends = [], []
    for row, (d, same) in zip(rows, places, strict=True):
        x = torch.tensor([[0.0, 0.0], [d, 0.0]], dtype=torch.float64, requires_grad=True)
        value = _terms("contrastive", x, [0, 0 if same else 1], margin=margin)[0]
        (gradient,) = torch.autograd.grad(value, x)
        values.append(float(value.detach()))
        starts.append([d, row])
        ends.append([d - 0.5 * float(gradient[1, 0]), row])
    others = _series("the other images", [start[0] for start in starts], rows, "dots")
    border = _series("margin", [margin, margin], [-1.3, 0.3])
    return _drawn(
        [_series("anchors", [0.0] * 3, rows, "dots"), others, _arrows("force", starts, ends), border], [-0.3, 4],
        [-1.5, 1.5],
        f"Top: one class, pulled, loss {values[0]:.2f}. Middle: two classes within the margin, pushed, loss "
        f"{values[1]:.2f}. Bottom: beyond it, left alone, loss {values[2]:.2f}.",
    )  # fmt: skip


def second_form(positive: float, margin: float) -> Drawn:
    """Both forms of the triplet loss over the distance of the negative."""
    import torch

    d = np.linspace(0.02, 3, 75)
    first, second = [], []
    for negative in d:
        x = torch.tensor([[0.0, 0.0], [positive, 0.0], [-negative, 0.0]], dtype=torch.float64)
        first.append(float(_terms("triplet", x, [0, 0, 1], margin=margin)[0]))
    pull = _pair_curve("contrastive_linear", np.array([positive]), True)[0]
    second = pull + _pair_curve("contrastive_linear", d, False, margin=margin)
    return _drawn(
        [_series("[m + dₐₚ − dₐₙ]₊", d, first), _series("dₐₚ + [m − dₐₙ]₊", d, second)], [0, 3], [0, 4],
        f"The first form is 0 from dₐₙ = {positive + margin:.2f} on; the second still pulls the positive, with "
        f"{pull:.2f}, and leaves the negative alone from {margin:.2f} on.",
    )  # fmt: skip


def decay(strength: float) -> Drawn:
    """A loss of distances without a margin, and weight decay, over the length of a linear net's weights."""
    import torch

    from dmlviz.losses import build

    rng, never = np.random.default_rng(0), 100.0
    x = torch.tensor(np.repeat([[-0.6, 0.0], [0.6, 0.0]], 6, axis=0) + 0.3 * rng.standard_normal((12, 2)))
    y, w = torch.arange(12) // 6, np.linspace(0, 4, 81)
    loss = build("contrastive_linear", margin=never)  # so far that no pair is ever beyond it
    alone = np.array([float(loss(length * x, y)) - never for length in w])
    whole = alone + strength * w**2
    at = w[int(np.argmin(whole))]
    words = "still falls with every w shown" if at == w[-1] else f"is lowest at w = {at:.2f}"
    return _drawn(
        [_series("without decay", w, alone), _series("with λw²", w, whole)], [0, 4], [min(-1, *alone), 2],
        f"Without decay longer embeddings are always better; with λ = {strength:g} the sum {words}.",
    )  # fmt: skip


def neighbors(scale: float) -> Drawn:
    """The accuracy of the nearest neighbor and the probability of NCA while one axis is stretched."""
    import torch

    from dmlviz.metrics import evaluate

    rng = np.random.default_rng(3)
    x = np.column_stack([np.repeat([-0.5, 0.5], 10) + 0.45 * rng.standard_normal(20), 1.5 * rng.standard_normal(20)])
    labels = np.repeat([0, 1], 10)
    stretch = np.linspace(0, 2, 41)
    steps, smooth = [], []
    for each in stretch:
        points = x * [1.0, each]
        found = evaluate(points, labels, full_ranking=False, verification=False)
        steps.append(found["precision_at_1"])
        p = -_terms("nca", torch.tensor(points), labels.tolist(), log=False, scale=scale)
        smooth.append(float(p.mean()))
    stairs = _series("accuracy of the nearest neighbor", np.repeat(stretch, 2)[1:], np.repeat(steps, 2)[:-1])
    lines = [stairs, _series("NCA's mean p", stretch, smooth)]
    jumps = int((np.diff(steps) != 0).sum())
    return _drawn(
        lines, [0, 2], [0.5, 1],
        f"The accuracy jumps {jumps} times and is level between: no slope to follow. p has one everywhere, and is "
        f"largest at {stretch[int(np.argmax(smooth))]:.2f}.",
    )  # fmt: skip


def directions(images: np.ndarray, bins: int) -> np.ndarray:
    """Return histograms of the directions of edges in the four quarters of each image, of sum 1."""
    down, right = np.gradient(images, axis=(1, 2))
    strength, angle = np.hypot(right, down), np.arctan2(down, right) % (2 * math.pi)
    which = np.minimum(angle / (2 * math.pi) * bins, bins - 1).astype(int)
    half = images.shape[1] // 2
    quarters = [(slice(None), slice(a, a + half), slice(b, b + half)) for a in (0, half) for b in (0, half)]
    counts = [(strength * (which == each))[at].sum(axis=(1, 2)) for at in quarters for each in range(bins)]
    histograms = np.stack(counts, axis=1)
    return np.asarray(histograms / histograms.sum(axis=1, keepdims=True))


def distances(bins: float, images: float) -> Drawn:
    """P@1 of digits by histograms of the directions of their edges, by several distances."""
    from scipy.spatial.distance import cdist

    pixels, labels = _digits()
    x, labels = directions(pixels[: int(images)].reshape(-1, 8, 8), int(bins)), labels[: int(images)]
    chi = np.zeros((len(x), len(x)))
    for column in x.T:
        both = column[:, None] + column
        chi += np.divide((column[:, None] - column) ** 2, both, out=np.zeros_like(both), where=both > 0)
    tables = {
        "Euclid": cdist(x, x), "city block": cdist(x, x, "cityblock"), "cosine": cdist(x, x, "cosine"), "χ²": chi,
        "Hellinger": cdist(np.sqrt(x), np.sqrt(x)),
    }  # fmt: skip
    scores = []
    for table in tables.values():
        np.fill_diagonal(table, np.inf)
        scores.append(float((labels[table.argmin(axis=1)] == labels).mean()))
    best = [*tables][int(np.argmax(scores))]
    words = ", ".join(f"{name} {score:.3f}" for name, score in zip(tables, scores, strict=True))
    return _drawn(
        [_series("P@1", range(5), scores, "bars")], [-0.5, 4.5], [0, 1],
        f"P@1 of {int(images)} digits: {words}. Best: {best}; nothing was learned.",
        "χ² = Σ (aᵢ − bᵢ)² / (aᵢ + bᵢ)", [*tables],
    )  # fmt: skip


def disk(far: float, between: float) -> Drawn:
    """Two embeddings in the Poincaré disk, with the shortest way between them, and with that over the center."""
    import torch

    from dmlviz.ops.spaces import PoincareBall

    ball, half, round_ = PoincareBall(), math.radians(between) / 2, np.linspace(0, 2 * math.pi, 181)
    ends = far * torch.tensor([[-math.sin(half), math.cos(half)], [math.sin(half), math.cos(half)]]).double()
    apart = float(ball.distances(ends)[0, 1])
    ways = [ball.drawn(ball.line(ends[0], ends[1], steps)).numpy() for steps in (65, 9)]
    points = ball.drawn(ends).numpy()
    return _drawn(
        [
            _series("rim", np.cos(round_), np.sin(round_)),
            _series("shortest way", ways[0][:, 0], ways[0][:, 1]),
            _series("on paper", points[:, 0], points[:, 1]),
            _series("equal steps", ways[1][:, 0], ways[1][:, 1], "dots"),
        ],
        [-1.6, 1.6], [-1.05, 1.05],
        f"Distance {apart:.2f}, over the center {4 * far:.2f}; in the plane the two are "
        f"{2 * far * math.sin(half):.2f} apart. Each is drawn at {math.tanh(far):.4f} of the radius.",
    )  # fmt: skip
