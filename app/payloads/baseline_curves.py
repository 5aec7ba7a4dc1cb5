"""Curves of raw pixels and of the untrained net: measured once in processes of their own, and cached."""

import hashlib
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from app.payloads.protocol.progress import BaselineProgress
from app.payloads.sprites import ImageTiles
from dmlviz.figures import baselines
from dmlviz.figures.baselines import Baseline
from dmlviz.figures.palette import BASELINES
from dmlviz.runs.run import Run

TIMEOUT_S = 300.0  # seconds; a busy machine needs twenty
_lock = threading.Lock()
_underway: set[Path] = set()
_failed: set[Path] = set()


@dataclass(frozen=True)
class BaselineCurves:
    """The baselines that are measured, and whether others still are."""

    baselines: list[Baseline]
    pending: bool


def baseline_curves(run: Run, tiles: ImageTiles, tracked: bool, data_root: Path, cache: Path) -> BaselineCurves:
    """Return the baselines of a run's test images; those that are missing are measured in the background.

    Args:
        run: The run.
        tiles: Its test images.
        tracked: The images of the snapshots only.
        data_root: Folder of the data sets.
        cache: Folder for what can be made again.
    """
    ready, pending = _state(run, tiles, tracked, data_root, cache)
    return BaselineCurves([baselines.read(name, path) for name, path in ready.items()], pending)


def baseline_progress(run: Run, tiles: ImageTiles, tracked: bool, data_root: Path, cache: Path) -> BaselineProgress:
    """Return how many baselines are measured, and whether others still are; see `baseline_curves`."""
    ready, pending = _state(run, tiles, tracked, data_root, cache)
    return {"measured": len(ready), "pending": pending}


def _state(run: Run, tiles: ImageTiles, tracked: bool, data_root: Path, cache: Path) -> tuple[dict[str, Path], bool]:
    """The files of the baselines that are measured, by name, and whether others are under way."""
    paths = {name: _path(name, run, tiles.folder(cache), tracked) for name in BASELINES}
    with _lock:
        for name, path in paths.items():
            if not path.exists() and path not in _underway | _failed:
                _underway.add(path)
                threading.Thread(target=_measure, args=(name, run.path, path, tracked, data_root), daemon=True).start()
        ready = {name: path for name, path in paths.items() if path.exists()}
        pending = any(path in _underway for path in paths.values())
    return ready, pending


def _path(name: str, run: Run, folder: Path, tracked: bool) -> Path:
    """Pixels are those of the data set, an untrained net is that of its settings."""
    parts = [name]
    indices = run.tracked_indices
    if tracked and indices is not None:
        parts.append(hashlib.sha256(indices.tobytes()).hexdigest()[:16])
    if name != "raw pixels":
        parts.append(run.id)
    return folder / f"curves-{'-'.join(parts).replace(' ', '_')}.npz"


def _measure(name: str, run: Path, path: Path, tracked: bool, data_root: Path) -> None:
    command = [sys.executable, "-m", "dmlviz.figures.baselines", str(run), name, str(path), "--data", str(data_root)]
    command += ["--tracked"] if tracked else []
    try:
        subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=True)
    except (subprocess.SubprocessError, OSError):
        with _lock:
            _failed.add(path)  # the figure does without
    finally:
        with _lock:
            _underway.discard(path)
