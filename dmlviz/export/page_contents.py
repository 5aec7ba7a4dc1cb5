"""What is kept of a run to be shown without a server: in the exported page, in a notebook, and in a site."""

from base64 import b64encode
from typing import Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.export.contents import RunExport
from dmlviz.runs.run import EventLogDir

MAX_FRAME_BYTES = 1_760_000  # 44 frames of 10,000 points; beyond it frames are dropped evenly, and the page says so
MAX_DISTANCE = 65535


def page_contents(export: RunExport) -> dict[str, Any]:
    """Return what `frontend/src/standalone/runPage.ts` shows of a finished run; arrays are base64, little-endian."""
    _ = export.coordinates  # raises if the map is not finished
    contents = run_contents(RunExport(export.run, None, export.sheets))
    if export.drawing is not None:
        drawing = drawing_contents(export)
        streams, left_out = contents["streams"] + drawing["streams"], contents["left_out"] + drawing["left_out"]
        contents |= drawing | {"streams": streams, "left_out": left_out}
    text: dict[str, Any] = _as_text(contents)
    return text


def live_contents(export: RunExport, labels: np.ndarray) -> dict[str, Any]:
    """Return the same of a run that is on: without neighbors, and without events, which are sent as they come.

    Args:
        export: the run, in its own view.
        labels: class IDs of the images (n).
    """
    text: dict[str, Any] = _as_text(_described(export, labels) | {"near": None, "streams": []})
    return text


def run_contents(export: RunExport, frame_bytes: int | None = None) -> dict[str, Any]:
    """Return the same of a finished run in its own view, with arrays and bytes as they are.

    Args:
        export: the run.
        frame_bytes: the bytes that the frames may take, MAX_FRAME_BYTES by default; beyond it, frames are dropped
            evenly.
    """
    labels, (distances, neighbors) = export.labels, export.neighbors
    farthest = float(distances.max(initial=0)) or 1.0
    wide = "<u2" if len(labels) <= 65536 else "<i4"
    stream, left_out = _event_payload(export.run, None, MAX_FRAME_BYTES if frame_bytes is None else frame_bytes)
    return _described(export, labels) | {
        "near": {
            "k": neighbors.shape[1],
            "wide": wide,
            "items": neighbors.T.astype(wide),  # k × n: the nearest of each, then the second of each …
            "distances": np.rint(distances.T / farthest * MAX_DISTANCE).astype("<u2"),
            "unit": farthest / MAX_DISTANCE,
        },
        "streams": [stream],
        "left_out": left_out,
    }


def drawing_contents(export: RunExport, frame_bytes: int | None = None) -> dict[str, Any]:
    """Return what a projection changes in and adds to the contents of its run; arguments as in `run_contents`."""
    if export.drawing is None:
        return {}
    _ = export.coordinates  # raises if the map is not finished
    budget = MAX_FRAME_BYTES if frame_bytes is None else frame_bytes
    stream, left_out = _event_payload(export.drawing, export.drawing.id, budget)
    return _map(export) | {"streams": [stream], "left_out": left_out}


def _described(export: RunExport, labels: np.ndarray) -> dict[str, Any]:
    run = export.run
    return {
        "run": run.id,
        **_map(export),
        "begun": run.info["created"],
        "dataset": run.config.dataset,
        "classes": list(export.classes),
        "n": len(labels),
        "labels": labels.astype("<u2"),
        "sprites": {
            "pngs": list(export.sheets.pngs) if export.sheets else [],
            "tile": export.sheets.tile if export.sheets else 28,
        },
        "plain": False,
    } | ({} if DATASETS[run.config.dataset].trainable else {"noun": "image" if export.sheets else "point"})


def _map(export: RunExport) -> dict[str, Any]:
    subset = export.drawing is not None and export.drawing.config.subset is not None
    tracked = export.items if subset else export.run.tracked_indices
    return {
        "view": export.drawing.id if export.drawing is not None else "live",
        "tracked": [] if tracked is None else tracked.tolist(),
    }


def _event_payload(record: EventLogDir, pid: str | None, budget: int) -> tuple[dict[str, Any], int]:
    """Return the events of a record with its frames, and the number of dropped frames."""
    events = record.events()
    replay = next((event for event in events if event["event"] == "replay"), None)
    if replay is None:
        drawn = [event for event in events if event["event"] in ("snapshot", "frame")]
        events, left_out = _drop_frames(events, drawn, budget)
        shown = [event["frame"] for event in events if event.get("frame")]
    else:
        # In the plane, live frames equal those of the replay, and are not requested.
        plane = PROJECTIONS[replay["view"]].identity
        taken = _fit_frame_budget(replay["frames"], budget, each=1 if plane else 2)
        steps, left_out = {frame["step"] for frame in taken}, len(replay["frames"]) - len(taken)
        events = [event for event in events if event["event"] != "snapshot" or event["step"] in steps]
        events[events.index(replay)] = replay | {"frames": taken}
        shown = [*taken, *(event["frame"] for event in events if event["event"] == "snapshot" and not plane)]
    frames = {frame["id"]: record.frame(frame["id"]) for frame in shown}
    return {"pid": pid, "events": [*events, {"event": "end", "state": record.state}], "frames": frames}, left_out


def _drop_frames(
    events: list[dict[str, Any]], drawn: list[dict[str, Any]], budget: int
) -> tuple[list[dict[str, Any]], int]:
    """Drop events whose frames exceed the budget; return the rest and the number of dropped events."""
    kept = {frame["id"] for frame in _fit_frame_budget([event["frame"] for event in drawn], budget)}
    gone = [event for event in drawn if event["frame"]["id"] not in kept]
    return [event for event in events if event not in gone], len(gone)


def _fit_frame_budget(frames: list[dict[str, Any]], budget: int, each: int = 1) -> list[dict[str, Any]]:
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
