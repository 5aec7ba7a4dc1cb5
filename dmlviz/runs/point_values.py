"""Per-point values to color the map by: faithfulness, distance to the class center."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.class_names import known_labels
from dmlviz.errors import MISSING, DamagedFileError
from dmlviz.ops.ball import curvature_of, from_sums, hyperboloid
from dmlviz.ops.squared_distances import squared_differences
from dmlviz.runs.projection_run import projected_embeddings, projected_items
from dmlviz.runs.run import ProjectionRun, Run

POINT_MEASURES = ("faithfulness", "center")
NEIGHBORS = 10


def has_point_values(run: Run, projection: ProjectionRun | None) -> bool:
    """Return whether there are values: at the end of the run, or for one epoch once its map has finished."""
    try:
        if not run.embedded or run.linear_projection is None:
            return False
        return projection is None or projection.coordinates is not None
    except DamagedFileError:
        return False


def point_values(run: Run, projection: ProjectionRun | None, measure: str) -> np.ndarray:
    """Return a number for each test image, at the epoch that is drawn.

    Args:
        run: The run, of which `has_point_values` is true.
        projection: The projection on the map; None for the run's own view.
        measure: "faithfulness", the share of an image's 10 nearest neighbors in the embedding that are among its 10
            nearest on the map; or "center", its distance to the mean of its class in the embedding.

    Returns:
        n float32, NaN for an image without a value.
    """
    stamp = (run.info["created"], None if projection is None else projection.id)
    return _values(str(run.path), None if projection is None else str(projection.path), measure, stamp)


@lru_cache(maxsize=32)
def _values(run_path: str, projection_path: str | None, measure: str, stamp: object) -> np.ndarray:
    """Return the values; `stamp` distinguishes a run that was trained again from the one before."""
    run, projection = Run(Path(run_path)), None if projection_path is None else ProjectionRun(Path(projection_path))
    step = None if projection is None else projection.config.step
    embeddings, labels = (
        run.embeddings_at(step) if projection is None else projected_embeddings(run, projection.config, step)
    )
    if measure == "center":
        values = distances_to_centers(embeddings, known_labels(labels, DATASETS[run.config.dataset].classes))
    else:
        values = _knn_recall(run, embeddings) if projection is None else _map_quality(projection)
    if projection is None:
        return values
    all_values = np.full(len(run.labels if run.labels is not None else ()), np.nan, np.float32)
    all_values[projected_items(run, projection.config)] = values
    return all_values


def _map_quality(projection: ProjectionRun) -> np.ndarray:
    values = projection.quality.get("neighbors_kept")
    if values is None:
        raise DamagedFileError(projection.path / "faithfulness.npz", MISSING)
    return values


def distances_to_centers(embeddings: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Distance of each embedding (n × d) to the mean of its class (n); NaN for one of no class, -1."""
    _, index = np.unique(labels, return_inverse=True)
    curvature = curvature_of(embeddings)
    summed = hyperboloid(embeddings) if curvature else np.asarray(embeddings)
    sums = np.zeros((index.max() + 1, summed.shape[1]))
    np.add.at(sums, index, summed)
    centers = from_sums(sums, curvature) if curvature else sums / np.bincount(index)[:, None]
    squared = squared_differences(embeddings, centers, np.arange(len(index)), index)
    return np.where(labels >= 0, np.sqrt(squared).astype(np.float32), np.nan)


def _knn_recall(run: Run, embeddings: np.ndarray) -> np.ndarray:
    from dmlviz.ops.nearest_neighbors import NearestNeighbors

    assert run.linear_projection is not None  # it is measurable
    k = min(NEIGHBORS, len(embeddings) - 1)
    in_embedding, on_map = (
        NearestNeighbors(space).others(k)[1] for space in (embeddings, run.linear_projection.project(embeddings))
    )
    recall: np.ndarray = (in_embedding[:, :, None] == on_map[:, None, :]).any(axis=2).mean(axis=1)
    return recall
