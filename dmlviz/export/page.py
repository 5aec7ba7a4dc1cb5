"""Export of a run as one interactive HTML file: map, images, neighbors, scores. Needs no server or network."""

import html
import json
from base64 import b64encode
from importlib.resources import files
from typing import IO, Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.parameters import Spec
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.export.contents import RunExport
from dmlviz.runs.run import EventLogDir

BUILT = files("dmlviz") / "_frontend"
MAX_FRAME_BYTES = 1_760_000  # 44 frames of 10,000 points; beyond it frames are dropped evenly, and the page says so
MAX_DISTANCE = 65535

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="dmlviz">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<dl>{facts}</dl>
</header>
<main>
<section id="map"></section>
<section id="inspector"></section>
<section id="scores"></section>
<section id="loss_curve"></section>
</main>
<footer>{measured}</footer>
<noscript>The map needs JavaScript.</noscript>
<script type="application/json" id="kept">{kept}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def write_html(kept: RunExport, file: IO[bytes]) -> None:
    """Write the page; raise UserError if the run or its projection is not finished."""
    contents = page_contents(kept)
    text = PAGE.format(
        title=html.escape(kept.run.title),
        style=(BUILT / "standalone.css").read_text(encoding="utf-8"),
        script=(BUILT / "standalone.js").read_text(encoding="utf-8"),
        facts="".join(f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd></div>" for k, v in page_data(kept)),
        measured=html.escape(quality_note(kept, contents["left_out"])),
        kept=json.dumps(contents, separators=(",", ":")).replace("<", "\\u003c"),
    )
    file.write(text.encode())


def page_data(kept: RunExport) -> list[tuple[str, str]]:
    """Return the settings as (name, text)."""
    config = kept.run.config
    shape = f"{config.embedding_dim}-d, {'sphere' if config.normalize else 'free'}"
    steps = (kept.run.end or {}).get("step", config.steps)
    if not DATASETS[config.dataset].trainable:
        length = [("Training", f"{steps:,} steps of another program")] if kept.run.recorded else []
        return [("Data", DATASETS[config.dataset].summary), *length, ("Map", _map_title(kept))]
    rows = [
        ("Data", DATASETS[config.dataset].title),
        ("Net", f"{NETS[config.net].title}, {shape}"),
        ("Loss", _with_params(LOSSES[config.loss], config.loss_params)),
        ("Miner", _with_params(MINERS[config.miner], config.miner_params) if config.miner else ""),
        ("Training", f"{steps:,} steps of {config.effective_batch_size} images, seed {config.seed}"),
        ("Map", _map_title(kept)),
    ]
    return [(name, text) for name, text in rows if text]


def _map_title(kept: RunExport) -> str:
    return PROJECTIONS[kept.view].title if kept.drawing is None else kept.drawing.config.declared.title


def quality_note(kept: RunExport, left_out: int) -> str:
    """Return the footer: what the points are, and what neighbors mean."""
    n, d = RunExport(kept.run).embeddings.shape
    elsewhere = not DATASETS[kept.run.config.dataset].trainable
    parts = [
        f"The points are all {n:,} embeddings."
        if elsewhere
        else f"The points are all {n:,} test images; none was used for training.",
        f"Neighbors are the nearest by Euclidean distance in the {d}-dimensional embedding at the end of the run, "
        "not on the map.",
    ]
    if left_out:
        parts.append(f"To keep the file small, {left_out} intermediate frames are left out.")
    return " ".join([*parts, f"Run {kept.run.id} of dmlviz, {kept.run.created:%Y-%m-%d}."])


def _with_params(choice: Spec, params: dict[str, Any]) -> str:
    """Return the title with all parameters that differ from their defaults."""
    defaults = choice.with_defaults({})
    changed = [f"{name.replace('_', ' ')} {value}" for name, value in params.items() if value != defaults.get(name)]
    return f"{choice.title} ({', '.join(changed)})" if changed else choice.title


def page_contents(kept: RunExport, frame_bytes: int | None = None) -> dict[str, Any]:
    """Return the data of the page; arrays are base64 of little-endian numbers.

    Args:
        kept: the run.
        frame_bytes: the bytes that the frames may take before base64, MAX_FRAME_BYTES by default; beyond it, frames
            are dropped evenly.
    """
    frame_bytes = MAX_FRAME_BYTES if frame_bytes is None else frame_bytes
    run, whole = kept.run, RunExport(kept.run)  # neighbors are those at the end, whatever the step of the map
    _ = kept.coordinates  # raises if the map is not finished
    labels, (distances, neighbors) = whole.labels, whole.neighbors
    farthest = float(distances.max(initial=0)) or 1.0
    wide = "<u2" if len(labels) <= 65536 else "<i4"
    streams = [_event_payload(run, None, frame_bytes)] + (
        [_event_payload(kept.drawing, kept.drawing.id, frame_bytes)] if kept.drawing is not None else []
    )
    tracked = run.tracked_indices
    return {
        "run": run.id,
        "view": kept.drawing.id if kept.drawing is not None else "live",
        "dataset": run.config.dataset,
        "classes": list(kept.classes),
        "n": len(labels),
        "labels": _base64(labels, "<u2"),
        "tracked": [] if tracked is None else tracked.tolist(),
        "near": {
            "k": neighbors.shape[1],
            "wide": wide,
            "items": _base64(neighbors, wide),
            "distances": _base64(np.rint(distances / farthest * MAX_DISTANCE), "<u2"),
            "unit": farthest / MAX_DISTANCE,
        },
        "sprites": {
            "pngs": [b64encode(png).decode() for png in kept.sheets.pngs] if kept.sheets else [],
            "tile": kept.sheets.tile if kept.sheets else 28,
        },
        "streams": [stream for stream, _ in streams],
        "left_out": sum(left_out for _, left_out in streams),
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
