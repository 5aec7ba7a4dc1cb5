"""Neighbors over time: the nearest neighbors of one image at every snapshot of a training."""

from typing import Any

import numpy as np

from app.payloads.query import QueryResult, trajectory
from app.payloads.sprites import TestImages
from app.runtime.services import Services
from dmlviz.errors import UserError
from dmlviz.runs.run import Run

MAX_NEIGHBORS = 30


def neighbor_history(run: Run, item: int, k: int, metric: str, found: TestImages, services: Services) -> dict[str, Any]:
    """The k tracked images nearest to test image `item` at every snapshot, and at the end of the run.

    {"item", "label", "among": how many are tracked, "nets": whether the image is not tracked and was embedded by the
    nets that were kept on the way, "steps", "near": for each step [item, distance] k times, "labels": of all of them by
    item}. Raises UserError for an image that is neither tracked nor can be embedded.
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
    elif run.checkpoint_steps and run.embeddings is not None and item < len(found.images):
        answer = services.jobs.embed(run.id, found.images[item][None], views=[], way=True)
        points = {station.step: station.embedding for station in trajectory(answer)}
    else:
        raise UserError(
            f"Test image {item:,} is not among the {len(tracked):,} that are tracked while this run trains, and its "
            "net was kept at the end only: pin one that is on the map at an earlier frame."
        )
    strip = _history(run, points, None if run.embeddings is None else run.embeddings[item], k, metric, item)
    return {"item": item, "label": int(labels[item]), "among": len(tracked), "nets": not is_tracked} | strip


def query_neighbor_history(run: Run, answer: QueryResult, k: int) -> dict[str, Any] | None:
    """As `neighbor_history`, of a picture of one's own, "item" being None and "label" its vote; None where it has no way."""
    tracked = run.tracked_indices
    if tracked is None or not answer.trajectory:
        return None
    points = {station.step: station.embedding for station in answer.trajectory}
    strip = _history(run, points, answer.embedding, k, "euclidean")
    return {"item": None, "label": answer.label, "among": len(tracked), "nets": True} | strip


def _history(
    run: Run, points: dict[int, np.ndarray], last: np.ndarray | None, k: int, metric: str, item: int | None = None
) -> dict[str, Any]:
    """The nearest of a picture that lies at `points` on the way, by step, and at the end of the run at `last`."""
    labels, tracked, embeddings, end = run.labels, run.tracked_indices, run.embeddings, run.end
    assert labels is not None  # who has points has labels and tracked images
    assert tracked is not None
    near = {step: _nearest(run.snapshot(step), point, k, metric, item, tracked) for step, point in points.items()}
    if embeddings is not None and last is not None and end is not None:
        near[end["step"]] = _nearest(np.asarray(embeddings)[tracked], last, k, metric, item, tracked)
    steps = sorted(near)
    return {
        "steps": steps,
        "near": [near[step] for step in steps],
        "labels": {str(other): int(labels[other]) for step in steps for other, _ in near[step]},
    }


def _nearest(
    points: np.ndarray, point: np.ndarray, k: int, metric: str, item: int | None, tracked: np.ndarray
) -> list[tuple[int, float]]:
    """The k of the tracked `points` (n × d) nearest to `point`; `item` itself, if there is one, is left out."""
    if metric == "cosine":
        norms = np.linalg.norm(points, axis=1) * np.linalg.norm(point)
        far = 1 - points @ point / np.where(norms > 0, norms, 1)
    else:
        far = np.linalg.norm(points - point, axis=1)
    if item is not None:
        far = np.where(tracked == item, np.inf, far)
    order = np.argsort(far, kind="stable")[:k]
    return [(int(tracked[i]), float(f"{far[i]:.4g}")) for i in order if np.isfinite(far[i])]
