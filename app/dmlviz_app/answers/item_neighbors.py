"""Nearest neighbors of one image, as the inspector and the map show them: at the end, and at every snapshot."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.class_names import short_names
from dmlviz.errors import UserError
from dmlviz.ops.ball import curvature_of
from dmlviz.process_setup import limit_faiss_to_one_thread
from dmlviz.runs.run import Run
from dmlviz.runs.run_columns import has_columns, run_columns
from dmlviz_app.answers.protocol import ItemNeighbors, NeighborHistory, NeighborsOverTime
from dmlviz_app.answers.query import QueryResult, trajectory
from dmlviz_app.answers.sprites import image_tiles
from dmlviz_app.server.services import Services

if TYPE_CHECKING:
    import pyarrow

NEIGHBORS = 10
MOST_VALUES = 3  # of a neighbor, in its line
MAX_NEIGHBORS = 30


def item_neighbors(run: Run, item: int, metric: str, data: Path, step: int | None = None) -> ItemNeighbors:
    """Return a test image and its nearest neighbors, at the end of the run or at a snapshot.

    Args:
        run: The run.
        item: Index of the test image.
        metric: "euclidean" or "cosine".
        data: Folder of the data sets.
        step: The last snapshot up to this step is searched; by default the end, or while there is none the last one.

    Raises:
        UserError: If the image is not embedded there, or for another metric.
    """
    last = np.inf if step is None else step
    if run.embedded and last >= (run.end_step or 0):
        step = None
    else:
        step = max((kept for kept in run.snapshot_steps if kept <= last), default=None)
    neighbors = run.neighbors(item, NEIGHBORS, step, metric)  # type: ignore[arg-type]  # the search checks it
    assert run.labels is not None  # the search has read them
    label, names = int(run.labels[item]), short_names(DATASETS[run.config.dataset].classes)
    answer: ItemNeighbors = {
        "item": item,
        "label": label,
        "near": [(other, of, round(distance, 4)) for other, distance, of in neighbors],
        "classes": {str(of): names[of] for of in sorted({label, *(neighbor.label for neighbor in neighbors)})},
    }
    if step is not None:
        answer["step"] = step
    table = run_columns(run, data) if has_columns(run, data) else None
    if table is None:
        return answer
    if item < table.num_rows:
        answer["known"] = _known_values(table.slice(item, 1).to_pylist()[0])
    if not _has_pictures(run, data):
        answer["values"] = values_of_rows(table, [neighbor.item for neighbor in neighbors])
    return answer


def values_of_rows(table: "pyarrow.Table", items: list[int]) -> dict[str, str]:
    """Return by row the first values of a table in words, for rows without a picture."""
    return {
        str(item): " · ".join(f"{name} {word}" for name, word in _known_values(row)[:MOST_VALUES])
        for item, row in zip(items, table.take(np.array(items, np.int64)).to_pylist(), strict=True)  # perhaps none
    }


def _known_values(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return names and values of what is known of a row."""
    return [
        (name, f"{value:.6g}" if isinstance(value, float) else str(value))
        for name, value in row.items()
        if value is not None
    ]


def _has_pictures(run: Run, data: Path) -> bool:
    try:
        image_tiles(run.config.dataset, data)
    except UserError:
        return False
    return True


def neighbor_history(run: Run, item: int, k: int, metric: str, services: Services) -> NeighborHistory:
    """Find the k tracked images nearest to test image `item` at every snapshot and at the end of the run.

    Args:
        run: The run.
        item: Index of a test image.
        k: Number of neighbors, at most `MAX_NEIGHBORS`.
        metric: "euclidean" or "cosine".
        services: Access to the inference worker, and to the pictures, to embed `item` where it is not tracked.

    Returns:
        The history; "among" is the number of tracked images, "nets" whether checkpoints embedded
        the image, "near" has k pairs (item, distance) per step.

    Raises:
        UserError: If the image does not exist, or is neither tracked nor can be embedded by checkpoints.
    """
    labels, indices = run.labels, run.tracked_indices
    if labels is None or indices is None or not 0 <= item < len(labels):
        raise UserError(f"{run.title} has no test image {item:,}.")
    if not 1 <= k <= MAX_NEIGHBORS or metric not in ("euclidean", "cosine"):
        raise UserError(f"A neighbor history has up to {MAX_NEIGHBORS} neighbors, by euclidean or cosine distance.")
    row = int(np.searchsorted(indices, item))
    is_tracked = row < len(indices) and indices[row] == item
    if is_tracked:
        points = {step: run.snapshot(step)[row] for step in run.snapshot_steps}
    elif (
        run.checkpoint_steps
        and run.embeddings is not None
        and item < len(images := image_tiles(run.config.dataset, services.data).images)
    ):
        answer = services.jobs.embed(run.id, images[item][None], views=[], trajectory=True)
        points = {point.step: point.embedding for point in trajectory(answer)}
    else:
        raise UserError(
            f"No history for test image {item:,}: it is not among the {len(indices):,} tracked images, and no "
            "checkpoints were saved. Pin an image that is on the map at an earlier frame."
        )
    history = _history(run, points, None if run.embeddings is None else run.embeddings[item], k, metric, item)
    return NeighborHistory(
        item=item,
        label=int(labels[item]),
        among=len(indices),
        nets=not is_tracked,
        **history,
    )


def query_neighbor_history(run: Run, answer: QueryResult, k: int) -> NeighborHistory | None:
    """Return a `neighbor_history` of a query image: "item" is None, "label" the predicted class. None if impossible."""
    indices = run.tracked_indices
    if indices is None or not answer.trajectory:
        return None
    points = {point.step: point.embedding for point in answer.trajectory}
    history = _history(run, points, answer.embedding, k, "euclidean")
    return NeighborHistory(item=None, label=answer.label, among=len(indices), nets=True, **history)


def _history(
    run: Run, points: dict[int, np.ndarray], last: np.ndarray | None, k: int, metric: str, item: int | None = None
) -> NeighborsOverTime:
    """Find the neighbors of an embedding at each step of `points` (step → d), and of `last` (d) at the end."""
    labels, indices, embeddings, end = run.labels, run.tracked_indices, run.embeddings, run.end
    assert labels is not None  # a run with embeddings has labels and tracked images
    assert indices is not None
    limit_faiss_to_one_thread()
    neighbors = {step: _nearest(run.snapshot(step), point, k, metric, item, indices) for step, point in points.items()}
    if embeddings is not None and last is not None and end is not None:
        neighbors[end["step"]] = _nearest(np.asarray(embeddings)[indices], last, k, metric, item, indices)
    steps = sorted(neighbors)
    return {
        "curved": run.config.ball > 0,
        "steps": steps,
        "near": [neighbors[step] for step in steps],
        "labels": {str(neighbor): int(labels[neighbor]) for step in steps for neighbor, _ in neighbors[step]},
    }


def _nearest(
    points: np.ndarray, point: np.ndarray, k: int, metric: str, item: int | None, indices: np.ndarray
) -> list[tuple[int, float]]:
    """Find the k tracked `points` (n × d) nearest to `point` (d), without `item` itself."""
    from dmlviz.ops.nearest_neighbors import NearestNeighbors

    perhaps = _perhaps_near(points, point, k + 1, metric)
    distances, rows = NearestNeighbors(points[perhaps], metric).search(point, k + 1)
    near = zip(indices[perhaps[rows[0]]].tolist(), distances[0].tolist(), strict=True)
    return [(other, float(f"{distance:.4g}")) for other, distance in near if other != item][:k]


def _perhaps_near(points: np.ndarray, point: np.ndarray, k: int, metric: str) -> np.ndarray:
    """Return the rows of points (n × d) that may be among the k nearest to one: an index of all is a waste for it."""
    if curvature_of(points) and metric != "cosine":
        return np.arange(len(points))
    points, point = np.asarray(points), np.asarray(point)
    lengths = np.linalg.norm(points, axis=1) if metric == "cosine" else np.ones(1)
    if metric == "cosine":
        with np.errstate(invalid="ignore"):  # of infinite ones, which are looked for below
            points, point = points / np.maximum(lengths, 1e-30)[:, None], point / max(np.linalg.norm(point), 1e-30)
    difference = points - point
    squared = np.einsum("nd,nd->n", difference, difference)
    if len(squared) <= k or not np.isfinite(squared).all() or not lengths.all():
        return np.arange(len(squared))
    farthest = np.partition(squared, k - 1)[k - 1]
    if farthest < 1e-30:  # squares of so little are not precise
        return np.arange(len(squared))
    return np.flatnonzero(squared <= farthest * 1.001 + 1e-12 * (metric == "cosine"))  # far beyond what is rounded
