"""The distances at which a loss stops: the dashed lines of the histogram, and the bounds of easy and hard pairs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Distance = Literal["euclidean", "sqeuclidean", "cosine"]

NEGLIGIBLE_LOGIT = 4.6  # log(1 + e^−x) is below 0.01 from here on: a smooth term that counts as 0


@dataclass(frozen=True)
class PairThresholds:
    """The distances from which on the terms of a loss are 0, in units of `measure` ("cosine" means 1 − cosine).

    A loss with a decision boundary ignores a positive pair below `positive_threshold` and a negative pair above
    `negative_threshold`; `decision_boundary` lies between right and wrong. A loss without one ignores a triplet whose
    negative is `margin` farther away than its positive. `is_hinge` is false for a smooth loss, whose terms are only
    nearly 0 there.
    """

    measure: Distance
    margin: float = 0.0
    positive_threshold: float | None = None
    decision_boundary: float | None = None
    negative_threshold: float | None = None
    is_hinge: bool = True

    @classmethod
    def between(cls, measure: Distance, positive: float, negative: float) -> "PairThresholds":
        """Return hinges at these two distances, the decision boundary halfway between them."""
        return cls(measure, negative - positive, positive, (positive + negative) / 2, negative)


def default_measure(params: Mapping[str, Any], on_sphere: bool) -> Distance:
    """Return the distance that the parameters name; else cosine on the sphere, Euclidean elsewhere."""
    measure: Distance = params.get("distance", "cosine" if on_sphere else "euclidean")
    return measure


def default_thresholds(params: Mapping[str, Any], on_sphere: bool, needs_classes: bool) -> PairThresholds:
    """Return the thresholds of a loss that declares none: its parameter `margin`, if any, as a gap in a triplet."""
    margin = params.get("margin", 0.0)
    soft = isinstance(margin, str)
    gap = NEGLIGIBLE_LOGIT if soft else 0.0 if needs_classes else float(margin)
    return PairThresholds(default_measure(params, on_sphere), gap, is_hinge=gap > 0 and not soft)
