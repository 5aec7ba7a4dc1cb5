"""A run as one HTML file: the map that plays, pictures, neighbours, scores. Opens without a server or a network."""

import html
import json
from base64 import b64encode
from pathlib import Path
from typing import IO, Any

import numpy as np

from dmlviz import sheets
from dmlviz.data.declared import DATASETS
from dmlviz.declarations import Declaration
from dmlviz.export.bundle import import_map
from dmlviz.export.kept import Kept
from dmlviz.losses.declared import LOSSES
from dmlviz.miners.declared import MINERS
from dmlviz.nets.declared import NETS
from dmlviz.projection.declared import PROJECTIONS
from dmlviz.record import Record

COMPONENTS = Path(__file__).resolve().parents[2] / "app" / "components"
MOST_FRAME_BYTES = 1_600_000  # 40 frames of 10,000 points; of more, every second, third … is kept, and the page says so
LARGEST_DISTANCE = 65535

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
<script type="importmap">{modules}</script>
</head>
<body>
<header>
<h1>{title}</h1>
<dl>{facts}</dl>
</header>
<main>
<section id="map"></section>
<section id="inspector"></section>
<section id="readouts"></section>
<section id="curve"></section>
</main>
<footer>{measured}</footer>
<noscript>The map needs JavaScript.</noscript>
<script type="application/json" id="kept">{kept}</script>
<script type="module">import "entry";</script>
</body>
</html>
"""


def write_html(kept: Kept, file: IO[bytes]) -> None:
    """Write the page; raise UserError before the run's end, and for a projection that is not finished."""
    saved = COMPONENTS / "saved"
    described = _described(kept)
    text = PAGE.format(
        title=html.escape(kept.run.title),
        style=(saved / "saved.css").read_text(encoding="utf-8"),
        modules=import_map(saved / "saved.js", COMPONENTS),
        facts="".join(f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd></div>" for k, v in facts(kept)),
        measured=html.escape(measured(kept, described["left_out"])),
        kept=json.dumps(described, separators=(",", ":")).replace("<", "\\u003c"),
    )
    file.write(text.encode())


def facts(kept: Kept) -> list[tuple[str, str]]:
    """The settings as a person reads them."""
    config = kept.run.config
    shape = f"{config.embedding_dim}-d, {'sphere' if config.normalize else 'free'}"
    steps = (kept.run.end or {}).get("step", config.steps)
    found = [
        ("Data", DATASETS[config.dataset].title),
        ("Net", f"{NETS[config.net].title}, {shape}"),
        ("Loss", _with_params(LOSSES[config.loss], config.loss_params)),
        ("Miner", _with_params(MINERS[config.miner], config.miner_params) if config.miner else ""),
        ("Training", f"{steps:,} steps of {config.batch_images} images, seed {config.seed}"),
        ("Map", PROJECTIONS[kept.view].title),
    ]
    return [(name, text) for name, text in found if text]


def measured(kept: Kept, left_out: int) -> str:
    """On what everything was measured."""
    n, d = kept.embeddings.shape
    parts = [
        f"All points are the {n:,} test images, none of which the net was trained on.",
        f"Neighbours are the nearest by Euclidean distance in the {d}-dimensional embedding at the end of the run, "
        "not on the map.",
    ]
    if left_out:
        parts.append(f"To keep the file small, {left_out} of the frames between the first and the last are left out.")
    return " ".join([*parts, f"Run {kept.run.id} of dmlviz, {kept.run.created:%Y-%m-%d}."])


def _with_params(choice: Declaration, params: dict[str, Any]) -> str:
    """Its title, and the parameters that are not as usual."""
    usual = choice.complete({})
    said = [f"{name.replace('_', ' ')} {value}" for name, value in params.items() if value != usual.get(name)]
    return f"{choice.title} ({', '.join(said)})" if said else choice.title


def _described(kept: Kept) -> dict[str, Any]:
    """All that saved.js reads; arrays are base64 of little-endian numbers."""
    run, labels = kept.run, kept.labels
    _ = kept.coordinates  # a map that is not finished is said to be so
    distances, neighbours = kept.neighbours
    farthest = float(distances.max(initial=0)) or 1.0
    wide = "<u2" if len(labels) <= 65536 else "<i4"
    streams = [_stream(run, None)] + ([_stream(kept.drawing, kept.drawing.id)] if kept.drawing is not None else [])
    watched = run.watched
    return {
        "run": run.id,
        "view": kept.drawing.id if kept.drawing is not None else "live",
        "dataset": run.config.dataset,
        "classes": list(kept.classes),
        "n": len(labels),
        "labels": _base64(labels, "<u2"),
        "watched": [] if watched is None else watched.tolist(),
        "near": {
            "k": neighbours.shape[1],
            "wide": wide,
            "items": _base64(neighbours, wide),
            "distances": _base64(np.rint(distances / farthest * LARGEST_DISTANCE), "<u2"),
            "unit": farthest / LARGEST_DISTANCE,
        },
        "sprites": {
            "pngs": [b64encode(png).decode() for png in kept.sheets.pngs] if kept.sheets else [],
            "tile": kept.sheets.tile if kept.sheets else 28,
            "columns": sheets.COLUMNS,
            "per_sheet": sheets.PER_SHEET,
        },
        "streams": [stream for stream, _ in streams],
        "left_out": sum(left_out for _, left_out in streams),
    }


def _stream(record: Record, pid: str | None) -> tuple[dict[str, Any], int]:
    """The events of a record with its frames, and how many frames were left out.

    Of a run that has a replay only that is shown, so that the frames of its snapshots are not needed; only the map of
    what is shown needs frames at all, but the run's own are small.
    """
    events = record.events()
    replay = next((event for event in events if event["event"] == "replay"), None)
    left_out = 0
    if replay is not None:
        chosen = _fitting(replay["frames"])
        left_out = len(replay["frames"]) - len(chosen)
        events = [event if event is not replay else replay | {"frames": chosen} for event in events]
        shown = chosen
    else:
        drawn = [event for event in events if event["event"] == "frame"]
        kept = {id(event["frame"]) for event in _fitting([event | event["frame"] for event in drawn], drawn)}
        left_out = len(drawn) - len(kept)
        events = [event for event in events if event["event"] != "frame" or id(event["frame"]) in kept]
        shown = [event["frame"] for event in events if event.get("frame")]
    frames = {frame["id"]: b64encode(record.frame(frame["id"])).decode() for frame in shown}
    ended = [*events, {"event": "end", "state": record.state}]
    return {"pid": pid, "events": ended, "frames": frames}, left_out


def _fitting(frames: list[dict[str, Any]], whole: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    """All frames, or every second, third …, and the last, so that they fit; `whole` are what to give back instead."""
    weights = [2 * frame["n"] * frame["dims"] for frame in frames]
    given = frames if whole is None else whole
    every = 1
    while sum(weights[i] for i in _every(len(frames), every)) > MOST_FRAME_BYTES and every < len(frames):
        every += 1
    return [given[i] for i in _every(len(frames), every)]


def _every(count: int, every: int) -> list[int]:
    return sorted({*range(0, count, every), count - 1}) if count else []


def _base64(array: np.ndarray, kind: str) -> str:
    return b64encode(np.ascontiguousarray(array).astype(kind).tobytes()).decode()
