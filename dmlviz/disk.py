"""How much room runs take, and how they are kept within a limit."""

import os
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.record import Run
from dmlviz.runs import DamagedRun, Runs

GB = 1_000_000_000
LIMIT = 5.0  # GB, unless somebody says otherwise


def limit_of(gigabytes: float | None = None) -> int:
    """Bytes that runs may take: as given, else the environment's DMLVIZ_DISK_LIMIT in GB, else 5 GB."""
    given = os.environ.get("DMLVIZ_DISK_LIMIT") if gigabytes is None else gigabytes
    try:
        found = LIMIT if given in (None, "") else float(given)  # type: ignore[arg-type]
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise UserError(f"The disk limit is a number of GB above 0; got {given!r}.")
    return round(found * GB)


def size_of(run: Run | DamagedRun) -> int:
    """Bytes of a run's files, its projections included."""
    drawings = sorted((run.path / "projections").glob("*/projection.json"))
    return _size(run.path, tuple(_stamp(path) for path in (run.path, *(drawing.parent for drawing in drawings))))


def used(runs: Runs) -> int:
    """Bytes of all runs of the folder, of those too that were deleted and can still come back."""
    return sum(map(size_of, _own(runs))) + sum(map(_total, runs.trash.runs()))


def _own(runs: Runs) -> list[Run | DamagedRun]:
    """Those of the folder, the damaged ones too: they take room like any other."""
    whole, damaged = runs.look()
    found: list[Run | DamagedRun] = [*whole, *damaged]
    return [run for run in found if not runs.comes_with_the_program(run)]


def _age(run: Run | DamagedRun) -> datetime:
    return run.created if isinstance(run, Run) else run.touched


def evict(runs: Runs, limit: int, in_use: Callable[[str], bool]) -> list[Run | DamagedRun]:
    """Remove what is too much for `limit` bytes for good: deleted runs first, then the oldest that nobody has pinned.

    Runs that train, or of which `in_use` says so, stay. Gives the runs that were removed.
    """
    total = used(runs)
    for path in runs.trash.runs():
        if total > limit:
            total -= _total(path)
            runs.trash.remove(path.name)
    gone = []
    for run in sorted(_own(runs), key=_age):
        if total <= limit:
            break
        if in_use(run.id) or (isinstance(run, Run) and (run.pinned or run.state == "running")):
            continue
        total -= size_of(run)
        runs.delete(run.id)
        runs.trash.remove(run.id)
        gone.append(run)
    return gone


def _stamp(path: Path) -> tuple[str, int]:
    # Whatever is written is told in the log afterwards, so that a log that stands still means a folder that does.
    try:
        return path.name, (path / "events.jsonl").stat().st_mtime_ns
    except OSError:
        return path.name, 0


@lru_cache(maxsize=1024)
def _size(path: Path, _stamps: tuple[tuple[str, int], ...]) -> int:
    return _total(path)


def _total(path: Path) -> int:
    total = 0
    for file in path.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:  # gone meanwhile: a temporary name
            continue
    return total


def readable(size: float) -> str:
    """Bytes as people say them: 940 kB, 5.3 MB, 1.2 GB."""
    for unit in ("bytes", "kB", "MB"):
        if size < 999.5:
            return f"{size:.1f} {unit}" if unit == "MB" and size < 9.95 else f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
