"""What the plot of a loss shows on the Learn page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Marks = tuple[tuple[float, str], ...]
Axis = Literal["distance", "angle", "ratio", "score"]


@dataclass(frozen=True, kw_only=True)
class Knob:
    """A number that the page lets a person set beside the parameters: a learned weight, or the embedding's length."""

    name: str
    label: str
    default: float
    low: float
    high: float
    step: float


def length_knob(default: float) -> Knob:
    """Return the knob for the length of the embedding, for losses that depend on it."""
    return Knob(name="length", label="Length of the embedding", default=default, low=0.5, high=20, step=0.5)


def _no_marks(params: Mapping[str, Any]) -> Marks:
    return ()


@dataclass(frozen=True, kw_only=True)
class PlotScene:
    """A few points, one of which moves along `axis`; the plot shows the loss and its slope at every place.

    `kind` says which points there are:
    "pair": an image and a second one, of its own class or of another;
    "triplet": anchor, positive, and a negative on the other side of the anchor;
    "two_pairs": as "triplet", with the negative twice, for a loss that needs a pair of each class;
    "classes": an image, the weight of its class, and the weight of another class;
    "score": no points at all, but the output of a decision net.

    `listed` gives the loss the one triplet instead of all of the batch. `same_side` puts the negative on the
    positive's side of the anchor. `support_first` puts the positive before the anchor in the batch. `knobs` are
    further numbers to set, each by the name that the loss's weights have, or "length". `marks` gives places on the
    axis that the parameters name, each with a label.
    """

    kind: Literal["pair", "triplet", "two_pairs", "classes", "score"]
    axis: Axis
    listed: bool = False
    same_side: bool = False
    support_first: bool = False
    knobs: tuple[Knob, ...] = ()
    marks: Callable[[Mapping[str, Any]], Marks] = _no_marks

    def axis_for(self, params: Mapping[str, Any]) -> Axis:
        """Return the axis with these parameters: a loss on distances moves along an angle if it takes the cosine."""
        return "angle" if self.axis == "distance" and params.get("distance") == "cosine" else self.axis

    def to_json(self) -> dict[str, Any]:
        """Return the scene as plain JSON types; the marks depend on the parameters and are left out."""
        told = {name: value for name, value in vars(self).items() if name not in ("knobs", "marks")}
        return told | {"knobs": [vars(knob) for knob in self.knobs]}
