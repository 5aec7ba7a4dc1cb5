"""What Python tells each component: small plain JSON, mostly addresses; positions and pictures go by HTTP."""

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import numpy as np

from app import media
from app.cautions import TAUGHT, methods
from app.film import film_of_query
from app.parts.views import native_of
from app.query import Answer
from app.shown import Shown
from app.spaces import space_of
from app.state import LIVE, UIState
from app.values import MEASURES, measurable, values
from dmlviz.data.declared import DATASETS
from dmlviz.record import Neighbour, Run

_NO_SPRITES = {"urls": [], "tile": 28}


def source(shown: Shown, routes: bool) -> dict[str, Any]:
    """Which run and view are shown and where their events are, for every component that follows them."""
    run, drawing = shown.run, shown.drawing
    view = drawing.id if drawing is not None else LIVE
    path = f"projections/{drawing.id}/events" if drawing is not None else "events"
    url = f"/api/runs/{run.id}/{path}" if routes else None
    return {"run": run.id, "view": view, "begun": begun(shown), "events_url": url}


def stream_of(shown: Shown) -> str:
    """One name for the events of what is shown."""
    return f"{shown.run.id}/{shown.drawing.id if shown.drawing is not None else LIVE}/{begun(shown)}"


def begun(shown: Shown) -> str:
    """When what is shown was begun, as a word: the same request, made again, is another stream."""
    if shown.drawing is not None:
        return f"{(shown.drawing.path / 'projection.json').stat().st_mtime_ns // 1_000_000:x}"
    return f"{int(shown.run.created.timestamp() * 1000):x}"


def pictures(shown: Shown, routes: bool) -> dict[str, Any]:
    """Classes, labels and tiles of the test images."""
    run, found = shown.run, shown.pictures
    facts: dict[str, Any] = {"classes": list(DATASETS[run.config.dataset].classes)}
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
    if routes:  # the map knows the addresses
        has = {"watched": True, "nearest": shown.complete, "values": measurable(shown.run, shown.drawing)}
        data["kept"] = [name for name, there in has.items() if there]
    else:
        data["watched"] = _watched(shown.run)
        data["values"] = _values(shown, ui)
    if answer is not None and place is not None:
        data["query"] = {"xy": place, "neighbours": [neighbour.item for neighbour in answer.neighbours]}
        if answer.way and data["view"] == LIVE and shown.run.end is not None:
            data["query"]["way"] = _way(answer, shown.run.end["step"], place)
    if ui.step is not None and shown.drawing is None:
        data["step"] = ui.step
    if ui.selected is not None and ui.selected.dataset == shown.run.config.dataset:
        data["selected"] = {"bits": ui.selected.bits}
    if shown.live or shown.drawing is not None:
        data["running"] = shown.drawing_live if shown.drawing is not None else shown.live
    else:
        data["autoplay"] = True
    data["picture"] = _picture(shown, routes)
    if neighbours:  # the distance of the first is what its link tells
        data["distance"] = round(neighbours[0].distance, 4)
    return data | {"colour": ui.colour, "pinned": ui.pinned, "neighbours": [near.item for near in neighbours]}


def _picture(shown: Shown, routes: bool) -> dict[str, Any]:
    """What kind of picture is shown; without routes also what may not be read from it."""
    run, drawing = shown.run, shown.drawing
    method = native_of(run) if drawing is None else drawing.config.declared.name
    about: dict[str, Any] = {"method": method}
    if drawing is not None and drawing.config.params.get("supervised"):
        about["taught"] = TAUGHT
    if drawing is not None and method == "pca":
        about["axes"] = drawing.config.axes
    if drawing is None and method == "plane":
        about["space"] = space_of(run.config)
    return about if routes else about | methods()[method]


def _values(shown: Shown, ui: UIState) -> dict[str, str]:
    """The addresses of numbers to colour by, without routes: empty for those that nobody asks for yet."""
    run, drawing = shown.run, shown.drawing
    if not measurable(run, drawing):
        return {}
    if ui.colour not in MEASURES:
        return dict.fromkeys(MEASURES, "")
    return dict.fromkeys(MEASURES, "") | {ui.colour: media.numbers(values(run, drawing, ui.colour), ui.colour)}


def pinned_data(shown: Shown, ui: UIState, item: int, neighbours: list[Neighbour], routes: bool) -> dict[str, Any]:
    """The inspector of a pinned test image."""
    labels = shown.run.labels
    label = int(labels[item]) if labels is not None and item < len(labels) else None
    return _tiles(shown, routes, neighbours, label) | {
        "subject": {"item": item, "label": label},
        "near": _near(neighbours),
        "metric": ui.metric,
        "film": routes,
        "among": _count(shown.run) if shown.complete else None,
    }


def answer_data(shown: Shown, answer: Answer, routes: bool) -> dict[str, Any]:
    """The inspector of a drawn or uploaded picture."""
    classes = DATASETS[shown.run.config.dataset].classes
    return _tiles(shown, routes, answer.neighbours) | {
        "subject": picture(answer.steps[-1].image),
        "near": _near(answer.neighbours),
        "vote": {"label": answer.label},
        "title": f"Looks like {classes[answer.label]}",
        "among": _count(shown.run),
        "steps": [{"caption": step.caption} | picture(small(step.image)) for step in answer.steps],
        "far": answer.far,
        "way": len(answer.way),
        "film": film_of_query(shown.run, answer, len(answer.neighbours)) if routes else None,
    }


def _tiles(shown: Shown, routes: bool, neighbours: list[Neighbour], label: int | None = None) -> dict[str, Any]:
    """Tiles, and the names of the classes that occur."""
    known = pictures(shown, routes)
    labels = {neighbour.label for neighbour in neighbours} | ({label} if label is not None else set())
    names = {str(label): known["classes"][label] for label in sorted(labels)}
    return {"run": shown.run.id, "classes": names, "sprites": known["sprites"]}


def picture(image: np.ndarray) -> dict[str, Any]:
    """A picture (uint8, h × w or h × w × 3) as JSON."""
    return {"ink": b64encode(image.tobytes()).decode(), "width": int(image.shape[1]), "height": int(image.shape[0])}


def small(image: np.ndarray, side: int = 56) -> np.ndarray:
    """At most `side` pixels a side, by leaving out rows and columns: enough for a thumbnail of 44."""
    every = max(1, -(-max(image.shape[:2]) // side))
    return np.ascontiguousarray(image[::every, ::every])


def _near(neighbours: Iterable[Neighbour]) -> list[tuple[int, int, float]]:
    """Item, class and distance of each: short, since a highlight should weigh little."""
    return [(item, label, round(distance, 4)) for item, distance, label in neighbours]


def _way(answer: Answer, last: int, place: list[float]) -> list[tuple[float, ...]]:
    """Steps with places, the end included: where the star walks."""
    kept = [(station.step, *station.place) for station in answer.way if station.step < last]
    return [(step, *(float(f"{x:.4g}") for x in at)) for step, *at in [*kept, (last, *place)]]


def _count(run: Run) -> int:
    labels = run.labels
    return 0 if labels is None else len(labels)


def _watched(run: Run) -> list[int] | None:
    watched = run.watched
    return None if watched is None else [int(item) for item in watched]
