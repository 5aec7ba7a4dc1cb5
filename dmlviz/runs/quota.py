"""Disk quota: sizes of runs, and eviction of the oldest."""

import os
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz.runs.store import DamagedRun, Runs

GB = 1_000_000_000
DEFAULT_LIMIT_GB = 5.0


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


def _creation_time(run: Run | DamagedRun) -> datetime:
    return run.created if isinstance(run, Run) else run.touched


def enforce(runs: Runs, limit: int, in_use: Callable[[str], bool]) -> list[Run | DamagedRun]:
    """Permanently remove runs until they fit: first deleted runs, then the oldest unpinned ones.

    Args:
        runs: The runs.
        limit: The limit in bytes.
        in_use: Whether a run of this ID must stay; a run that trains stays too.

    Returns:
        The evicted runs.
    """
    total = total_size(runs)
    for path in runs.trash.runs():
        if total > limit:
            total -= folder_size(path)
            runs.trash.remove(path.name)
    evicted = []
    for run in sorted(_stored_runs(runs), key=_creation_time):
        if total <= limit:
            break
        if in_use(run.id) or (isinstance(run, Run) and (run.pinned or run.state == "running")):
            continue
        total -= run_size(run.path)
        runs.delete(run.id)
        runs.trash.remove(run.id)
        evicted.append(run)
    return evicted


def _stamp(path: Path) -> tuple[str, int]:
    # Every write is logged afterwards, so an unchanged log means an unchanged folder.
    try:
        return path.name, (path / "events.jsonl").stat().st_mtime_ns
    except OSError:
        return path.name, 0


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

    Example:
        >>> format_bytes(5_300_000)
        '5.3 MB'
    """
    for unit in ("bytes", "kB", "MB"):
        if size < 999.5:
            return f"{size:.1f} {unit}" if unit == "MB" and size < 9.95 else f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
