"""The linear projections: learned space, class fan, PCA. No torch."""

import numpy as np

from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.precision import origin
from dmlviz.projection.registry import REGISTRY, Layout, Method, Request


def _layout(basis: LinearProjection, rows: np.ndarray) -> Layout:
    return Layout(basis.project(rows), explained=tuple(basis.explained_variance_ratio.tolist()))


@REGISTRY.register("plane")
class LearnedSpace(Method):
    """The embedding's own dimensions, with zeros where the map has more."""

    def fit(self, rows: np.ndarray, request: Request) -> Layout:
        """Return the embeddings as they are, from their mean where an offset leaves float32 no digits."""
        coordinates = np.zeros((len(rows), request.config.dims), np.float32)
        coordinates[:, : rows.shape[1]] = rows - origin(rows)
        variances = coordinates.var(axis=0, dtype=np.float64)
        explained = variances / max(variances.sum(), np.finfo(np.float64).tiny)
        return Layout(coordinates, explained=tuple(explained.tolist()))


@REGISTRY.register("fan")
class ClassFan(Method):
    """The view in which the class centers fan out."""

    def fit(self, rows: np.ndarray, request: Request) -> Layout:
        """Return the view for these labels."""
        assert request.labels is not None  # the spec says that it needs them
        return _layout(LinearProjection.class_fan(rows, request.labels, request.config.dims), rows)


@REGISTRY.register("pca")
class PCA(Method):
    """Principal components, of one epoch or of all."""

    def fit(self, rows: np.ndarray, request: Request) -> Layout:
        """Return the components on the axes."""
        epochs = [rows] if request.fitted_to is None else request.fitted_to
        return _layout(LinearProjection.joint_pca(epochs, request.config.axes), rows)
