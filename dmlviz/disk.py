"""How much room runs take."""

from functools import lru_cache
from pathlib import Path

from dmlviz.record import Record, Run


def size_of(run: Run) -> int:
    """Bytes of a run's files, its projections included."""
    return _size(run.path, tuple(_stamp(record) for record in (run, *run.drawings())))


def readable(size: float) -> str:
    """Bytes as people say them: 940 kB, 5.3 MB, 1.2 GB."""
    for unit in ("bytes", "kB", "MB"):
        if size < 999.5:
            return f"{size:.0f} {unit}" if unit != "MB" or size >= 9.95 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _stamp(record: Record) -> tuple[str, int]:
    # Whatever is written is told in the log afterwards, so that a log that stands still means a folder that does.
    try:
        return record.id, record.log.path.stat().st_mtime_ns
    except FileNotFoundError:
        return record.id, 0


@lru_cache(maxsize=1024)
def _size(path: Path, _stamps: tuple[tuple[str, int], ...]) -> int:
    total = 0
    for file in path.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:  # gone meanwhile: a temporary name
            continue
    return total
