"""A gallery of known identities that grows and shrinks without training: it names a query's identity or "unknown"."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dmlviz.errors import UserError
from dmlviz.ops.nearest_neighbors import NearestNeighbors

Rule = Literal["nearest", "mean"]


@dataclass(frozen=True)
class Answers:
    """The identity found for each query; every attribute has m entries.

    Attributes:
        names: Name of the identity that is nearest to each query.
        distances: Euclidean distance to it.
        accepted: Whether that is within the threshold; otherwise the answer is "unknown".
    """

    names: tuple[str, ...]
    distances: np.ndarray
    accepted: np.ndarray


class Gallery:
    """Known identities, each with the embeddings of its pictures.

    Args:
        rule: Reference of the comparison: the "nearest" picture of each identity, or the "mean" of its pictures.

    Examples:
        >>> gallery = Gallery()
        >>> gallery.add("ann", [[0.0, 0.0]])
        >>> gallery.add("bob", [[4.0, 0.0], [4.0, 2.0]])
        >>> gallery.ask([[3.0, 0.0], [9.0, 0.0]], threshold=2.0).accepted.tolist()
        [True, False]
        >>> gallery.remove("bob")
        >>> gallery.ask([[3.0, 0.0]]).names
        ('ann',)
    """

    def __init__(self, rule: Rule = "nearest") -> None:
        if rule not in ("nearest", "mean"):
            raise UserError(f"A gallery compares with the nearest picture or the mean; got {rule!r}.")
        self.rule = rule
        self._embeddings: dict[str, np.ndarray] = {}
        self._search: NearestNeighbors | None = None
        self._names: list[str] = []

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of pictures of each identity, in the order in which they were added."""
        return {name: len(embeddings) for name, embeddings in self._embeddings.items()}

    def add(self, name: str, embeddings: Any) -> None:
        """Add pictures of an identity, which may be new.

        Args:
            name: The identity.
            embeddings: n × d, finite, n ≥ 1.

        Raises:
            UserError: For another shape than the pictures have that are there.
        """
        rows = np.asarray(embeddings, np.float64)
        width = next((known.shape[1] for known in self._embeddings.values()), None)
        if rows.ndim != 2 or not len(rows) or (width is not None and rows.shape[1] != width):
            raise UserError(
                f"Pictures of an identity are embeddings, n × {width or 'd'}; got an array of shape {rows.shape}: "
                "embed them with the same net."
            )
        if not np.isfinite(rows).all():
            raise UserError("An embedding is made of finite numbers; got NaN or infinity: choose another net.")
        self._embeddings[name] = np.concatenate([self._embeddings.get(name, rows[:0]), rows])
        self._search = None

    def remove(self, name: str) -> None:
        """Remove an identity with all of its pictures; raise UserError if it is not there."""
        if name not in self._embeddings:
            raise UserError(f"The gallery holds {', '.join(self._embeddings) or 'nobody'}; there is no {name!r}.")
        del self._embeddings[name]
        self._search = None

    def ask(self, queries: Any, threshold: float = np.inf) -> Answers:
        """Identify each query.

        Args:
            queries: m × d.
            threshold: A query farther than this from every identity is unknown.

        Raises:
            UserError: If the gallery is empty.
        """
        if not self._embeddings:
            raise UserError("The gallery is empty: add an identity first.")
        if self._search is None:
            rows = {
                name: known.mean(axis=0, keepdims=True) if self.rule == "mean" else known
                for name, known in self._embeddings.items()
            }
            self._names = [name for name, known in rows.items() for _ in known]
            self._search = NearestNeighbors(np.concatenate([*rows.values()]))
        distances, nearest = self._search.search(queries, 1)
        names = tuple(self._names[index] for index in nearest[:, 0])
        return Answers(names, distances[:, 0], distances[:, 0] <= threshold)
