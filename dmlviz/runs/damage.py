"""What of a run on disk is damaged, and what can still be had of it: every file looked at, none believed."""

import zipfile
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import MISSING, DamagedFileError
from dmlviz.runs.run import EventLogDir, ProjectionRun, Run
from dmlviz.storage.arrays import read_shape, reading

Damage = tuple[DamagedFileError, ...]

# What is lost with a file, by how its name begins; the rest can still be had.
PARTS = ("scores", "map", "neighbors", "net", "earlier epochs", "batches")
_LOST = {
    "metrics.json": ("scores",),
    "events.jsonl": ("map",),
    "frames/": ("map",),
    "labels.npy": ("map", "neighbors", "earlier epochs", "batches"),
    "tracked.npy": ("map", "neighbors", "earlier epochs", "batches"),
    "embeddings.npy": ("neighbors",),
    "weights.safetensors": ("net",),
    "snapshots/": ("earlier epochs",),
    "nets/": ("earlier epochs",),
    "basis.npz": ("net", "batches"),
    "batches/": ("batches",),
}


def run_damage(run: Run) -> Damage:
    """What is damaged, looked at again only when something was written; nothing of a run that trains."""
    return () if run.lock.locked else _known(run.path, _stamps(run.path))


def told(damage: Damage) -> str:
    """Which file is damaged and what can still be had, in two sentences; empty where nothing is."""
    if not damage:
        return ""
    more = f", and {len(damage) - 1} more" if len(damage) > 1 else ""
    lost = {
        part for error in damage for start, parts in _LOST.items() if error.file.startswith(start) for part in parts
    }
    gone = [part for part in PARTS if part in lost]
    kept = [part for part in PARTS if part not in lost]
    what = f"Its {_listed(kept)} can still be had" if kept else "Nothing of it can be shown"
    but = f"; its {_listed(gone)} cannot, or not wholly." if gone and kept else "."
    return f"{damage[0].description}{more}. {what}{but}"


def check(run: Run, thorough: bool = False) -> Iterator[DamagedFileError]:
    """Every damage that a look at the files finds; a `thorough` one reads all of them to their last byte."""
    found: dict[str, Any] = {}
    parts: dict[str, Callable[[], object]] = {
        "labels": lambda: run.labels,
        "tracked": lambda: run.tracked_indices,
        "embeddings": lambda: run.embeddings,
        "metrics": lambda: run.metrics,
        "basis": lambda: run.linear_projection,
    }
    for name, part in parts.items():
        try:
            found[name] = part()
        except DamagedFileError as error:
            found[name] = error
            yield error
    events: list[dict[str, Any]] = []
    try:
        events = run.events()
    except DamagedFileError as error:
        yield error
    else:
        if not events and (found["labels"] is not None or found["embeddings"] is not None):
            yield DamagedFileError(run.log.path, "it is empty, or not there")
        yield from _missing(run, events, found)
    yield from _frames(run, events, thorough)
    yield from _series(run, events, found, thorough)
    for folder in sorted((run.path / "projections").glob("*")):
        yield from _drawing(ProjectionRun(folder), thorough)


def _missing(run: Run, events: list[dict[str, Any]], found: dict[str, Any]) -> Iterator[DamagedFileError]:
    """What the log says was written, and is not there."""
    kinds = {event["event"] for event in events}
    wanted = ["labels", "tracked"] if "started" in kinds else []
    over = events and events[-1]["event"] in ("finished", "stopped") and "test_images" in events[-1]
    if over:
        wanted += ["embeddings", "metrics", "basis"]
    files = {"metrics": "metrics.json", "basis": "basis.npz"}
    for name in wanted:
        if found[name] is None or (name == "metrics" and found[name] == {}):
            yield DamagedFileError(run.path / files.get(name, f"{name}.npy"), MISSING)
    weights = run.path / "weights.safetensors"
    if weights.exists():
        yield from _caught(_tensors, weights)
    elif over and run.config.steps > 0 and DATASETS[run.config.dataset].size > 0:
        yield DamagedFileError(weights, MISSING)


def _series(
    run: Run, events: list[dict[str, Any]], found: dict[str, Any], thorough: bool
) -> Iterator[DamagedFileError]:
    """What is kept of single steps."""
    wanted = (len(found["tracked"]) if isinstance(found["tracked"], np.ndarray) else None, run.config.embedding_dim)
    look: dict[str, tuple[str, Callable[[int], object]]] = {
        "snapshot": ("snapshots/{}.npy", run.snapshot if thorough else partial(_shaped, run, wanted)),
        "batch": ("batches/{}.npz", run.batch if thorough else lambda step: _zip(run.path / f"batches/{step}.npz")),
    }
    for event in events:
        if event["event"] in look:
            name, read = look[event["event"]]
            path = run.path / name.format(event["step"])
            if path.exists():
                yield from _caught(read, event["step"])
            else:
                yield DamagedFileError(path, MISSING)
    for step in run.checkpoint_steps:
        yield from _caught(_tensors, run.path / "nets" / f"{step}.safetensors")


def _frames(record: EventLogDir, events: list[dict[str, Any]], thorough: bool) -> Iterator[DamagedFileError]:
    """The frames that the log names."""
    for event in events:
        for frame in event.get("frames") or [event.get("frame")]:
            if frame is not None:
                yield from _caught(record.positions if thorough else record.sized, frame)


def _drawing(drawing: ProjectionRun, thorough: bool) -> Iterator[DamagedFileError]:
    try:
        _ = drawing.config
        events = drawing.events()
        places, _ = drawing.coordinates, drawing.quality
    except DamagedFileError as error:
        yield error
        return
    if events and events[-1]["event"] == "finished" and places is None:
        yield DamagedFileError(drawing.path / "coordinates.npy", MISSING)
    yield from _frames(drawing, events, thorough)


def _caught(look: Callable[..., object], *given: Any) -> Iterator[DamagedFileError]:
    try:
        look(*given)
    except DamagedFileError as error:
        yield error


def _shaped(run: Run, wanted: tuple[int | None, int], step: int) -> None:
    path = run.path / "snapshots" / f"{step}.npy"
    shape = read_shape(path)
    if shape is None or len(shape) != 2 or shape[1] != wanted[1] or (wanted[0] or shape[0]) != shape[0]:
        raise DamagedFileError(path, "it does not hold the embeddings of the tracked images")


def _zip(path: Path) -> None:
    with reading(path), zipfile.ZipFile(path):
        pass


def _tensors(path: Path) -> None:
    """The header of a safetensors file, which says how long the file has to be."""
    from safetensors import SafetensorError, safe_open

    try:
        with reading(path), safe_open(path, "numpy") as tensors:
            tensors.keys()
    except SafetensorError:
        raise DamagedFileError(path, "it is cut off or changed") from None


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


_WRITTEN = (
    *("run.json", "events.jsonl", "labels.npy", "tracked.npy", "embeddings.npy", "metrics.json", "basis.npz"),
    *("weights.safetensors", "frames", "snapshots", "batches", "nets", "projections"),
)


def _stamps(path: Path) -> tuple[object, ...]:
    """What changes whenever something of a run is written."""
    places = [path / name for name in _WRITTEN]
    places += (path / "projections").glob("*/events.jsonl")
    return tuple(_stamp(place) for place in places)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=1024)
def _known(path: Path, _stamps: tuple[object, ...]) -> Damage:
    try:
        found = {error.file: error for error in reversed([*check(Run(path))])}  # one damage can spoil several readings
        return tuple(reversed(found.values()))
    except DamagedFileError as error:  # its settings, written anew since the caller looked
        return (error,)
