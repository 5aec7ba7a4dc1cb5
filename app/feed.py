"""What Python tells each component: small plain JSON, mostly addresses; positions and pictures go by HTTP."""

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import numpy as np

from app import media
from app.query import Answer
from app.shown import Shown
from app.state import LIVE, UIState
from dmlviz.data.declared import DATASETS
from dmlviz.record import Neighbour, Run

_NO_SPRITES = {"urls": [], "tile": 28, "columns": 100, "per_sheet": 10_000}


def source(shown: Shown, routes: bool) -> dict[str, Any]:
    """Which run and view are shown and where their events are, for every component that follows them."""
    run, drawing = shown.run, shown.drawing
    view = drawing.id if drawing is not None else LIVE
    path = f"projections/{drawing.id}/events" if drawing is not None else "events"
    url = f"/api/runs/{run.id}/{path}?begun={begun(shown)}" if routes else None
    return {"run": run.id, "view": view, "begun": begun(shown), "events_url": url}


def stream_of(shown: Shown) -> str:
    """One name for the events of what is shown."""
    return f"{shown.run.id}/{shown.drawing.id if shown.drawing is not None else LIVE}/{begun(shown)}"


def begun(shown: Shown) -> str:
    """When what is shown was begun, as digits: the same request, made again, is another stream."""
    if shown.drawing is not None:
        return str((shown.drawing.path / "projection.json").stat().st_mtime_ns)
    return "".join(letter for letter in shown.run.info["created"] if letter.isdigit())


def pictures(shown: Shown, routes: bool) -> dict[str, Any]:
    """Classes, labels and tiles of the test images."""
    run, found = shown.run, shown.pictures
    facts = {"dataset": run.config.dataset, "classes": list(DATASETS[run.config.dataset].classes)}
    if found is None:
        labels = run.labels
        known = [] if labels is None else [int(label) for label in labels]
        return facts | {"n": len(known), "labels": known, "sprites": _NO_SPRITES}
    return facts | (found.describe() if routes else media.describe(found))


def map_data(
    shown: Shown, ui: UIState, neighbours: list[Neighbour], answer: Answer | None, routes: bool
) -> dict[str, Any]:
    """The map: where frames, labels and tiles come from, what is pinned and linked."""
    data = source(shown, routes) | pictures(shown, routes)
    place = answer.places.get(data["view"]) if answer is not None else None
    about = f"/api/runs/{shown.run.id}"
    version = f"?begun={begun(shown)}"
    return data | {
        "watched_url": f"{about}/layout.json{version}" if routes else None,
        "watched": None if routes else _watched(shown.run),
        "nearest_url": f"{about}/nearest.bin{version}" if routes and shown.complete else None,
        "pinned": ui.pinned,
        "neighbours": _named(neighbours),
        "query": None if answer is None or place is None else {"xy": place, "neighbours": _named(answer.neighbours)},
        "colour": "class",
        "autoplay": not shown.live and shown.drawing is None,
        "running": shown.drawing_live if shown.drawing is not None else shown.live,
    }


def pinned_data(shown: Shown, item: int, neighbours: list[Neighbour], routes: bool) -> dict[str, Any]:
    """The inspector of a pinned test image."""
    labels = shown.run.labels
    label = int(labels[item]) if labels is not None and item < len(labels) else None
    where = f"{_count(shown.run):,} test images" if shown.complete else "watched test images, at the last snapshot"
    return pictures(shown, routes) | {
        "run": shown.run.id,
        "subject": {"item": item, "label": label},
        "neighbours": _named(neighbours),
        "caption": f"Test image {item:,}; nearest in the embedding, among the {where}",
    }


def answer_data(shown: Shown, answer: Answer, routes: bool) -> dict[str, Any]:
    """The inspector of a drawn or uploaded picture."""
    classes = DATASETS[shown.run.config.dataset].classes
    return pictures(shown, routes) | {
        "run": shown.run.id,
        "subject": picture(answer.steps[-1].image),
        "neighbours": _named(answer.neighbours),
        "vote": {"label": answer.label},
        "title": f"Looks like {classes[answer.label]}",
        "caption": f"Nearest in the embedding, among the {_count(shown.run):,} test images",
        "steps": [{"caption": step.caption} | picture(small(step.image)) for step in answer.steps],
        "far": answer.far,
    }


def picture(grey: np.ndarray) -> dict[str, Any]:
    """A grey picture (uint8, h × w) as JSON."""
    return {"ink": b64encode(grey.tobytes()).decode(), "width": int(grey.shape[1]), "height": int(grey.shape[0])}


def small(grey: np.ndarray, side: int = 56) -> np.ndarray:
    """At most `side` pixels a side, by leaving out rows and columns: enough for a thumbnail of 44."""
    every = max(1, -(-max(grey.shape) // side))
    return np.ascontiguousarray(grey[::every, ::every])


def _named(neighbours: Iterable[Neighbour]) -> list[dict[str, Any]]:
    return [{"item": item, "distance": round(distance, 5), "label": label} for item, distance, label in neighbours]


def _count(run: Run) -> int:
    labels = run.labels
    return 0 if labels is None else len(labels)


def _watched(run: Run) -> list[int] | None:
    watched = run.watched
    return None if watched is None else [int(item) for item in watched]
