"""Finds damaged files of a run, and the parts that stay usable."""

import threading
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import MISSING, DamagedFileError
from dmlviz.runs.files import FILES, PARTS, file_named
from dmlviz.runs.run import EventLogDir, ProjectionRun, Run
from dmlviz.storage.file_cache import stamp
from dmlviz.storage.run_schema.events import KeptEvent, TrainingEvent, frames_of

Damage = tuple[DamagedFileError, ...]
_HOLDERS = {file.holds: file.name.replace("STEP", "*") for file in FILES if file.holds}
# Every write to a run changes the size or the time of one of these.
_WRITTEN = tuple(dict.fromkeys(file.name.partition("/")[0] for file in FILES))
_checking = threading.Lock()


def run_damage(run: Run) -> Damage:
    """Return the damaged files of a run, kept in memory until the run changes; none while it trains."""
    if run.lock.locked:
        return ()
    paths = [*(run.path / name for name in _WRITTEN), *(run.path / "projections").glob("*/events.jsonl")]
    with _checking:  # the warm-up and the first page ask at the same time
        return _damage(run.path, tuple(map(stamp, paths)))


@lru_cache(maxsize=1024)
def _damage(path: Path, _stamps: tuple[object, ...]) -> Damage:
    try:
        by_file = {error.file: error for error in reversed([*check(Run(path))])}  # one file can fail several checks
        return tuple(reversed(by_file.values()))
    except DamagedFileError as error:  # the settings, rewritten since the caller read them
        return (error,)


def damage_summary(run: Run, damage: Damage) -> str:
    """Return which file is damaged and which parts of the run stay usable, in two sentences; "" for no damage."""
    if not damage:
        return ""
    more = f", and {len(damage) - 1} more" if len(damage) > 1 else ""
    lost_parts = {
        part
        for error in damage
        if (file := file_named(error.file)) is not None
        for part in file.parts
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
    for file in FILES:
        if not file.is_of_step and (run.path / file.name).exists():
            yield from _damage_of(file.read, run)
    events: list[TrainingEvent] = []
    try:
        events = run.events()
    except DamagedFileError as error:
        yield error
    else:
        if not events and any((run.path / name).exists() for name in ("labels.npy", "embeddings.npy")):
            yield DamagedFileError(run.log.path, "it is empty, or not there")
    due = {*_milestones(run, events)}
    for file in FILES:
        if file.since in due and not file.is_of_step and not (run.path / file.name).exists():
            yield DamagedFileError(run.path / file.name, MISSING)
    yield from _frames(run, events, thorough)
    steps = {"checkpoint": run.checkpoint_steps}
    steps |= {kind: [event["step"] for event in events if event["event"] == kind] for kind in ("snapshot", "batch")}
    for file in FILES:
        for step in steps[file.since] if file.is_of_step else ():
            path = run.path / file.name.replace("STEP", str(step))
            if path.exists():
                yield from _damage_of(file.read if thorough else file.glance or file.read, run, step)
            else:
                yield DamagedFileError(path, MISSING)
    for folder in sorted((run.path / "projections").glob("*")):
        yield from _projection(ProjectionRun(folder), thorough)


def _milestones(run: Run, events: list[TrainingEvent]) -> Iterator[str]:
    """Yield since when a run has files, as `RunFile.since` names it."""
    for event in events:
        if event["event"] == "started":
            yield from ("started", "validation") if event["validation_images"] else ("started",)
    if events and events[-1]["event"] in ("finished", "stopped") and "test_images" in events[-1]:
        yield from ("complete", "trained") if DATASETS[run.config.dataset].trainable else ("complete",)


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
