"""Linear pictures of an embedding space: the space itself, its principal axes, or its classes fanned out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Self, get_args

import numpy as np

from dmlviz.arrays import read_arrays, take
from dmlviz.errors import DamagedFileError, UserError

View = Literal["plane", "pca", "fan"]
MOST_FANNED = 20  # more classes than this are no longer told apart on a ring
_BLOCK = 8192


@dataclass(frozen=True)
class Basis:
    """A linear map from the embedding space to the picture: (x − mean) · componentsᵀ.

    `mean` (d), `components` (dims × d, orthonormal rows), `explained` (dims) the share of the variance on each axis;
    `view` is what the picture is called.
    """

    mean: np.ndarray
    components: np.ndarray
    explained: np.ndarray
    view: View

    @classmethod
    def fit(cls, embeddings: np.ndarray, dims: int = 2) -> Self:
        """The space itself when it has no more than `dims` dimensions, otherwise the first principal axes.

        Rows that are not finite are left out. The sign of an axis makes its largest entry positive.
        """
        d = embeddings.shape[1]
        finite = embeddings[np.isfinite(embeddings).all(axis=1)]
        if d > dims and len(finite):
            return cls.principal([finite], range(1, dims + 1))
        components = np.eye(dims, d)
        return cls(np.zeros(d), components, _explained(finite, components), "plane" if d <= dims else "pca")

    @classmethod
    def principal(cls, epochs: Sequence[np.ndarray], axes: Sequence[int]) -> Self:
        """The principal axes of those numbers, 1 being the widest, of one or several epochs (each n × d) together.

        Each points to where its largest loading is positive, so that equal data give equal maps. Axes beyond the d-th
        are zero. Raises UserError for no epochs, or epochs of several spaces.
        """
        if len(epochs) == 0 or len({np.shape(epoch)[1] for epoch in epochs}) > 1:
            raise UserError("A joint PCA takes epochs of one embedding space; got none, or several dimensions.")
        d, count = epochs[0].shape[1], sum(len(epoch) for epoch in epochs)
        mean = sum(np.asarray(epoch).sum(axis=0, dtype=np.float64) for epoch in epochs) / count
        scatter = np.zeros((d, d))
        for epoch in epochs:
            for start in range(0, len(epoch), _BLOCK):
                rows = np.asarray(epoch[start : start + _BLOCK], np.float32) - mean.astype(np.float32)
                scatter += rows.T @ rows
        variances, directions = np.linalg.eigh(scatter)
        missing = max(0, max(axes) - d)
        variances = np.pad(np.maximum(variances[::-1], 0), (0, missing))
        directions = np.pad(directions.T[::-1], ((0, missing), (0, 0)))
        chosen = [axis - 1 for axis in axes]
        components, explained = directions[chosen], variances[chosen] / max(variances.sum(), np.finfo(np.float64).tiny)
        largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
        return cls(mean, components * np.sign(largest), explained, "pca")

    @classmethod
    def fan(cls, embeddings: np.ndarray, labels: np.ndarray, dims: int = 2) -> Self:
        """The orthonormal view in which the class centres come nearest to evenly spread directions, class by class.

        A simplex, which is what most losses make of the classes, lands as a regular ring. It is the orthogonal
        Procrustes problem (Schönemann 1966) between the centres and `directions`. Rows that are not finite are left
        out. Raises UserError for fewer than dims + 1 classes or no more than `dims` dimensions.
        """
        usable = np.isfinite(embeddings).all(axis=1)
        finite, known = embeddings[usable].astype(np.float64), np.asarray(labels)[usable]
        classes = np.unique(labels)
        if len(classes) <= dims or embeddings.shape[1] <= dims:
            raise UserError(
                f"A fan in {dims}-D needs more than {dims} classes and dimensions; "
                f"got {len(classes)} classes in {embeddings.shape[1]} dimensions: draw the PCA instead."
            )
        mean = finite.mean(axis=0) if len(finite) else np.zeros(embeddings.shape[1])
        centres = [finite[known == label].mean(axis=0) if (known == label).any() else mean for label in classes]
        u, _, vt = np.linalg.svd(directions(len(classes), dims).T @ (np.stack(centres) - mean), full_matrices=False)
        return cls(mean, u @ vt, _explained(finite, u @ vt), "fan")

    def project(self, embeddings: np.ndarray) -> np.ndarray:
        """Positions (n × dims, float32) of embeddings (n × d)."""
        with np.errstate(invalid="ignore", over="ignore"):
            return ((np.asarray(embeddings, np.float64) - self.mean) @ self.components.T).astype(np.float32)

    def turned_to(self, embeddings: np.ndarray, target: np.ndarray) -> "Basis":
        """The same picture, rotated or mirrored so that `embeddings` land as near `target` as they can (Procrustes).

        Plane and fan stay as they are: there the axes are the space itself, or the classes give the direction. Meant
        for a basis fresh from `fit`.
        """
        if self.view != "pca":
            return self
        placed = self.project(embeddings)
        known = np.isfinite(placed).all(axis=1) & np.isfinite(target).all(axis=1)
        if known.sum() < 2:
            return self
        placed, target = placed[known].astype(np.float64), target[known].astype(np.float64)
        u, _, vt = np.linalg.svd((placed - placed.mean(axis=0)).T @ (target - target.mean(axis=0)))
        turn = (u @ vt).T
        # Principal axes are uncorrelated, so that the variances along turned ones follow from those along the first.
        return Basis(self.mean, turn @ self.components, turn**2 @ self.explained, self.view)

    def save(self, file: IO[bytes]) -> None:
        """Write mean, components and explained as npz (no pickle)."""
        np.savez(file, mean=self.mean, components=self.components, explained=self.explained, view=self.view)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote; raise DamagedFileError for anything else."""
        stored = read_arrays(path)
        mean, components, explained = (take(path, stored, name, "f") for name in ("mean", "components", "explained"))
        view = str(take(path, stored, "view", "U"))
        if view not in get_args(View) or not all(np.isfinite(part).all() for part in (mean, components, explained)):
            raise DamagedFileError(path, "it is no linear picture")
        return cls(mean, components, explained, view)  # type: ignore[arg-type]


def native_dims(embedding_dim: int) -> int:
    """Dimensions of the picture that a run plays: three for a space of three, otherwise two."""
    return 3 if embedding_dim == 3 else 2


def native_view(embedding_dim: int, classes: int) -> View:
    """The picture that a run plays: its space where that can be drawn as it is, else its fan, else its PCA."""
    dims = native_dims(embedding_dim)
    if embedding_dim <= dims:
        return "plane"
    return "fan" if dims < classes <= MOST_FANNED else "pca"


def native(embeddings: np.ndarray, labels: np.ndarray | None) -> Basis:
    """The basis of `native_view` for embeddings (n × d) with their labels (n), if these are known."""
    classes = 0 if labels is None else len(np.unique(labels))
    dims = native_dims(embeddings.shape[1])
    if labels is not None and native_view(embeddings.shape[1], classes) == "fan":
        return Basis.fan(embeddings, labels, dims)
    return Basis.fit(embeddings, dims)


def directions(count: int, dims: int) -> np.ndarray:
    """`count` unit vectors (count × dims, dims 2 or 3) spread evenly: clockwise from the top, or along a spiral."""
    if dims == 2:
        angle = 2 * np.pi * np.arange(count) / count
        return np.stack([np.sin(angle), np.cos(angle)], axis=1)
    height = 1 - (2 * np.arange(count) + 1) / count
    angle = np.pi * (1 + np.sqrt(5)) * np.arange(count)
    radius = np.sqrt(1 - height**2)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)


def _explained(finite: np.ndarray, components: np.ndarray) -> np.ndarray:
    if len(finite) == 0:
        return np.zeros(len(components))
    total = finite.var(axis=0, dtype=np.float64).sum()
    along = (finite.astype(np.float64) @ components.T).var(axis=0)
    return along / total if total > 0 else np.zeros(len(components))
