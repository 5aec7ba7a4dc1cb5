"""Linear projections to 2-D or 3-D: identity, PCA, and class fan."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Self, get_args

import numpy as np

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.ops.precision import narrowed, origin
from dmlviz.storage.arrays import read_arrays, take

ProjectionKind = Literal["plane", "pca", "fan"]
MAX_FAN_CLASSES = 20  # more classes cannot be distinguished on a ring
_BLOCK_ROWS = 8192


@dataclass(frozen=True)
class LinearProjection:
    """A linear projection of embeddings: (x − mean) · componentsᵀ.

    Attributes:
        mean: d.
        components: Dims × d, orthonormal rows.
        explained_variance_ratio: Dims; each axis's share of the variance.
        kind: "plane" (identity), "pca" or "fan".

    Examples:
        >>> points = np.array([[0.0, 0, 0], [2, 0, 0], [0, 1, 0], [2, 1, 0]])
        >>> projection = LinearProjection.pca(points)
        >>> projection.explained_variance_ratio.round(2).tolist()
        [0.8, 0.2]
        >>> projection.project(points).shape
        (4, 2)
    """

    mean: np.ndarray
    components: np.ndarray
    explained_variance_ratio: np.ndarray
    kind: ProjectionKind

    @classmethod
    def pca(cls, embeddings: np.ndarray, dims: int = 2) -> Self:
        """Return the first `dims` principal axes of embeddings (n × d); the identity when d ≤ dims.

        Rows that are not finite are skipped. Axes are signed so that their largest loading is positive.
        """
        d = embeddings.shape[1]
        finite = embeddings[np.isfinite(embeddings).all(axis=1)]
        if d > dims and len(finite):
            return cls.joint_pca([finite], range(1, dims + 1))
        components = np.eye(dims, d)
        return cls(origin(finite), components, _explained(finite, components), "plane" if d <= dims else "pca")

    @classmethod
    def joint_pca(cls, epochs: Sequence[np.ndarray], axes: Sequence[int]) -> Self:
        """Return selected principal axes of one or several epochs together.

        Args:
            epochs: Embeddings of each epoch (each n × d).
            axes: Numbers of the principal axes, 1 for the largest variance. Axes beyond the d-th are zero.

        Returns:
            The projection; axes are signed so that their largest loading is positive.

        Raises:
            UserError: For no epochs, or epochs of different dimensions.
        """
        if len(epochs) == 0 or len({np.shape(epoch)[1] for epoch in epochs}) > 1:
            raise UserError("A joint PCA takes epochs of one embedding space; got none, or several dimensions.")
        d, count = epochs[0].shape[1], sum(len(epoch) for epoch in epochs)
        mean = sum(np.asarray(epoch).sum(axis=0, dtype=np.float64) for epoch in epochs) / count
        # In float32 where they came so, unless their squares are beyond it.
        epochs = [narrowed(epoch) if epoch.dtype == np.float32 else np.asarray(epoch, np.float64) for epoch in epochs]
        scatter = np.zeros((d, d))
        for epoch in epochs:
            for start in range(0, len(epoch), _BLOCK_ROWS):
                rows = epoch[start : start + _BLOCK_ROWS] - mean.astype(epoch.dtype)
                scatter += rows.T @ rows
        variances, directions = np.linalg.eigh(scatter)
        missing = max(0, max(axes) - d)
        variances = np.pad(np.maximum(variances[::-1], 0), (0, missing))
        directions = np.pad(directions.T[::-1], ((0, missing), (0, 0)))
        columns = [axis - 1 for axis in axes]
        components = directions[columns]
        explained = variances[columns] / max(variances.sum(), np.finfo(np.float64).tiny)
        largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
        return cls(mean, components * np.sign(largest), explained, "pca")

    @classmethod
    def class_fan(cls, embeddings: np.ndarray, labels: np.ndarray, dims: int = 2) -> Self:
        """Return the orthonormal projection that best maps class centers to evenly spaced directions.

        Most losses arrange the classes as a simplex; its class fan is a regular ring.

        Args:
            embeddings: n × d; rows that are not finite are skipped.
            labels: Class IDs (n); -1 for a point of unknown class, which the view is not chosen by.
            dims: 2 or 3.

        Raises:
            UserError: For fewer than dims + 1 classes or dimensions.

        Reference:
            Schönemann 1966 (orthogonal Procrustes problem).
        """
        usable = np.isfinite(embeddings).all(axis=1)
        finite, finite_labels = embeddings[usable].astype(np.float64), np.asarray(labels)[usable]
        classes = np.unique(labels)
        classes = classes[classes >= 0]
        if len(classes) <= dims or embeddings.shape[1] <= dims:
            raise UserError(
                f"A fan in {dims}-D needs more than {dims} classes and dimensions; "
                f"got {len(classes)} classes in {embeddings.shape[1]} dimensions: draw the PCA instead."
            )
        mean = finite.mean(axis=0) if len(finite) else np.zeros(embeddings.shape[1])
        members = (finite[finite_labels == label] for label in classes)
        centers = [points.mean(axis=0) if len(points) else mean for points in members]
        u, _, vt = np.linalg.svd(
            evenly_spaced_directions(len(classes), dims).T @ (np.stack(centers) - mean), full_matrices=False
        )
        return cls(mean, u @ vt, _explained(finite, u @ vt), "fan")

    def project(self, embeddings: np.ndarray) -> np.ndarray:
        """Return positions (n × dims, float32) of embeddings (n × d)."""
        with np.errstate(invalid="ignore", over="ignore"):
            centered = np.asarray(embeddings, np.float64) - self.mean
            return np.asarray(centered @ self.components.T, np.float32)

    def aligned_to(self, embeddings: np.ndarray, target: np.ndarray) -> "LinearProjection":
        """Rotate or mirror a PCA so that positions of `embeddings` come closest to `target` (Procrustes).

        Plane and fan are returned unchanged: their axes have a meaning. Call it on a PCA that was not rotated yet.

        Args:
            embeddings: n × d.
            target: Positions (n × dims), for example of the previous frame.
        """
        if self.kind != "pca":
            return self
        positions = self.project(embeddings)
        finite = np.isfinite(positions).all(axis=1) & np.isfinite(target).all(axis=1)
        if finite.sum() < 2:
            return self
        positions, target = positions[finite].astype(np.float64), target[finite].astype(np.float64)
        u, _, vt = np.linalg.svd((positions - positions.mean(axis=0)).T @ (target - target.mean(axis=0)))
        rotation = (u @ vt).T
        # Principal axes are uncorrelated, so that the variances along rotated axes follow from theirs.
        explained = rotation**2 @ self.explained_variance_ratio
        return LinearProjection(self.mean, rotation @ self.components, explained, self.kind)

    def save(self, file: IO[bytes]) -> None:
        """Write the projection as npz, without pickle."""
        np.savez(
            file, mean=self.mean, components=self.components, explained=self.explained_variance_ratio, view=self.kind
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file written by `save`; raise DamagedFileError for any other."""
        stored = read_arrays(path)
        mean, components, explained = (take(path, stored, name, "f") for name in ("mean", "components", "explained"))
        view = str(take(path, stored, "view", "U"))
        if view not in get_args(ProjectionKind) or not all(
            np.isfinite(part).all() for part in (mean, components, explained)
        ):
            raise DamagedFileError(path, "it is no linear projection")
        return cls(mean, components, explained, view)  # type: ignore[arg-type]


def display_dims(embedding_dim: int) -> int:
    """Return the dimensions of a run's default view: 3 for 3-D embeddings, otherwise 2."""
    return 3 if embedding_dim == 3 else 2


def default_kind(embedding_dim: int, classes: int) -> ProjectionKind:
    """Return the kind of a run's default view: the plane if it fits, else the class fan, else PCA."""
    dims = display_dims(embedding_dim)
    if embedding_dim <= dims:
        return "plane"
    return "fan" if dims < classes <= MAX_FAN_CLASSES else "pca"


def num_known(labels: np.ndarray) -> int:
    """Return the number of classes of labels, -1 for one that is unknown."""
    return len(np.unique(labels[labels >= 0]))


def default_projection(embeddings: np.ndarray, labels: np.ndarray | None) -> LinearProjection:
    """Return the projection of kind `default_kind` for embeddings (n × d) with labels (n, -1: unknown), if any."""
    classes = 0 if labels is None else num_known(labels)
    dims = display_dims(embeddings.shape[1])
    if labels is not None and default_kind(embeddings.shape[1], classes) == "fan":
        return LinearProjection.class_fan(embeddings, labels, dims)
    return LinearProjection.pca(embeddings, dims)


def evenly_spaced_directions(count: int, dims: int) -> np.ndarray:
    """Return `count` evenly spaced unit vectors (count × dims): clockwise from the top in 2-D, on a spiral in 3-D."""
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
    variances = ((finite - finite.mean(axis=0, dtype=np.float64)) @ components.T).var(axis=0)
    return variances / total if total > 0 else np.zeros(len(components))
