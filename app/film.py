"""One image's neighbours over the training: the film-strip of who is nearest at every look."""

from typing import Any

import numpy as np

from app.pictures import Pictures
from app.query import Answer, stations
from app.services import Services
from dmlviz.errors import UserError
from dmlviz.record import Run

LONGEST = 30


def film_of(run: Run, item: int, k: int, metric: str, found: Pictures, services: Services) -> dict[str, Any]:
    """The k watched images nearest to test image `item` at every snapshot, and at the end of the run.

    {"item", "label", "among": how many are watched, "nets": whether the image is not watched and was embedded by the
    nets that were kept on the way, "steps", "near": for each step [item, distance] k times, "labels": of all of them by
    item}. Raises UserError for an image that is neither watched nor can be embedded.
    """
    labels, watched = run.labels, run.watched
    if labels is None or watched is None or not 0 <= item < len(labels):
        raise UserError(f"{run.title} has no test image {item}.")
    if not 1 <= k <= LONGEST or metric not in ("euclidean", "cosine"):
        raise UserError(f"A film-strip shows up to {LONGEST} neighbours by euclidean or cosine distance.")
    row = int(np.searchsorted(watched, item))
    is_watched = row < len(watched) and watched[row] == item
    if is_watched:
        points = {step: run.snapshot(step)[row] for step in run.snapshot_steps}
    elif run.kept_steps and run.embeddings is not None and item < len(found.images):
        answer = services.jobs.embed(run.id, found.images[item][None], views=[], way=True)
        points = {station.step: station.embedding for station in stations(answer)}
    else:
        raise UserError(
            f"Test image {item:,} is not among the {len(watched):,} that are watched while this run trains, and its "
            "net was kept at the end only: pin one that is on the map at an earlier frame."
        )
    strip = _strip(run, points, None if run.embeddings is None else run.embeddings[item], k, metric, item)
    return {"item": item, "label": int(labels[item]), "among": len(watched), "nets": not is_watched} | strip


def film_of_query(run: Run, answer: Answer, k: int) -> dict[str, Any] | None:
    """As `film_of`, of a picture of one's own, "item" being None and "label" its vote; None where it has no way."""
    watched = run.watched
    if watched is None or not answer.way:
        return None
    points = {station.step: station.embedding for station in answer.way}
    strip = _strip(run, points, answer.embedding, k, "euclidean")
    return {"item": None, "label": answer.label, "among": len(watched), "nets": True} | strip


def _strip(
    run: Run, points: dict[int, np.ndarray], last: np.ndarray | None, k: int, metric: str, item: int | None = None
) -> dict[str, Any]:
    """The nearest of a picture that lies at `points` on the way, by step, and at the end of the run at `last`."""
    labels, watched, embeddings, end = run.labels, run.watched, run.embeddings, run.end
    assert labels is not None  # who has points has labels and watched images
    assert watched is not None
    near = {step: _nearest(run.snapshot(step), point, k, metric, item, watched) for step, point in points.items()}
    if embeddings is not None and last is not None and end is not None:
        near[end["step"]] = _nearest(np.asarray(embeddings)[watched], last, k, metric, item, watched)
    steps = sorted(near)
    return {
        "steps": steps,
        "near": [near[step] for step in steps],
        "labels": {str(other): int(labels[other]) for step in steps for other, _ in near[step]},
    }


def _nearest(
    points: np.ndarray, point: np.ndarray, k: int, metric: str, item: int | None, watched: np.ndarray
) -> list[tuple[int, float]]:
    """The k of the watched `points` (n × d) nearest to `point`; `item` itself, if there is one, is left out."""
    if metric == "cosine":
        norms = np.linalg.norm(points, axis=1) * np.linalg.norm(point)
        far = 1 - points @ point / np.where(norms > 0, norms, 1)
    else:
        far = np.linalg.norm(points - point, axis=1)
    if item is not None:
        far = np.where(watched == item, np.inf, far)
    order = np.argsort(far, kind="stable")[:k]
    return [(int(watched[i]), float(f"{far[i]:.4g}")) for i in order if np.isfinite(far[i])]
