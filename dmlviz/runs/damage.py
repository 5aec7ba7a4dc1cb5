"""Finds damaged files of a run, and the parts that stay usable."""

import zipfile
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import MISSING, DamagedFileError
from dmlviz.runs.run import LOSS_WEIGHTS, EventLogDir, ProjectionRun, Run
from dmlviz.storage.arrays import read_shape, reading
from dmlviz.storage.regular_file import open_regular, regular_path
from dmlviz.storage.run_schema.events import KeptEvent, TrainingEvent, frames_of

Damage = tuple[DamagedFileError, ...]
CHECKS = 2  # raise it when `check` finds more or less than before: what was found earlier is then forgotten

PARTS = ("scores", "map", "neighbors", "net", "earlier epochs", "batches", "columns")
# The files without which a run has no such part; every run has the others.
_HOLDERS = {
    "net": "weights.safetensors",
    "earlier epochs": "snapshots/*.npy",
    "batches": "batches/*.npz",
    "columns": "columns.parquet",
}
# The parts of a run that depend on a file, by prefix of its name.
_DEPENDENTS = {
    "columns.parquet": ("columns",),
    "metrics.json": ("scores",),
    "scored.npy": ("scores",),
    "events.jsonl": ("map",),
    "frames/": ("map",),
    "labels.npy": ("map", "neighbors", "earlier epochs", "batches"),
    "tracked.npy": ("map", "neighbors", "earlier epochs", "batches"),
    "embeddings.npy": ("neighbors",),
    "weights.safetensors": ("net",),
    "loss.safetensors": ("net",),
    "snapshots/": ("earlier epochs",),
    "nets/": ("earlier epochs",),
    "basis.npz": ("net", "batches"),
    "batches/": ("batches",),
}


def damage_summary(run: Run, damage: Damage) -> str:
    """Return which file is damaged and which parts of the run stay usable, in two sentences; "" for no damage."""
    if not damage:
        return ""
    more = f", and {len(damage) - 1} more" if len(damage) > 1 else ""
    lost_parts = {
        part
        for error in damage
        for start, parts in _DEPENDENTS.items()
        if error.file.startswith(start)
        for part in parts
        if fnmatch(error.file, _HOLDERS.get(part, "*")) or _has(run, part)
    }
    names = [part for part in PARTS if part in lost_parts]
    usable = [part for part in PARTS if part not in lost_parts and _has(run, part)]
    if not usable:
        consequence = "Nothing of the run can be shown."
    elif names:
        consequence = f"Unavailable or incomplete: {', '.join(names)}. Still available: {', '.join(usable)}."
    else:
        consequence = f"Still available: {', '.join(usable)}."
    return f"{damage[0].description}{more}. {consequence}"


def _has(run: Run, part: str) -> bool:
    if part == "scores":  # embeddings without classes have none
        return bool(run.metrics) or any(run.path.glob(_HOLDERS["earlier epochs"]))
    return part not in _HOLDERS or any(run.path.glob(_HOLDERS[part]))


def check(run: Run, thorough: bool = False) -> Iterator[DamagedFileError]:
    """Yield every damaged file; `thorough` reads all files in full, otherwise only headers and small files."""
    parts: dict[str, Any] = {}
    readers: dict[str, Callable[[], object]] = {
        "labels": lambda: run.labels,
        "tracked": lambda: run.tracked_indices,
        "scored": lambda: run.scored_indices,
        "embeddings": lambda: run.embeddings,
        "metrics": lambda: run.metrics,
        "basis": lambda: run.linear_projection,
        "columns": lambda: run.columns,
    }
    for name, read_part in readers.items():
        try:
            parts[name] = read_part()
        except DamagedFileError as error:
            parts[name] = error
            yield error
    events: list[TrainingEvent] = []
    try:
        events = run.events()
    except DamagedFileError as error:
        yield error
    else:
        if not events and (parts["labels"] is not None or parts["embeddings"] is not None):
            yield DamagedFileError(run.log.path, "it is empty, or not there")
        yield from _missing(run, events, parts)
    yield from _frames(run, events, thorough)
    yield from _series(run, events, parts, thorough)
    for folder in sorted((run.path / "projections").glob("*")):
        yield from _projection(ProjectionRun(folder), thorough)


def _missing(run: Run, events: list[TrainingEvent], parts: dict[str, Any]) -> Iterator[DamagedFileError]:
    """Yield the files that the log mentions and that are missing."""
    kinds = {event["event"] for event in events}
    names = ["labels", "tracked"] if "started" in kinds else []
    if any(event["event"] == "started" and event["validation_images"] for event in events):
        names.append("scored")
    complete = events and events[-1]["event"] in ("finished", "stopped") and "test_images" in events[-1]
    if complete:
        names += ["embeddings", "basis"]
        if not (run.path / "metrics.json").exists():  # it holds no scores if there are no two classes
            yield DamagedFileError(run.path / "metrics.json", MISSING)
    for name in names:
        if parts[name] is None:
            yield DamagedFileError(run.path / ("basis.npz" if name == "basis" else f"{name}.npy"), MISSING)
    if (run.path / LOSS_WEIGHTS).exists():
        yield from _damage_of(_check_safetensors, run.path / LOSS_WEIGHTS)
    weights = run.path / "weights.safetensors"
    if weights.exists():
        yield from _damage_of(_check_safetensors, weights)
    elif complete and DATASETS[run.config.dataset].trainable:
        yield DamagedFileError(weights, MISSING)


def _series(run: Run, events: list[TrainingEvent], parts: dict[str, Any], thorough: bool) -> Iterator[DamagedFileError]:
    """Yield damage to snapshots, batches and checkpoints."""
    shape = (len(parts["tracked"]) if isinstance(parts["tracked"], np.ndarray) else None, run.config.embedding_dim)
    readers: dict[str, tuple[str, Callable[[int], object]]] = {
        "snapshot": ("snapshots/{}.npy", run.snapshot if thorough else partial(_check_snapshot, run, shape)),
        "batch": (
            "batches/{}.npz",
            run.batch if thorough else lambda step: _check_zip(run.path / f"batches/{step}.npz"),
        ),
    }
    for event in events:
        if event["event"] == "snapshot" or event["event"] == "batch":
            name, read = readers[event["event"]]
            path = run.path / name.format(event["step"])
            if path.exists():
                yield from _damage_of(read, event["step"])
            else:
                yield DamagedFileError(path, MISSING)
    for step in run.checkpoint_steps:
        yield from _damage_of(_check_safetensors, run.path / "nets" / f"{step}.safetensors")


def _frames(record: EventLogDir, events: Sequence[KeptEvent], thorough: bool) -> Iterator[DamagedFileError]:
    """Yield damage to the frames in the log."""
    for event in events:
        for frame in frames_of(event):
            yield from _damage_of(record.positions if thorough else record.check_frame, frame)


def _projection(projection: ProjectionRun, thorough: bool) -> Iterator[DamagedFileError]:
    try:
        _ = projection.config
        events = projection.events()
        coordinates, _ = projection.coordinates, projection.quality
    except DamagedFileError as error:
        yield error
        return
    if events and events[-1]["event"] == "finished" and coordinates is None:
        yield DamagedFileError(projection.path / "coordinates.npy", MISSING)
    yield from _frames(projection, events, thorough)


def _damage_of(read: Callable[..., object], *arguments: Any) -> Iterator[DamagedFileError]:
    try:
        read(*arguments)
    except DamagedFileError as error:
        yield error
    except FileNotFoundError as error:  # removed since the folder was listed
        yield DamagedFileError(Path(error.filename), MISSING)


def _check_snapshot(run: Run, expected: tuple[int | None, int], step: int) -> None:
    path = run.path / "snapshots" / f"{step}.npy"
    shape = read_shape(path)
    if shape is None or len(shape) != 2 or shape[1] != expected[1] or (expected[0] or shape[0]) != shape[0]:
        raise DamagedFileError(path, "it does not hold the embeddings of the tracked images")


def _check_zip(path: Path) -> None:
    with reading(path), open_regular(path) as file, zipfile.ZipFile(file):
        pass


def _check_safetensors(path: Path) -> None:
    """Check the header of a safetensors file, which implies the length of the file."""
    from safetensors import SafetensorError, safe_open

    try:
        with reading(path), regular_path(path) as name, safe_open(name, "numpy") as tensors:
            tensors.keys()
    except SafetensorError:
        raise DamagedFileError(path, "it is cut off or changed") from None
