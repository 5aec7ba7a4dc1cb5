"""What a run finds in its training data: looked for in a process of its own, once, and cached."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from app.payloads.protocol.common import ROUTES
from app.runtime.services import Services
from dmlviz.catalog.datasets import DATASETS
from dmlviz.cleaning.process import COLUMNS, VERSION
from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz.storage.files import read_json

_lock = threading.Lock()
_processes: dict[Path, subprocess.Popen[str]] = {}
FAILED = "The training data could not be looked through."


def findings(run: Run, services: Services) -> dict[str, Any]:
    """Return the rows of the review sheet, or that they are being looked for; the first call begins.

    Raises:
        UserError: If the run has no net, or the search failed.
    """
    if not (run.path / "weights.safetensors").exists():
        raise UserError(f"{run.title} has no net, so there is nothing to look through its training data with.")
    path = findings_path(run, services)
    with _lock:
        found = read_json(path) if path.is_file() else None
        if isinstance(found, dict):
            return {"state": "found"} | found | _sheet(run)
        process = _processes.get(path)
        if process is None:
            _processes[path] = _start(run, services, path)
        elif process.poll() is not None:
            del _processes[path]
            _, errors = process.communicate()
            raise UserError((errors.strip().splitlines() or [FAILED])[-1] if process.returncode == 2 else FAILED)
    return {"state": "working"}


def findings_path(run: Run, services: Services) -> Path:
    """The file with the findings of a run, as it was trained last."""
    return services.cache / "cleaning" / f"{run.id}-{int(run.created.timestamp())}-{VERSION}.json"


def _start(run: Run, services: Services, out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dmlviz.cleaning.process", str(run.path), "--data", str(services.data)]
    return subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _sheet(run: Run) -> dict[str, Any]:
    tiles = {"tile": DATASETS[run.config.dataset].size, "columns": COLUMNS, "per_sheet": 1_000_000}
    return {"sheet": tiles | {"urls": [f"{ROUTES}/runs/{run.id}/cleaning.png"]}}
