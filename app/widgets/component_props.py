"""Props of the front-end components: small JSON, mostly URLs; positions and images go by HTTP."""

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from app.payloads.neighbor_history import query_neighbor_history
from app.payloads.point_values import has_point_values
from app.payloads.projection_info import TAUGHT
from app.payloads.protocol.common import ROUTES
from app.payloads.protocol.inspector import Partner
from app.payloads.query import QueryResult
from app.payloads.space_overlay import space_overlay
from app.state.current_view import RunView
from app.state.explore import UIState
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.runs.neighbor_search import Neighbor
from dmlviz.runs.run import LIVE, LOSS_WEIGHTS, Run

_NO_SPRITES = {"urls": [], "tile": 28}


def run_source(run_view: RunView) -> dict[str, Any]:
    """Run, view and URL of their events, for every component that subscribes to them."""
    run, drawing = run_view.run, run_view.drawing
    view = drawing.id if drawing is not None else LIVE
    path = f"projections/{drawing.id}/events" if drawing is not None else "events"
    return {"run": run.id, "view": view, "begun": run_version(run_view), "events_url": f"{ROUTES}/runs/{run.id}/{path}"}


def run_version(run_view: RunView) -> str:
    """Start time as a hex string, so that a repeated run has another stream."""
    if run_view.drawing is not None:
        return f"{(run_view.drawing.path / 'projection.json').stat().st_mtime_ns // 1_000_000:x}"
    return f"{int(run_view.run.created.timestamp() * 1000):x}"


def sprite_props(run_view: RunView) -> dict[str, Any]:
    """Classes, labels and sprite sheets of the test images."""
    run, tiles = run_view.run, run_view.pictures
    props: dict[str, Any] = {"classes": list(DATASETS[run.config.dataset].classes)}
    if tiles is None:
        url = f"{ROUTES}/runs/{run.id}/labels.u16?{run_version(replace(run_view, drawing=None))}"
        return props | {"n": _num_test_images(run), "labels_url": url, "sprites": _NO_SPRITES}
    return props | tiles.describe()


def map_data(run_view: RunView, ui: UIState, neighbors: list[Neighbor], answer: QueryResult | None) -> dict[str, Any]:
    """Props of the map: sources of frames, labels and tiles; pinned image, neighbors, query image."""
    data = run_source(run_view) | sprite_props(run_view)
    place = answer.map_positions.get(data["view"]) if answer is not None else None
    subset = None if run_view.drawing is None else run_view.drawing.config.subset
    available = {
        "tracked": subset is None,
        "items": subset is not None,
        "nearest": run_view.complete,
        "values": has_point_values(run_view.run, run_view.drawing),
        "columns": run_view.columns,
    }
    data["kept"] = [name for name, is_available in available.items() if is_available]  # the map knows the addresses
    if answer is not None and place is not None:
        data["query"] = {"xy": place, "neighbors": [neighbor.item for neighbor in answer.neighbors]}
        if answer.trajectory and data["view"] == LIVE and run_view.run.end is not None:
            data["query"]["trajectory"] = _trajectory(answer, run_view.run.end["step"], place)
    if ui.step is not None and run_view.drawing is None:
        data["step"] = ui.step
    if subset is not None and ui.subset is not None:
        data["subset"] = {"bits": ui.subset.bits}
    if ui.selected is not None and ui.selected.dataset == run_view.run.config.dataset:
        data["selected"] = {"bits": ui.selected.bits}
    if run_view.live or run_view.drawing is not None:
        data["running"] = run_view.drawing_live if run_view.drawing is not None else run_view.live
    else:
        data["autoplay"] = True
    data |= noun_props(run_view)
    data["picture"] = _picture(run_view)
    if neighbors:  # the distance of the first is what its link tells
        data["distance"] = round(neighbors[0].distance, 4)
    return data | {"color": ui.color, "pinned": ui.pinned, "neighbors": [neighbor.item for neighbor in neighbors]}


def display_props(run_view: RunView, ui: UIState) -> dict[str, Any]:
    """Props of a map whose display the address holds: what is isolated, and all that differs from a new map."""
    dataset = run_view.run.config.dataset
    isolated = ui.isolated if ui.isolated is not None and ui.isolated.dataset == dataset else None
    props = {"display": ui.display.props(dataset)}
    return props if isolated is None else props | {"isolated": {"bits": isolated.bits}}


def noun_props(run_view: RunView) -> dict[str, str]:
    """What an item is called, if no test image."""
    if DATASETS[run_view.run.config.dataset].trainable:
        return {}
    if run_view.pictures is not None:
        return {"noun": "image"}
    return {"noun": "row" if run_view.columns else "point"}


def _picture(run_view: RunView) -> dict[str, Any]:
    """What kind of picture is shown."""
    run, drawing = run_view.run, run_view.drawing
    method = run.default_view if drawing is None else drawing.config.declared.name
    picture: dict[str, Any] = {"method": method}
    if drawing is not None and drawing.config.params.get("supervised"):
        picture["taught"] = TAUGHT
    if drawing is not None and drawing.config.axes:
        picture["axes"] = drawing.config.axes
    if drawing is None and PROJECTIONS[method].identity:
        picture["space"] = space_overlay(run.config)
    return picture


def pinned_data(run_view: RunView, ui: UIState, item: int, neighbors: list[Neighbor]) -> dict[str, Any]:
    """Props of the inspector for a pinned test image."""
    labels = run_view.run.labels
    label = int(labels[item]) if labels is not None and item < len(labels) else None
    logits = _has_class_scores(run_view)
    partner = _partner(run_view, ui, item)
    return (
        _tiles(run_view, neighbors, *([label] if partner is None else [label, partner["label"]]))
        | {
            "subject": {"item": item, "label": label},
            "near": _neighbor_props(neighbors),
            "metric": ui.metric,
            "history": True,
            "among": _num_test_images(run_view.run) if run_view.complete else None,
            "comparable": run_view.complete,
            "columns": run_view.columns,
        }
        | noun_props(run_view)
        | ({} if partner is None else {"partner": partner})
        | ({"logits": list(DATASETS[run_view.run.config.dataset].classes)} if logits else {})
    )


def _partner(run_view: RunView, ui: UIState, item: int) -> Partner | None:
    """The image with which the pinned one is compared, and where the comparison is."""
    labels = run_view.run.labels
    if ui.partner is None or not run_view.complete or labels is None or ui.partner >= len(labels):
        return None
    partner: Partner = {"item": ui.partner, "label": int(labels[ui.partner])}
    if ui.partner != item:
        partner["url"] = f"{ROUTES}/runs/{run_view.run.id}/pair/{ui.partner}/{item}.json?{run_version(run_view)}"
    return partner


def _has_class_scores(run_view: RunView) -> bool:
    """Whether the loss scores classes by weights of its own, which the run keeps."""
    config = run_view.run.config
    specs = [LOSSES[name] for name, _ in LOSSES[config.loss].parts(config.loss_params).values()]
    has_weights = any(spec.needs_classes for spec in specs or [LOSSES[config.loss]])
    return has_weights and run_view.complete and (run_view.run.path / LOSS_WEIGHTS).exists()


def answer_data(run_view: RunView, answer: QueryResult) -> dict[str, Any]:
    """Props of the inspector for a query image."""
    classes = DATASETS[run_view.run.config.dataset].classes
    return _tiles(run_view, answer.neighbors) | {
        "subject": {},
        "near": _neighbor_props(answer.neighbors),
        "vote": {"label": answer.label},
        "title": f"Looks like {classes[answer.label]}",
        "among": _num_test_images(run_view.run),
        "steps": [{"caption": step.caption} | image_props(downsample(step.image)) for step in answer.steps],
        "far": answer.out_of_distribution,
        "trajectory_length": len(answer.trajectory),
        "history": query_neighbor_history(run_view.run, answer, len(answer.neighbors)),
    }


def _tiles(run_view: RunView, neighbors: list[Neighbor], *others: int | None) -> dict[str, Any]:
    """Sprite sheets, and the names of the classes that occur."""
    sprites = sprite_props(run_view)
    labels = {neighbor.label for neighbor in neighbors} | {label for label in others if label is not None}
    names = {str(label): sprites["classes"][label] for label in sorted(labels)}
    return {"run": run_view.run.id, "classes": names, "sprites": sprites["sprites"]}


def image_props(image: np.ndarray) -> dict[str, Any]:
    """Encode an image (uint8, h × w or h × w × 3) as JSON."""
    return {"ink": b64encode(image.tobytes()).decode(), "width": int(image.shape[1]), "height": int(image.shape[0])}


def downsample(image: np.ndarray, side: int = 56) -> np.ndarray:
    """Subsample an image to at most `side` pixels per side: enough for a thumbnail of 44."""
    stride = max(1, -(-max(image.shape[:2]) // side))
    return np.ascontiguousarray(image[::stride, ::stride])


def _neighbor_props(neighbors: Iterable[Neighbor]) -> list[tuple[int, int, float]]:
    """Encode neighbors as (item, class, distance): compact, to be sent at every click."""
    return [(item, label, round(distance, 4)) for item, distance, label in neighbors]


def _trajectory(answer: QueryResult, last: int, place: list[float]) -> list[tuple[float, ...]]:
    """Encode the trajectory of the query marker: (step, *coordinates), the end included."""
    points = [(point.step, *point.place) for point in answer.trajectory if point.step < last]
    return [(step, *(float(f"{x:.4g}") for x in coordinates)) for step, *coordinates in [*points, (last, *place)]]


def _num_test_images(run: Run) -> int:
    labels = run.labels
    return 0 if labels is None else len(labels)
