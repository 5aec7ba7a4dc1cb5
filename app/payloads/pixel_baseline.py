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
    """The retrieval scores of the run's tracked images, compared pixel by pixel; kept in `folder`, of its data set.

    Waits while they are measured; raises UserError where they cannot be.
    """
    tracked = run.tracked_indices
    if tracked is None:
        raise UserError(f"{run.title} has not begun, so it has no images to compare yet.")
    path = folder / f"pixels-{hashlib.sha256(tracked.tobytes()).hexdigest()[:16]}.json"
    with _locks:
        scores: dict[str, Any] | None = read_json(path)
        if scores is None:
            scores = _measure(run, data_root)
            folder.mkdir(parents=True, exist_ok=True)
            write_json(path, scores)
    return scores


def _measure(run: Run, data_root: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "dmlviz.runs.pixel_baseline", str(run.path), "--data", str(data_root)]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        scores: dict[str, Any] = json.loads(process.stdout)
    except (subprocess.SubprocessError, OSError, ValueError):
        raise UserError("The raw-pixel baseline could not be computed.") from None
    return scores
