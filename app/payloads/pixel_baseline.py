"""Raw-pixel baseline scores: computed once per data set in a process of their own, and cached."""

import hashlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz.storage.files import read_json, write_json

TIMEOUT_S = 300.0  # seconds; two busy cores need ten
_locks = threading.Lock()


def pixel_baseline(run: Run, data_root: Path, folder: Path) -> dict[str, Any]:
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
    tracked = run.tracked_indices
    if tracked is None:
        raise UserError(f"{run.title} has not begun, so it has no images to compare yet.")
    scored = run.scored_indices
    rows = b"test" + tracked.tobytes() if scored is None else b"validation" + scored.tobytes()
    path = folder / f"pixels-{hashlib.sha256(rows).hexdigest()[:16]}.json"
    with _locks:
        scores: dict[str, Any] | None = read_json(path)
        if scores is None:
            scores = _measure(run, data_root)
            folder.mkdir(parents=True, exist_ok=True)
            write_json(path, scores)
    return scores


def _measure(run: Run, data_root: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "dmlviz.jobs.pixel_baseline", str(run.path), "--data", str(data_root)]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        scores: dict[str, Any] = json.loads(process.stdout)
    except (subprocess.SubprocessError, OSError, ValueError):
        raise UserError("The raw-pixel baseline could not be computed.") from None
    return scores
