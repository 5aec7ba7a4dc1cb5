"""Confidence of the answer to a query image, in words, calibrated on images whose answers are known.

An image is strange by four distances: to its neighbors in the embedding; of its shape, which tells letters from digits
that a small net takes for the same; of the part that is strangest; and of its ink, which tells noise. How strange is
unusual, and how many neighbors must agree, follows from the calibration images (split conformal prediction: Vovk et al.
2005, chapter 4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

import numpy as np

NEIGHBORS = 10  # at most, whose distance and agreement are judged
UNLIKE = 0.01  # so many of the calibration images, at most, are unlike anything
NOT_SURE = 0.05  # so many are not sure, unless the neighbors of more disagree
RIGHT = 0.99  # of the sure ones have the right class; where no number of agreeing neighbors reaches it, the first of
LOWER_RIGHT = 0.95, 0.9  # these with which half of the calibration images are sure, else the last
ERRORS = 2.576  # standard errors below what was found, for one wrong promise in twenty with ten numbers of neighbors
Space = Literal["embedding", "shape", "part", "ink"]
# Of each distance in its usual spread.
WEIGHTS: dict[Space, float] = {"embedding": 0.3, "shape": 1.0, "part": 0.8, "ink": 0.6}
KNOWN_PART = 0.5  # usual spreads from which on the strangest part counts: that each is known excuses nothing
FARTHER: dict[Space, str] = {
    "embedding": "Farther from its neighbors than",
    "shape": "Farther in its shape from what is known of the class than",
    "part": "Farther in one of its parts from what is known of the class than",
    "ink": "Farther in its brightness, edges and size from what is known of the class than",
}

Level = Literal["sure", "unsure", "unlike"]


class Confidence(TypedDict):
    """The confidence of an answer.

    `title` gives the answer in two or three words, `sentence` the doubt (empty if there is none), `basis` the
    calibration images.
    """

    level: Level
    title: str
    sentence: str
    basis: str


class PackedCalibration(TypedDict):
    """A calibration for a page without a server.

    `distances` are those of the calibration images, ascending. Beyond the share `limit` of them an image is not sure,
    beyond `unlike` unlike anything; with fewer than `needed` neighbors that agree it is not sure, and `disagreement`
    says why, for one of them, two, …. `promise` says how often sure answers are right; empty for 99%.
    """

    distances: list[float]
    limit: float
    unlike: float
    needed: int
    promise: str
    disagreement: list[str]
    short: str
    basis: str


@dataclass(frozen=True)
class NeighborSignals:
    """Distances and classes of the neighbors of n images.

    Attributes:
        distances: Mean distance to the nearest images (n), in the embedding, and those of shape, parts and ink, if they
            are compared, as of `ShapeDistance`.
        label: Class of most neighbors (n).
        agreeing: Neighbors of that class (n).
        neighbors: Number of neighbors of each image.
    """

    distances: Mapping[Space, np.ndarray]
    label: np.ndarray
    agreeing: np.ndarray
    neighbors: int

    def __add__(self, other: "NeighborSignals") -> "NeighborSignals":
        both = {space: np.concatenate([known, other.distances[space]]) for space, known in self.distances.items()}
        label = np.concatenate([self.label, other.label])
        return NeighborSignals(both, label, np.concatenate([self.agreeing, other.agreeing]), self.neighbors)


def voting_neighbors(labels: np.ndarray) -> int:
    """Return how many neighbors vote among images of these classes: as many as a class has in the median, up to 10."""
    return int(min(NEIGHBORS, np.median(np.unique(labels, return_counts=True)[1])))


def vote(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of most neighbors, of the nearer one in a tie, and how many are of it.

    Args:
        labels: Class IDs of each image's neighbors (n × k), nearest first.
    """
    counts = (labels[:, :, None] == labels[:, None, :]).sum(axis=2)
    rank = counts.argmax(axis=1)  # the first of equal counts
    rows = np.arange(len(labels))
    return labels[rows, rank], counts[rows, rank]


@dataclass(frozen=True)
class Calibration:
    """Signals of images whose class is known, and the limits that follow from them.

    Args:
        signals: The neighbors of the calibration images.
        right: Whether each has a majority of its own class (n).
        basis: Name of these images, as in "1,000 validation images".
        short: The same in short, as in "validation images".
    """

    signals: NeighborSignals = field(repr=False)
    right: np.ndarray = field(repr=False)
    basis: str
    short: str

    def __post_init__(self) -> None:
        usual = {space: np.quantile(known, (0.16, 0.5, 0.84)) for space, known in self.signals.distances.items()}
        object.__setattr__(self, "_usual", usual)
        object.__setattr__(self, "_known", np.sort(self._excesses(self.signals).sum(axis=0)))
        strangeness, agreeing = self.strangeness(self.signals), self.signals.agreeing
        object.__setattr__(self, "_strangeness", np.sort(strangeness))
        alike = self._p_values(strangeness) > UNLIKE
        enough = [a for a in range(1, self.signals.neighbors + 1) if self._is_right(alike & (agreeing >= a))]
        needed, level = enough[0] if enough else self.signals.neighbors + 1, RIGHT
        values = np.sort(strangeness[agreeing >= needed])
        limit = float(values[top - 1]) if (top := self._most_sure(agreeing >= needed)) > 0 else -1.0
        if not enough:
            needed, limit, level = self._lower_level(strangeness)
        for name, value in {"needed": needed, "limit": limit, "level": level}.items():
            object.__setattr__(self, name, value)

    def _most_sure(self, agree: np.ndarray) -> int:
        """Return how many of the images whose neighbors agree may be sure: the others are too far away.

        Of m images like these n, m · (spare + 1) / (n + 1) are as far as those that are spared, or farther.
        """
        spare, least = (int(share * (len(agree) + 1)) - 1 for share in (NOT_SURE, UNLIKE))
        return int(agree.sum()) - max(spare - int((~agree).sum()), least, 0)

    def _lower_level(self, strangeness: np.ndarray) -> tuple[int, float, float]:
        """Return the needed neighbors and the limit with which most images are sure, and the level that these reach.

        They reach it if the share of right ones, less its error (Wilson 1927), does.
        """
        found: tuple[int, int, float, float] = 0, self.signals.neighbors + 1, -1.0, LOWER_RIGHT[-1]
        for level in LOWER_RIGHT:
            for needed in range(1, self.signals.neighbors + 1):
                rows = np.flatnonzero(self.signals.agreeing >= needed)
                rows = rows[np.argsort(strangeness[rows], kind="stable")]
                rows = rows[: max(self._most_sure(self.signals.agreeing >= needed), 0)]
                sure = np.arange(1, len(rows) + 1)
                reached = np.flatnonzero(_at_least(np.cumsum(self.right[rows]), sure) >= level) + 1
                if len(reached) and reached[-1] > found[0]:
                    found = int(reached[-1]), needed, float(strangeness[rows[reached[-1] - 1]]), level
            if found[0] >= len(strangeness) / 2:
                break
        return found[1:]

    needed: int = field(init=False)
    limit: float = field(init=False)
    level: float = field(init=False)
    _usual: dict[Space, np.ndarray] = field(init=False, repr=False)
    _known: np.ndarray = field(init=False, repr=False)
    _strangeness: np.ndarray = field(init=False, repr=False)

    def strangeness(self, signals: NeighborSignals) -> np.ndarray:
        """Return the share of calibration images that are less far from their neighbors, by all distances (n)."""
        below = np.searchsorted(self._known, self._excesses(signals).sum(axis=0), side="left")
        return np.asarray(below / len(self._known))

    def _excesses(self, signals: NeighborSignals) -> np.ndarray:
        """Return how much more than usual each distance is, in its usual spread, weighted (spaces × n)."""
        rows = []
        for space, (low, middle, high) in self._usual.items():
            excess = (signals.distances[space] - middle) / ((high - low) or 1)
            rows.append(WEIGHTS[space] * (np.maximum(excess, KNOWN_PART) if space == "part" else excess))
        return np.array(rows)

    def levels(self, signals: NeighborSignals) -> list[Level]:
        """Return how sure the answer to each image is."""
        strangeness = self.strangeness(signals)
        levels: list[Level] = []
        for strange, p, agreeing in zip(strangeness, self._p_values(strangeness), signals.agreeing, strict=True):
            sure = agreeing >= self.needed and strange <= self.limit
            levels.append("unlike" if p <= UNLIKE else "sure" if sure else "unsure")
        return levels

    def describe(self, signals: NeighborSignals, classes: Sequence[str]) -> list[Confidence]:
        """Return how sure the answers to images are, in words."""
        spaces = [*self.signals.distances]
        most = [spaces[place] for place in self._excesses(signals).argmax(axis=0)]
        rows = zip(self.levels(signals), self.strangeness(signals), most, signals.label, signals.agreeing, strict=True)
        return [
            self._in_words(level, float(strange), space, classes[int(label)], int(agreeing))
            for level, strange, space, label, agreeing in rows
        ]

    def packed(self) -> PackedCalibration:
        """Return what a page without a server needs to judge by the embedding alone."""
        n = len(self._strangeness)
        spare = int(UNLIKE * (n + 1)) - 1  # so many may be as strange
        return {
            "distances": [float(f"{distance:.6g}") for distance in np.sort(self.signals.distances["embedding"])],
            "limit": self.limit,
            "unlike": float(self._strangeness[n - 1 - spare]) if spare >= 0 else 1.0,
            "needed": self.needed,
            "promise": self._promise,
            "disagreement": [self._disagreement(agreeing) for agreeing in range(1, self.signals.neighbors + 1)],
            "short": self.short,
            "basis": f"Calibrated on {self.basis}.",
        }

    def _in_words(self, level: Level, strange: float, space: Space, name: str, agreeing: int) -> Confidence:
        titles = {"sure": f"Surely {name}", "unsure": f"Perhaps {name}", "unlike": "Unlike anything here"}
        share = "all" if strange >= 1 else f"{_percent(strange)} of the"
        reasons = []
        if level == "unlike":
            reasons.append(f"{FARTHER[space]} {share} {self.short}: these neighbors mean little.")
        if level == "sure" and self._promise:
            reasons.append(self._promise)
        # Where nothing can be sure, the limit is below all, and it is the neighbors' doing.
        if level == "unsure" and strange > self.limit and (self.limit >= 0 or agreeing >= self.needed):
            reasons.append(f"{FARTHER[space]} {share} {self.short}.")
        if level == "unsure" and agreeing < self.needed:
            reasons.append(self._disagreement(agreeing))
        return {
            "level": level,
            "title": titles[level],
            "sentence": " ".join(reasons),
            "basis": f"Calibrated on {self.basis}.",
        }

    @property
    def _promise(self) -> str:
        if self.level == RIGHT:
            return ""
        return f"Right in {_percent(self.level)} of such cases: {_percent(RIGHT)} is reached by no rule here."

    def _disagreement(self, agreeing: int) -> str:
        unanimous = self.signals.agreeing == self.signals.neighbors
        if agreeing == self.signals.neighbors and unanimous.any():
            share = _percent(float(self.right[unanimous].mean()))
            return f"All {agreeing} neighbors agree, but of such {self.short} only {share} were right."
        like = self.signals.agreeing <= agreeing
        words = f"{agreeing} of {self.signals.neighbors} neighbors agree: "
        if not like.any():
            return f"{words}all {self.short} have more."
        return (
            f"{words}of the {self.short} with as few or fewer, {_percent(float(self.right[like].mean()))} were right."
        )

    def _is_right(self, mask: np.ndarray) -> bool:
        return bool(mask.any()) and float(self.right[mask].mean()) >= RIGHT

    def _p_values(self, strangeness: np.ndarray) -> np.ndarray:
        """Return the chance that an image like those of the calibration is as strange (n)."""
        n = len(self._strangeness)
        as_strange = n - np.searchsorted(self._strangeness, strangeness, side="left")
        return np.asarray((as_strange + 1) / (n + 1))


def _at_least(right: np.ndarray, of: np.ndarray) -> np.ndarray:
    share, error = right / of, ERRORS**2 / of
    spread = np.sqrt(error * (share * (1 - share) + error / 4))
    return np.asarray((share + error / 2 - spread) / (1 + error))


def _percent(share: float) -> str:
    """Write a share as whole percent, rounded down: 100% is all."""
    return f"{int(100 * share + 1e-9)}%"
