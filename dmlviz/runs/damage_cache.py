"""The damage of a run, found once: kept in memory, and in a folder for the next process."""

import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from dmlviz.errors import DamagedFileError
from dmlviz.runs.damage import CHECKS, Damage, check
from dmlviz.runs.files import FILES
from dmlviz.runs.run import Run
from dmlviz.runs.store import package_version
from dmlviz.storage.file_cache import stamp
from dmlviz.storage.files import read_json, write_json

# Every write to a run changes the size or the time of one of these.
_WRITTEN = tuple(dict.fromkeys(file.name.partition("/")[0] for file in FILES))
_checking = threading.Lock()


def run_damage(run: Run, cache: Path | None = None) -> Damage:
    """Return the damaged files of a run, cached until the run changes; none while it trains.

    Args:
        run: The run.
        cache: The folder that keeps results between processes (see `Runs.damage_cache`); None for memory only.
    """
    if run.lock.locked:
        return ()
    stamps = _stamps(run.path)
    with _checking:  # the warm-up and the first page ask at the same time
        return _damage(run.path, stamps, cache)


@lru_cache(maxsize=1024)
def _damage(path: Path, _stamps: tuple[object, ...], cache: Path | None) -> Damage:
    if cache is None:
        return _check(path)
    fingerprint, cache_file = _fingerprint(path), cache / f"{path.name}.json"
    record = read_json(cache_file)
    if isinstance(record, dict) and record.get("fingerprint") == fingerprint:
        return tuple(DamagedFileError(path / file, reason) for file, reason in record["damage"])
    damage = _check(path)
    with contextlib.suppress(OSError):  # a folder that cannot be written keeps nothing
        cache.mkdir(exist_ok=True)
        write_json(cache_file, {"fingerprint": fingerprint, "damage": [(error.file, error.reason) for error in damage]})
    return damage


def _check(path: Path) -> Damage:
    try:
        by_file = {error.file: error for error in reversed([*check(Run(path))])}  # one file can fail several checks
        return tuple(reversed(by_file.values()))
    except DamagedFileError as error:  # the settings, rewritten since the caller read them
        return (error,)


def _stamps(path: Path) -> tuple[object, ...]:
    """Return the stamps of what changes whenever a run is written."""
    paths = [path / name for name in _WRITTEN]
    paths += (path / "projections").glob("*/events.jsonl")
    return tuple(stamp(path) for path in paths)


def _fingerprint(path: Path) -> str:
    """Return a hash of name, size, time and inode of every file of a run, and of the version that checks them."""
    lines = [package_version("dmlviz"), str(CHECKS), *sorted(_files(path))]
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()


def _files(folder: Path | str) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:  # what is being deleted does not count
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            else:
                status = entry.stat(follow_symlinks=False)
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns} {status.st_ino}"
