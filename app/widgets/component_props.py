"""Props of the front-end components: small JSON, mostly URLs; positions and images go by HTTP."""

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import numpy as np

from app.payloads.neighbor_history import query_neighbor_history
from app.payloads.point_values import has_point_values
from app.payloads.projection_info import TAUGHT
from app.payloads.protocol import ROUTES
from app.payloads.query import QueryResult
from app.payloads.space_overlay import space_overlay
from app.state.current_view import RunView
from app.state.explore import UIState
from dmlviz.catalog.datasets import DATASETS
from dmlviz.runs.run import LIVE, Neighbor, Run

_NO_SPRITES = {"urls": [], "tile": 28}


def run_source(shown: RunView) -> dict[str, Any]:
    """Run, view and URL of their events, for every component that subscribes to them."""
    run, drawing = shown.run, shown.drawing
    view = drawing.id if drawing is not None else LIVE
    path = f"projections/{drawing.id}/events" if drawing is not None else "events"
    return {"run": run.id, "view": view, "begun": run_version(shown), "events_url": f"{ROUTES}/runs/{run.id}/{path}"}


def run_version(shown: RunView) -> str:
    """Start time as a hex string, so that a repeated run has another stream."""
    if shown.drawing is not None:
        return f"{(shown.drawing.path / 'projection.json').stat().st_mtime_ns // 1_000_000:x}"
    return f"{int(shown.run.created.timestamp() * 1000):x}"


def sprite_props(shown: RunView) -> dict[str, Any]:
    """Classes, labels and sprite sheets of the test images."""
    run, found = shown.run, shown.pictures
    facts: dict[str, Any] = {"classes": list(DATASETS[run.config.dataset].classes)}
    if found is None:
        labels = run.labels
        known = [] if labels is None else [int(label) for label in labels]
        return facts | {"n": len(known), "labels": known, "sprites": _NO_SPRITES}
    return facts | found.describe()


def map_data(shown: RunView, ui: UIState, neighbors: list[Neighbor], answer: QueryResult | None) -> dict[str, Any]:
    """Props of the map: sources of frames, labels and tiles; pinned image, neighbors, query image."""
    data = run_source(shown) | sprite_props(shown)
    place = answer.map_positions.get(data["view"]) if answer is not None else None
    has = {"tracked": True, "nearest": shown.complete, "values": has_point_values(shown.run, shown.drawing)}
    data["kept"] = [name for name, there in has.items() if there]  # the map knows the addresses
    if answer is not None and place is not None:
        data["query"] = {"xy": place, "neighbors": [neighbor.item for neighbor in answer.neighbors]}
        if answer.trajectory and data["view"] == LIVE and shown.run.end is not None:
            data["query"]["way"] = _trajectory(answer, shown.run.end["step"], place)
    if ui.step is not None and shown.drawing is None:
        data["step"] = ui.step
    if ui.selected is not None and ui.selected.dataset == shown.run.config.dataset:
        data["selected"] = {"bits": ui.selected.bits}
    if shown.live or shown.drawing is not None:
        data["running"] = shown.drawing_live if shown.drawing is not None else shown.live
    else:
        data["autoplay"] = True
    data["picture"] = _picture(shown)
    if neighbors:  # the distance of the first is what its link tells
        data["distance"] = round(neighbors[0].distance, 4)
    return data | {"color": ui.color, "pinned": ui.pinned, "neighbors": [near.item for near in neighbors]}


def _picture(shown: RunView) -> dict[str, Any]:
    """What kind of picture is shown."""
    run, drawing = shown.run, shown.drawing
    method = run.default_view if drawing is None else drawing.config.declared.name
    about: dict[str, Any] = {"method": method}
    if drawing is not None and drawing.config.params.get("supervised"):
        about["taught"] = TAUGHT
    if drawing is not None and method == "pca":
        about["axes"] = drawing.config.axes
    if drawing is None and method == "plane":
        about["space"] = space_overlay(run.config)
    return about


def pinned_data(shown: RunView, ui: UIState, item: int, neighbors: list[Neighbor]) -> dict[str, Any]:
    """Props of the inspector for a pinned test image."""
    labels = shown.run.labels
    label = int(labels[item]) if labels is not None and item < len(labels) else None
    return _tiles(shown, neighbors, label) | {
        "subject": {"item": item, "label": label},
        "near": _neighbor_props(neighbors),
        "metric": ui.metric,
        "history": True,
        "among": _num_test_images(shown.run) if shown.complete else None,
    }


def answer_data(shown: RunView, answer: QueryResult) -> dict[str, Any]:
    """Props of the inspector for a query image."""
    classes = DATASETS[shown.run.config.dataset].classes
    return _tiles(shown, answer.neighbors) | {
        "subject": image_props(answer.steps[-1].image),
        "near": _neighbor_props(answer.neighbors),
        "vote": {"label": answer.label},
        "title": f"Looks like {classes[answer.label]}",
        "among": _num_test_images(shown.run),
        "steps": [{"caption": step.caption} | image_props(downsample(step.image)) for step in answer.steps],
        "far": answer.out_of_distribution,
        "way": len(answer.trajectory),
        "history": query_neighbor_history(shown.run, answer, len(answer.neighbors)),
    }


def _tiles(shown: RunView, neighbors: list[Neighbor], label: int | None = None) -> dict[str, Any]:
    """Sprite sheets, and the names of the classes that occur."""
    known = sprite_props(shown)
    labels = {neighbor.label for neighbor in neighbors} | ({label} if label is not None else set())
    names = {str(label): known["classes"][label] for label in sorted(labels)}
    return {"run": shown.run.id, "classes": names, "sprites": known["sprites"]}


def image_props(image: np.ndarray) -> dict[str, Any]:
    """Encode an image (uint8, h × w or h × w × 3) as JSON."""
    return {"ink": b64encode(image.tobytes()).decode(), "width": int(image.shape[1]), "height": int(image.shape[0])}


def downsample(image: np.ndarray, side: int = 56) -> np.ndarray:
    """Subsample an image to at most `side` pixels per side: enough for a thumbnail of 44."""
    every = max(1, -(-max(image.shape[:2]) // side))
    return np.ascontiguousarray(image[::every, ::every])


def _neighbor_props(neighbors: Iterable[Neighbor]) -> list[tuple[int, int, float]]:
    """Encode neighbors as (item, class, distance): compact, to be sent at every click."""
    return [(item, label, round(distance, 4)) for item, distance, label in neighbors]


def _trajectory(answer: QueryResult, last: int, place: list[float]) -> list[tuple[float, ...]]:
    """Encode the trajectory of the query marker: (step, *coordinates), the end included."""
    kept = [(station.step, *station.place) for station in answer.trajectory if station.step < last]
    return [(step, *(float(f"{x:.4g}") for x in at)) for step, *at in [*kept, (last, *place)]]


def _num_test_images(run: Run) -> int:
    labels = run.labels
    return 0 if labels is None else len(labels)
