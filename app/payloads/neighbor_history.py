"""Neighbors over time: the nearest neighbors of one image at every snapshot of a training."""

from typing import Any

import numpy as np

from app.payloads.query import QueryResult, trajectory
from app.payloads.sprites import ImageTiles
from app.runtime.services import Services
from dmlviz.errors import UserError
from dmlviz.process_setup import limit_faiss_to_one_thread
from dmlviz.runs.run import Run

MAX_NEIGHBORS = 30


def neighbor_history(run: Run, item: int, k: int, metric: str, tiles: ImageTiles, services: Services) -> dict[str, Any]:
    """Find the k tracked images nearest to test image `item` at every snapshot and at the end of the run.

    Args:
        run: The run.
        item: Index of a test image.
        k: Number of neighbors, at most `MAX_NEIGHBORS`.
        metric: "euclidean" or "cosine".
        tiles: All test images, to embed `item` where it is not tracked.
        services: Where the inference worker is.

    Returns:
        `NeighborHistory` of the protocol; "among" is the number of tracked images, "nets" whether checkpoints embedded
        the image, "near" has k pairs (item, distance) per step.

    Raises:
        UserError: If the image does not exist, or is neither tracked nor can be embedded by checkpoints.
    """
    labels, tracked = run.labels, run.tracked_indices
    if labels is None or tracked is None or not 0 <= item < len(labels):
        raise UserError(f"{run.title} has no test image {item}.")
    if not 1 <= k <= MAX_NEIGHBORS or metric not in ("euclidean", "cosine"):
        raise UserError(f"A neighbor history has up to {MAX_NEIGHBORS} neighbors, by euclidean or cosine distance.")
    row = int(np.searchsorted(tracked, item))
    is_tracked = row < len(tracked) and tracked[row] == item
    if is_tracked:
        points = {step: run.snapshot(step)[row] for step in run.snapshot_steps}
    elif run.checkpoint_steps and run.embeddings is not None and item < len(tiles.images):
        answer = services.jobs.embed(run.id, tiles.images[item][None], views=[], trajectory=True)
        points = {point.step: point.embedding for point in trajectory(answer)}
    else:
        raise UserError(
            f"No history for test image {item:,}: it is not among the {len(tracked):,} tracked images, and no "
            "checkpoints were saved. Pin an image that is on the map at an earlier frame."
        )
    history = _history(run, points, None if run.embeddings is None else run.embeddings[item], k, metric, item)
    return {"item": item, "label": int(labels[item]), "among": len(tracked), "nets": not is_tracked} | history


def query_neighbor_history(run: Run, answer: QueryResult, k: int) -> dict[str, Any] | None:
    """As `neighbor_history`, for a query image: "item" is None, "label" the predicted class. None if not possible."""
    tracked = run.tracked_indices
    if tracked is None or not answer.trajectory:
        return None
    points = {point.step: point.embedding for point in answer.trajectory}
    history = _history(run, points, answer.embedding, k, "euclidean")
    return {"item": None, "label": answer.label, "among": len(tracked), "nets": True} | history


def _history(
    run: Run, points: dict[int, np.ndarray], last: np.ndarray | None, k: int, metric: str, item: int | None = None
) -> dict[str, Any]:
    """Find the neighbors of an embedding at each step of `points` (step → d), and of `last` (d) at the end."""
    labels, tracked, embeddings, end = run.labels, run.tracked_indices, run.embeddings, run.end
    assert labels is not None  # a run with embeddings has labels and tracked images
    assert tracked is not None
    limit_faiss_to_one_thread()
    neighbors = {step: _nearest(run.snapshot(step), point, k, metric, item, tracked) for step, point in points.items()}
    if embeddings is not None and last is not None and end is not None:
        neighbors[end["step"]] = _nearest(np.asarray(embeddings)[tracked], last, k, metric, item, tracked)
    steps = sorted(neighbors)
    return {
        "steps": steps,
        "near": [neighbors[step] for step in steps],
        "labels": {str(neighbor): int(labels[neighbor]) for step in steps for neighbor, _ in neighbors[step]},
    }


def _nearest(
    points: np.ndarray, point: np.ndarray, k: int, metric: str, item: int | None, tracked: np.ndarray
) -> list[tuple[int, float]]:
    """Find the k tracked `points` (n × d) nearest to `point` (d), without `item` itself."""
    from dmlviz.ops.nearest_neighbors import NearestNeighbors

    distances, rows = NearestNeighbors(points, metric).search(point, k + 1)
    near = zip(tracked[rows[0]].tolist(), distances[0].tolist(), strict=True)
    return [(other, float(f"{distance:.4g}")) for other, distance in near if other != item][:k]
