"""Per-point values to color the map by: faithfulness, distance to the class center, training dynamics."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.class_names import known_labels
from dmlviz.errors import MISSING, DamagedFileError
from dmlviz.ops.ball import curvature_of, from_sums, hyperboloid
from dmlviz.ops.squared_distances import squared_differences
from dmlviz.ops.training_dynamics import spread, training_dynamics
from dmlviz.runs.projection_run import projected_embeddings, projected_items
from dmlviz.runs.run import ProjectionRun, Run

DYNAMICS = ("confidence", "variability", "forgotten")
POINT_MEASURES = ("faithfulness", "center", *DYNAMICS)
NEIGHBORS = 10
MOST_NETS, FEWEST_NETS = 12, 3  # whose neighbors the training dynamics are about


def point_measures(run: Run, projection: ProjectionRun | None) -> tuple[str, ...]:
    """Return the measures that have values: at the end of the run, or for one epoch once its map has finished."""
    try:
        if not run.embedded or run.linear_projection is None:
            return ()
        if projection is not None and projection.coordinates is None:
            return ()
        dynamics = len(_trained_steps(run)) >= FEWEST_NETS and len(DATASETS[run.config.dataset].classes) > 1
        return POINT_MEASURES if dynamics else POINT_MEASURES[:2]
    except DamagedFileError:
        return ()


def _trained_steps(run: Run) -> list[int]:
    return [step for step in run.embedded_steps if step]


def point_values(run: Run, projection: ProjectionRun | None, measure: str) -> np.ndarray:
    """Return a number for each test image, at the epoch that is drawn.

    Args:
        run: The run.
        projection: The projection on the map; None for the run's own view.
        measure: One of `point_measures`: "faithfulness", the share of an image's 10 nearest neighbors in the embedding
            that are among its 10 nearest on the map; "center", its distance to the mean of its class in the embedding;
            or those of `dmlviz.ops.training_dynamics` over the snapshots, which the tracked images have.

    Returns:
        n float32, NaN for an image without a value.
    """
    stamp = (run.info["created"], None if projection is None else projection.id)
    if measure in DYNAMICS:
        return _dynamics(str(run.path), stamp)[measure]
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


@lru_cache(maxsize=8)
def _dynamics(run_path: str, stamp: object) -> dict[str, np.ndarray]:
    from dmlviz.ops.nearest_neighbors import NearestNeighbors

    run = Run(Path(run_path))
    assert run.labels is not None  # it is measurable
    assert run.tracked_indices is not None
    tracked, neighbors = run.tracked_indices, []
    for step in spread(_trained_steps(run), MOST_NETS):
        embeddings, labels = run.embeddings_at(step)
        neighbors.append(NearestNeighbors(embeddings).others(min(NEIGHBORS, len(labels) - 1))[1])
    found = training_dynamics(neighbors, labels)
    values = {measure: np.full(len(run.labels), np.nan, np.float32) for measure in DYNAMICS}
    for measure, all_values in values.items():
        all_values[tracked] = np.where(run.known_labels[tracked] >= 0, getattr(found, measure), np.nan)
    return values


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
