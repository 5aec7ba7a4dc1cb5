"""What is packed of a run to be shown without a server: in the exported page, and in a notebook."""

from base64 import b64encode
from typing import Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.export.contents import RunExport
from dmlviz.runs.run import EventLogDir

MAX_FRAME_BYTES = 1_760_000  # 44 frames of 10,000 points; beyond it frames are dropped evenly, and the page says so
MAX_DISTANCE = 65535


def page_contents(export: RunExport, frame_bytes: int | None = None) -> dict[str, Any]:
    """Return what `frontend/src/standalone/runPage.ts` shows of a finished run; arrays are base64, little-endian.

    Args:
        export: the run.
        frame_bytes: the bytes that the frames may take before base64, MAX_FRAME_BYTES by default; beyond it, frames
            are dropped evenly.
    """
    budget = MAX_FRAME_BYTES if frame_bytes is None else frame_bytes
    run, whole = export.run, RunExport(export.run)  # neighbors are those at the end, whatever the step of the map
    _ = export.coordinates  # raises if the map is not finished
    labels, (distances, neighbors) = whole.labels, whole.neighbors
    farthest = float(distances.max(initial=0)) or 1.0
    wide = "<u2" if len(labels) <= 65536 else "<i4"
    streams = [_event_payload(run, None, budget)] + (
        [_event_payload(export.drawing, export.drawing.id, budget)] if export.drawing is not None else []
    )
    return _described(export, labels) | {
        "near": {
            "k": neighbors.shape[1],
            "wide": wide,
            "items": _base64(neighbors, wide),
            "distances": _base64(np.rint(distances / farthest * MAX_DISTANCE), "<u2"),
            "unit": farthest / MAX_DISTANCE,
        },
        "streams": [stream for stream, _ in streams],
        "left_out": sum(left_out for _, left_out in streams),
    }


def live_contents(export: RunExport, labels: np.ndarray) -> dict[str, Any]:
    """Return the same of a run that is on: without neighbors, and without events, which are sent as they come.

    Args:
        export: the run, in its own view.
        labels: class IDs of the images (n).
    """
    return _described(export, labels) | {"near": None, "streams": []}


def _described(export: RunExport, labels: np.ndarray) -> dict[str, Any]:
    run = export.run
    subset = export.drawing is not None and export.drawing.config.subset is not None
    tracked = export.items if subset else run.tracked_indices
    return {
        "run": run.id,
        "view": export.drawing.id if export.drawing is not None else "live",
        "begun": run.info["created"],
        "dataset": run.config.dataset,
        "classes": list(export.classes),
        "n": len(labels),
        "labels": _base64(labels, "<u2"),
        "tracked": [] if tracked is None else tracked.tolist(),
        "sprites": {
            "pngs": [b64encode(png).decode() for png in export.sheets.pngs] if export.sheets else [],
            "tile": export.sheets.tile if export.sheets else 28,
        },
        "plain": False,
    } | ({} if DATASETS[run.config.dataset].trainable else {"noun": "image" if export.sheets else "point"})


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
    frames = {frame["id"]: b64encode(record.frame(frame["id"])).decode() for frame in shown}
    return {"pid": pid, "events": [*events, {"event": "end", "state": record.state}], "frames": frames}, left_out


def _drop_frames(
    events: list[dict[str, Any]], drawn: list[dict[str, Any]], budget: int
) -> tuple[list[dict[str, Any]], int]:
    """Drop events whose frames exceed the budget; return the rest and the number of dropped events."""
    kept = {frame["id"] for frame in _fit_frame_budget([event["frame"] for event in drawn], budget)}
    gone = [event for event in drawn if event["frame"]["id"] not in kept]
    return [event for event in events if event not in gone], len(gone)


def _fit_frame_budget(frames: list[dict[str, Any]], budget: int, each: int = 1) -> list[dict[str, Any]]:
    """Return all frames, or every second, third … and the last, within the budget; each is stored `each` times."""
    for every in range(1, len(frames) + 1):
        chosen = [frame for place, frame in enumerate(frames) if place % every == 0 or place == len(frames) - 1]
        if sum(2 * frame["n"] * frame["dims"] * each for frame in chosen) <= budget:
            return chosen
    return frames[-1:]


def _base64(array: np.ndarray, kind: str) -> str:
    return b64encode(np.ascontiguousarray(array).astype(kind).tobytes()).decode()
