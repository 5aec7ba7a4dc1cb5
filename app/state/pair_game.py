"""Ten pairs of pictures that a visitor of a lab is asked about: one identity or two?"""

from dataclasses import dataclass, field

import numpy as np

ROUNDS = 10  # half of them of one identity


@dataclass
class PairGame:
    """A game: which pairs, and what was said so far.

    Attributes:
        same: Whether each pair of the list is of one identity.
        order: Numbers of the pairs asked about.
        said: What was said so far: True for "the same".
    """

    same: np.ndarray
    order: list[int]
    said: list[bool] = field(default_factory=list)

    @classmethod
    def new(cls, same: np.ndarray, seed: int, rounds: int = ROUNDS) -> "PairGame":
        """Draw as many pairs of one identity as of two, in random order."""
        rng = np.random.default_rng(seed)
        kinds = (np.flatnonzero(same), np.flatnonzero(~same))
        drawn = np.concatenate([rng.choice(kind, rounds // 2, replace=False) for kind in kinds])
        return cls(np.asarray(same), rng.permutation(drawn).tolist())

    @property
    def current(self) -> int | None:
        """Number of the pair that is asked about now; None at the end."""
        return self.order[len(self.said)] if len(self.said) < len(self.order) else None

    def answer(self, number: int, said: bool) -> None:
        """Answer question `number`, from 0; an answer that comes twice counts once."""
        if len(self.said) == number:
            self.said.append(said)

    @property
    def right(self) -> int:
        """How many answers were right."""
        return sum(said == self.same[pair] for pair, said in zip(self.order, self.said, strict=False))

    @property
    def operating_point(self) -> tuple[float, float]:
        """False positive rate and recall of the answers so far; 0 where nothing of the kind was asked."""
        asked = [(bool(self.same[pair]), said) for pair, said in zip(self.order, self.said, strict=False)]
        rates = []
        for kind in (False, True):
            said = [answer for same, answer in asked if same == kind]
            rates.append(sum(said) / len(said) if said else 0.0)
        return rates[0], rates[1]

    def right_of(self, distances: np.ndarray, threshold: float) -> int:
        """How many of the asked pairs a threshold on the distance of each pair of the list gets right."""
        return int(np.sum((distances[self.order] < threshold) == self.same[self.order]))
