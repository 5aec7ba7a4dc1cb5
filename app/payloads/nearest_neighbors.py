"""Nearest test image of every test image, for tooltips and for coloring errors.

Those of very many images are found by an index, in a process of its own, and kept in the folder of the run.
"""

import subprocess
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.errors import UserError
from dmlviz.runs.neighbor_table import FILE, by_index, stored_map_recall, stored_table
from dmlviz.runs.run import Run

if TYPE_CHECKING:
    from dmlviz.ops.neighbor_index import NeighborTable

EMBEDDINGS = "embeddings.npy"
FAILED = "The nearest neighbors could not be computed."
_lock = threading.Lock()
_processes: dict[tuple[Path, tuple[int, ...]], subprocess.Popen[str]] = {}  # by run, and its embeddings' stamp


def nearest_neighbor_bytes(run: Run) -> bytes | None:
    """The nearest other test image of each: n little-endian int32 indices, then n float32 distances.

    Where an index found them, two float32 follow: the share of the 10 nearest that are right, and the number of images
    on which that was measured. None while they are being computed; the first call begins.

    Raises:
        UserError: Before the run's end, or if they cannot be computed.
    """
    if run.embeddings is None:
        raise UserError(f"{run.title} has no embeddings of all test images yet.")
    if not by_index(run):
        return _nearest(str(run.path), run.info["created"])
    table = table_by_index(run)
    if table is None:
        return None
    accuracy = np.array([table.recall, table.measured], "<f4")
    parts = table.indices[:, 0].astype("<i4"), table.distances[:, 0].astype("<f4"), accuracy
    return b"".join(part.tobytes() for part in parts)


def table_by_index(run: Run) -> "NeighborTable | None":
    """The neighbors that an index found; None while they are being computed, one run at a time; the first call begins.

    Raises:
        UserError: If they cannot be computed.
    """
    with _lock:
        table = _stored(run.path, _stamp(run, FILE, EMBEDDINGS))
        if table is not None:
            return table
        key = run.path, _stamp(run, EMBEDDINGS)
        process = _processes.get(key)
        if process is not None and process.poll() is not None:
            del _processes[key]
            _, errors = process.communicate()
            table = _stored(run.path, _stamp(run, FILE, EMBEDDINGS))
            if table is None:
                said = (errors.strip().splitlines() or [FAILED])[-1]
                raise UserError(said if process.returncode == 2 else FAILED)
            return table
        if process is None and not any(other.poll() is None for other in _processes.values()):
            command = [sys.executable, "-m", "dmlviz.jobs.neighbor_table", str(run.path)]
            _processes[key] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return None


def map_recall_by_index(run: Run) -> np.ndarray | None:
    """The share of each image's 10 nearest that are near on the run's own map, too (n); None and errors as above."""
    return None if table_by_index(run) is None else stored_map_recall(run)


def _stamp(run: Run, *names: str) -> tuple[int, ...]:
    """Tell files that were written anew from those before."""
    files = [run.path / name for name in names]
    return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files)


@lru_cache(maxsize=4)
def _stored(path: Path, stamp: tuple[int, ...]) -> "NeighborTable | None":
    return stored_table(Run(path)) if stamp[0] else None


@lru_cache(maxsize=16)
def _nearest(path: str, created: str) -> bytes:
    """`created` tells a run that was trained again from the one before."""
    from dmlviz.ops.nearest_neighbors import NearestNeighbors

    run = Run(Path(path))
    embeddings = np.asarray(run.embeddings, np.float32)
    if run.labels is None or len(embeddings) < 2:
        raise UserError(f"{run.title} has no two test images with classes, so that none has a neighbor.")
    distances, items = NearestNeighbors(embeddings).others(1)
    content: bytes = items.astype("<i4").tobytes() + distances.astype("<f4").tobytes()
    return content
