"""Disk quota: sizes of runs, and eviction: who pays, and in which order."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from enum import IntEnum
from functools import lru_cache
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz.runs.store import DamagedRun, Runs

MIN_FREE_BYTES = 50_000_000  # a run of the largest data set takes less
GB = 1_000_000_000
DEFAULT_LIMIT_GB = 5.0
RECENT_S = 3600.0  # seconds in which a run that made room can be restored, where the trash has room


def parse_limit(gigabytes: float | None = None) -> int:
    """Return the disk limit in bytes: `gigabytes`, else the environment variable DMLVIZ_DISK_LIMIT in GB, else 5 GB."""
    value = os.environ.get("DMLVIZ_DISK_LIMIT") if gigabytes is None else gigabytes
    try:
        limit = DEFAULT_LIMIT_GB if value is None or value == "" else float(value)
    except ValueError:
        limit = 0.0
    if not 0 < limit < float("inf"):
        raise UserError(f"The disk limit is a number of GB above 0; got {value!r}.")
    return round(limit * GB)


def run_size(path: Path) -> int:
    """Return the size of the files of a run's folder in bytes, projections included."""
    projections = sorted((path / "projections").glob("*/projection.json"))
    return _size(path, tuple(_stamp(folder) for folder in (path, *(projection.parent for projection in projections))))


def total_size(runs: Runs) -> int:
    """Return the size of all runs of the folder in bytes, including deleted runs that can be restored."""
    return sum(run_size(run.path) for run in _stored_runs(runs)) + sum(map(folder_size, runs.trash.runs()))


def _stored_runs(runs: Runs) -> list[Run | DamagedRun]:
    """Return the runs of the folder, including damaged ones, without ready-made ones."""
    readable, damaged = runs.look()
    every: list[Run | DamagedRun] = [*readable, *damaged]
    return [run for run in every if not runs.is_bundled(run)]


def creation_time(run: Run | DamagedRun) -> datetime:
    """Return when a run was made, or a damaged one last changed."""
    return run.created if isinstance(run, Run) else run.touched


class Rank(IntEnum):
    """How soon a run makes room for others; the lowest first."""

    BEYOND = 0  # of people who take more than they may
    TEMPORARY = 1  # of guests, and copies of ready-made runs
    KEPT = 2


def enforce(
    runs: Runs, limit: int, in_use: Callable[[str], bool], rank: Callable[[str], Rank] = lambda run: Rank.KEPT
) -> list[Run | DamagedRun]:
    """Move runs to the trash until the others fit, and permanently remove what the trash has no room for.

    Whoever takes more than they may pays first. A run makes room only for runs of its own rank or a higher one, and
    none for one that is under way, but those of people beyond their room.

    Args:
        runs: The runs.
        limit: The limit in bytes, of the trash too; what came into it within an hour may take a tenth more.
        in_use: Whether a run of this ID must stay; a run that trains stays too.
        rank: How soon a run makes room; the oldest of a rank first.

    Returns:
        The runs that are in the trash now, or gone.
    """
    stored = sorted(_stored_runs(runs), key=creation_time)
    ranks, sizes = {run.id: rank(run.id) for run in stored}, {run.id: run_size(run.path) for run in stored}
    under_way = {run.id for run in stored if isinstance(run, Run) and run.state == "running"}
    evicted = []
    for turn in Rank:
        counted = stored if turn is Rank.BEYOND else [one for one in stored if one.id not in under_way]
        excess = sum(sizes[one.id] for one in counted if ranks[one.id] >= turn) - limit
        for run in [one for one in stored if ranks[one.id] is turn]:
            is_kept = run.id in under_way or in_use(run.id) or (isinstance(run, Run) and run.pinned)
            if excess > 0 and not is_kept and _is_deleted(runs, run.id):
                excess -= sizes[run.id]
                stored.remove(run)
                evicted.append(run)
    _trim(runs, limit - sum(sizes[run.id] for run in stored), limit // 10)
    return evicted


def check_room(runs: Runs, run: str, limit: int) -> None:
    """Raise UserError if a run of the trash has no room beside the others: it would make room for them at once."""
    size = sum(folder_size(path) for path in runs.trash.runs() if path.name == run)
    used = sum(run_size(one.path) for one in _stored_runs(runs))
    if size and used + size > limit:
        raise UserError(
            f"There is no room for this run of {format_bytes(size)}: the others take {format_bytes(used)} of "
            f"{format_bytes(limit)}. Delete one of them first."
        )


def _is_deleted(runs: Runs, run: str) -> bool:
    try:
        runs.delete(run)
    except UserError:  # it is in use since, or gone
        return False
    return True


def _trim(runs: Runs, room: int, more: int) -> None:
    """Permanently remove the runs that were deleted first until the others fit; the last hour's have `more` room."""
    paths = runs.trash.runs()
    total, recent = sum(map(folder_size, paths)), time.time() - RECENT_S
    for path in paths:
        if total > max(room, 0) + (more if path.stat().st_mtime > recent else 0):
            total -= folder_size(path)
            runs.trash.remove(path.name)


def _stamp(path: Path) -> tuple[str, int]:
    # Every write is logged afterwards, so an unchanged log means an unchanged folder; but for the gallery's.
    times = [0]
    for name in ("events.jsonl", "gallery"):
        with suppress(OSError):
            times.append((path / name).stat().st_mtime_ns)
    return path.name, sum(times)


@lru_cache(maxsize=1024)
def _size(path: Path, _stamps: tuple[tuple[str, int], ...]) -> int:
    return folder_size(path)


def folder_size(path: Path) -> int:
    """Return the size of all files of a folder in bytes."""
    total = 0
    for file in path.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:  # a temporary file that is gone
            continue
    return total


def format_bytes(size: float) -> str:
    """Return a size as text.

    Examples:
        >>> format_bytes(5_300_000)
        '5.3 MB'
    """
    for unit in ("bytes", "kB", "MB"):
        if size < 999.5:
            return f"{size:.1f} {unit}" if unit == "MB" and size < 9.95 else f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
