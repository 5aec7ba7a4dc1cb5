"""The parts of a run that are kept for display without a server: in the exported page, a notebook, a site."""

import json
import zlib
from base64 import b64encode
from typing import Any, Literal, NotRequired, TypeAlias, TypeVar

import numpy as np
from typing_extensions import TypedDict

from dmlviz.catalog.projections import PROJECTIONS, LayoutSetting, ProjectionSpec, layouts_in_page
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.config.fields import space_note
from dmlviz.config.learned_space import learned_space
from dmlviz.data.class_names import short_names, whole_names
from dmlviz.export.contents import RunExport
from dmlviz.ops.ball import curvature_of
from dmlviz.runs.example_item import example_item
from dmlviz.runs.neighbor_table import by_index
from dmlviz.runs.per_query import per_query_bytes
from dmlviz.runs.point_values import point_measures, point_values
from dmlviz.runs.run import LIVE, EventLogDir, Run
from dmlviz.storage.run_schema.events import EndEvent, FrameMeta, ReplayEvent, RunEvent, frames_of

MAX_FRAME_BYTES = 1_760_000  # 44 frames of 10,000 points; beyond it frames are dropped evenly, and the page says so
MAX_ROWS_BYTES = 4_000_000  # of embeddings, so that the page can draw a selection by itself
MAX_DISTANCE = 65535
LIVE_FRAMES = ("snapshot", "frame")  # the events of frames that came while a run was on

F = TypeVar("F", bound=FrameMeta)
Packed: TypeAlias = np.ndarray | bytes | str
"""Little-endian numbers; in a page as base64."""


class NearestItems(TypedDict):
    """The `k` nearest items of each item (k × n), and their distances (k × n) in steps of `unit`."""

    k: int
    wide: Literal["<u2", "<i4"]
    items: Packed
    distances: Packed
    unit: float


class PageSprites(TypedDict):
    """The sheets of the test images, with the side of a tile in pixels."""

    pngs: list[Packed]
    tile: int


class PageStream(TypedDict):
    """The events of a run, or of the projection `pid`, and the positions of their frames."""

    pid: str | None
    events: list[RunEvent]
    frames: dict[str, Packed]


class MapContents(TypedDict):
    """The contents of a page that depend on the map.

    `files` are files of the server, deflated, by their addresses below that of the run; `left_out` is the number of
    dropped frames.
    """

    view: str
    picture: dict[str, Any]
    tracked: list[int]
    files: dict[str, Packed]
    streams: list[PageStream]
    left_out: int


class RunContents(MapContents):
    """The contents of a page that shows a run; `near` is None before the end."""

    run: str
    begun: str
    title: str
    dataset: str
    classes: list[str]
    whole_names: dict[str, str]
    n: int
    labels: Packed
    sprites: PageSprites
    plain: bool
    noun: NotRequired[str]
    near: NearestItems | None
    layouts: NotRequired[dict[str, list[LayoutSetting]]]


def page_contents(export: RunExport) -> RunContents:
    """Return what `frontend/src/standalone/runPage.ts` shows of a finished run; arrays are base64, little-endian."""
    _ = export.coordinates  # raises if the map is not finished
    contents = run_contents(RunExport(export.run, None, export.sheets))
    if export.projection is not None:
        projection = projection_contents(export)
        contents["view"], contents["picture"] = projection["view"], projection["picture"]
        contents["tracked"] = projection["tracked"]
        contents["files"] |= projection["files"]
        contents["streams"] += projection["streams"]
        contents["left_out"] += projection["left_out"]
    text: RunContents = _as_text(contents)
    return text


def live_contents(export: RunExport, labels: np.ndarray) -> RunContents:
    """Return the contents for a run that trains: without neighbors, and without events, which are sent separately.

    Args:
        export: The run, in its own view.
        labels: Class IDs of the images (n).
    """
    text: RunContents = _as_text(_described(export, labels))
    return text


def run_contents(export: RunExport, frame_bytes: int | None = None) -> RunContents:
    """Return the contents for a finished run in its own view, with arrays and bytes instead of base64.

    Args:
        export: The run.
        frame_bytes: The bytes that the frames may take, MAX_FRAME_BYTES by default; beyond it, frames are dropped
            evenly.
    """
    labels, (distances, neighbors) = export.labels, export.neighbors
    farthest = float(distances.max(initial=0)) or 1.0
    wide: Literal["<u2", "<i4"] = "<u2" if len(labels) <= 65536 else "<i4"
    stream, left_out = _event_payload(export.run, None, MAX_FRAME_BYTES if frame_bytes is None else frame_bytes)
    contents = _described(export, labels)
    contents["near"] = NearestItems(
        k=neighbors.shape[1],
        wide=wide,
        items=neighbors.T.astype(wide),  # k × n: the nearest of each, then the second of each …
        distances=np.rint(distances.T / farthest * MAX_DISTANCE).astype("<u2"),
        unit=farthest / MAX_DISTANCE,
    )
    contents["files"] = _files(export)
    contents["streams"], contents["left_out"] = [stream], left_out
    if 2 * export.embeddings.size <= MAX_ROWS_BYTES:
        contents["files"]["rows.bin"] = zlib.compress(_rows(export.embeddings), 9)
        contents["layouts"] = layouts_in_page()
    return contents


def projection_contents(export: RunExport, frame_bytes: int | None = None) -> MapContents:
    """Return the contents that depend on the projection of an export; arguments as in `run_contents`."""
    assert export.projection is not None
    _ = export.coordinates  # raises if the map is not finished
    budget = MAX_FRAME_BYTES if frame_bytes is None else frame_bytes
    stream, left_out = _event_payload(export.projection, export.projection.id, budget)
    return MapContents(
        view=export.projection.id,
        picture=picture_of(export.run, export.projection.config),
        tracked=_tracked(export),
        files=_files(export),
        streams=[stream],
        left_out=left_out,
    )


def _described(export: RunExport, labels: np.ndarray) -> RunContents:
    run, sheets = export.run, export.sheets
    contents = RunContents(
        run=run.id,
        view="live" if export.projection is None else export.projection.id,
        picture=picture_of(run, None if export.projection is None else export.projection.config),
        tracked=_tracked(export),
        begun=run.info["created"],
        title=run.title,
        dataset=run.config.dataset,
        classes=list(short_names(export.classes)),
        whole_names=whole_names(export.classes),
        n=len(labels),
        labels=labels.astype("<u2"),
        sprites=PageSprites(pngs=list(sheets.pngs) if sheets else [], tile=sheets.tile if sheets else 28),
        plain=False,
        near=None,
        files={},
        streams=[],
        left_out=0,
    )
    if (spec := run.config.dataset_spec).of_points or not spec.trainable:
        contents["noun"] = spec.noun
    return contents


def picture_of(run: Run, config: ProjectionConfig | None) -> dict[str, Any]:
    """Return what a map says of itself, and its learned space; that of a run's own view without a config."""
    if config is None:
        return own_picture(run.config, run.default_view)
    spec, dim = config.declared, run.config.embedding_dim
    notes = space_note(run.config, spec.name, False), config.note(dim)
    return _picture(spec, " ".join(filter(None, notes))) | ({"whole": dim} if config.prefix is not None else {})


def own_picture(config: TrainConfig, method: str) -> dict[str, Any]:
    """Return what the map of a training says of itself, and its learned space."""
    picture = _picture(PROJECTIONS[method], space_note(config, method, True))
    return picture | ({"space": learned_space(config)} if PROJECTIONS[method].identity else {})


def _picture(spec: ProjectionSpec, note: str) -> dict[str, Any]:
    picture = {"method": spec.name, "title": spec.title, "caution": spec.caution}
    return picture | ({"note": note} if note else {})


def _tracked(export: RunExport) -> list[int]:
    """Return the items on the map; none where it shows all of them."""
    subset = export.projection is not None and export.projection.config.subset is not None
    tracked = export.items if subset else export.run.tracked_indices
    return [] if tracked is None else tracked.tolist()


def _files(export: RunExport) -> dict[str, Packed]:
    """Return files of the server, deflated, by their addresses below that of the run.

    They say by what points can be colored and, for the run's own view, which images fail a score and which one is shown
    first. Those of very many images are left out: they take minutes.
    """
    run, projection = export.run, export.projection
    if by_index(run):
        return {}
    content: dict[str, bytes] = {}
    for measure in point_measures(run, projection):
        address = f"values/{LIVE if projection is None else projection.id}/{measure}.f32"
        content[address] = point_values(run, projection, measure).astype("<f4").tobytes()
    if projection is None and run.metrics:
        content["per_query.bin"] = per_query_bytes(run, None)
    if projection is None:
        content["example.json"] = json.dumps({"item": example_item(run)}).encode()
    return {address: zlib.compress(data, 9) for address, data in content.items()}


def _rows(embeddings: np.ndarray) -> bytes:
    """Return a unit, and the curvature of a ball or 0 (float32); the embeddings (n × d) as int16 in steps of the unit.

    Points of a ball are float32: near its rim steps would be too coarse.
    """
    unit = float(np.abs(embeddings).max(initial=0)) / 32767 or 1.0
    head = np.array([unit, curvature := curvature_of(embeddings)], "<f4").tobytes()
    steps = embeddings if curvature else np.rint(embeddings / np.float32(unit)).clip(-32767, 32767)
    return head + steps.astype("<f4" if curvature else "<i2").tobytes()


def _event_payload(record: EventLogDir, pid: str | None, budget: int) -> tuple[PageStream, int]:
    """Return the events of a record with its frames, and the number of dropped frames."""
    events: list[RunEvent] = record.events()
    replay = next((event for event in events if event["event"] == "replay"), None)
    if replay is None:
        events, left_out = _drop_frames(events, budget)
        shown = [frame for event in events for frame in frames_of(event)]
    else:
        # In the plane, live frames equal those of the replay, and are not requested.
        plane = PROJECTIONS[replay["view"]].identity
        taken = _fit_frame_budget(replay["frames"], budget, each=1 if plane else 2)
        steps, left_out = {frame["step"] for frame in taken}, len(replay["frames"]) - len(taken)
        events = [event for event in events if event["event"] not in LIVE_FRAMES or event.get("step") in steps]
        events[events.index(replay)] = ReplayEvent({**replay, "frames": taken})
        live = () if plane else (event for event in events if event["event"] in LIVE_FRAMES)
        shown = [*taken, *(frame for event in live for frame in frames_of(event))]
    frames: dict[str, Packed] = {frame["id"]: record.frame(frame["id"]) for frame in shown}
    end = EndEvent(event="end", state=record.state)
    return PageStream(pid=pid, events=[*events, end], frames=frames), left_out


def _drop_frames(events: list[RunEvent], budget: int) -> tuple[list[RunEvent], int]:
    """Drop events whose frames exceed the budget; return the rest and the number of dropped events."""
    frame_events = [event for event in events if event["event"] == "snapshot" or event["event"] == "frame"]
    kept = {frame["id"] for frame in _fit_frame_budget([event["frame"] for event in frame_events], budget)}
    dropped = [event for event in frame_events if event["frame"]["id"] not in kept]
    return [event for event in events if event not in dropped], len(dropped)


def _fit_frame_budget(frames: list[F], budget: int, each: int = 1) -> list[F]:
    """Return as many frames as fit into the budget, evenly, the last among them; each is stored `each` times."""
    for count in range(len(frames), 1, -1):
        chosen = [frames[place] for place in np.rint(np.linspace(0, len(frames) - 1, count)).astype(int)]
        if sum(2 * frame["n"] * frame["dims"] * each for frame in chosen) <= budget:
            return chosen
    return frames[-1:]


def _as_text(value: Any) -> Any:
    """Return the contents with base64 text in place of arrays and bytes."""
    if isinstance(value, dict):
        return {name: _as_text(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_as_text(part) for part in value]
    if isinstance(value, np.ndarray | bytes):
        return b64encode(value.tobytes() if isinstance(value, np.ndarray) else value).decode()
    return value
