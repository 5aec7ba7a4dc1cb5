"""Baselines, measured once in processes of their own, and cached: curves, and the scores of raw pixels.

The curves are those of raw pixels and of the untrained net.
"""

import hashlib
import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.figures import baselines
from dmlviz.figures.baselines import Baseline
from dmlviz.figures.palette import BASELINES
from dmlviz.runs.run import Run
from dmlviz.storage.files import read_json
from dmlviz_app.protocol.progress import BaselineProgress
from dmlviz_app.run_views.cached_file import keep_file
from dmlviz_app.run_views.sprites import ImageTiles

TIMEOUT_S = 300.0  # seconds; a busy machine needs twenty
_lock = threading.Lock()
_underway: set[Path] = set()
_failures: set[Path] = set()
_locks = threading.Lock()


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
    """Return the files of the measured baselines by name, and whether others are under way."""
    paths = {name: _path(name, run, tiles.folder(cache), tracked) for name in BASELINES}
    with _lock:
        for name, path in paths.items():
            if not path.exists() and path not in _underway | _failures:
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
            _failures.add(path)  # the figure does without
    finally:
        with _lock:
            _underway.discard(path)


def pixel_baseline(run: Run, data_root: Path, folder: Path) -> dict[str, float | None]:
    """Score the images that the run's snapshots score by the distances of their pixels; waits meanwhile.

    Args:
        run: The run.
        data_root: Folder of the data sets.
        folder: Cache folder of the data set.

    Returns:
        The retrieval scores, by name.

    Raises:
        UserError: Before the run has started, or if the scores cannot be computed.
    """
    indices = run.tracked_indices
    if indices is None:
        raise UserError(f"{run.title} has not begun, so it has no images to compare yet.")
    validation = run.scored_indices
    rows = b"test" + indices.tobytes() if validation is None else b"validation" + validation.tobytes()
    path = folder / f"pixels-{hashlib.sha256(rows).hexdigest()[:16]}.json"
    with _locks:
        scores: dict[str, float | None] | None = read_json(path)
        if scores is None:
            scores = _pixel_scores(run, data_root)
            keep_file(path, json.dumps(scores).encode())
    return scores


def _pixel_scores(run: Run, data_root: Path) -> dict[str, float | None]:
    command = [sys.executable, "-m", "dmlviz.workers.run_measure", "pixels", str(run.path), "--data", str(data_root)]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        scores: dict[str, float | None] = json.loads(process.stdout)
    except (subprocess.SubprocessError, OSError, ValueError):
        raise UserError("The raw-pixel baseline could not be computed.") from None
    return scores
