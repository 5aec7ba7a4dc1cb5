"""What a machine of the fleet does with an order: train in a worker process of its own, say what happens, pack the run.

It knows nothing of how orders come and messages go. A message is a dictionary of plain types: `first`, the number
(0-based) of its first line; `lines` of the run's log; `files`, the bytes of small files that these lines speak of; and
`info`, fields for run.json.
"""

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import data_root
from dmlviz.fleet.errors import MachineLostError
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.archive import export_run
from dmlviz.runs.event_log_dir import FINAL_STATES
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.storage.files import FileLock, LogFollower

POLL_INTERVAL_S = 0.02  # seconds between two looks at a log
MAX_LIVE_FILE = 300_000  # bytes; larger files come with the packed run
MAX_LINES = 200  # of a message
LAST_EVENTS = ("replay", *FINAL_STATES)  # from the first of these on, a log comes with the packed run
LIVE_PHASES = ("queued", "starting", "running", "stopping")
SCRATCH = "dmlviz-machine-"


class Machine:
    """Trains what it is told, in worker processes that are warm; thread-safe.

    Args:
        slots: How many trainings at a time.
        data: The data folder.
    """

    def __init__(self, slots: int, data: Path | None = None) -> None:
        DATASETS.add_search_path(data_root(data))
        remove_stale_scratch()
        self.scratch = Path(tempfile.mkdtemp(prefix=SCRATCH))
        self._lock = FileLock(self.scratch / "lock")
        self._lock.acquire()
        self.jobs = JobScheduler(Runs(self.scratch / "runs"), slots=slots, data_root=data, inference=False)
        self._change = threading.Lock()
        self._orders: dict[str, str] = {}  # the run of each order

    def train(
        self, order: str, config: TrainConfig, send: Callable[[dict[str, Any]], object], wanted: Callable[[], bool]
    ) -> bytes:
        """Train, and return the packed run: a zip file as `export_run` writes it.

        Args:
            order: The name of the order.
            config: The settings.
            send: Gets each message.
            wanted: Whether anybody still waits for the result; asked all the time.

        Raises:
            UserError: If it cannot train these settings.
            MachineLostError: If the result is not wanted any more.
        """
        with self._change:
            self._orders[order] = config.id
        try:
            self.jobs.submit(config, owner=order)
            run = self.jobs.runs.get(config.id)
            self._follow(order, run, send, wanted)
            file = BytesIO()
            export_run(run, file, compress=False)
            return file.getvalue()
        finally:
            with self._change:
                del self._orders[order]
                if config.id not in self._orders.values():
                    shutil.rmtree(self.jobs.runs.folder / config.id, ignore_errors=True)

    def message_from(self, order: str, first: int) -> dict[str, Any] | None:
        """Return the message of the lines from number `first` on once more; None when the order is over."""
        with self._change:
            run = self._orders.get(order)
        if run is None:
            return None
        record = self.jobs.runs.get(run)
        return message_of(record, first, [line.decode() for line in record.log.lines(first)[:MAX_LINES]])

    def stop(self, order: str, force: bool) -> None:
        """Stop an order between two batches, or at once; nothing when it is over."""
        with self._change:
            run = self._orders.get(order)
        if run is None:
            return
        self.jobs.stop(run, owner=order)
        if force and self.jobs.status(run).phase == "stopping":
            self.jobs.stop(run, owner=order)

    def stop_all(self) -> None:
        """End every order at once: nobody waits for a result any more."""
        with self._change:
            orders = [*self._orders]
        for order in orders:
            self.stop(order, force=True)

    def close(self) -> None:
        """End every worker, and delete what they wrote."""
        self.jobs.close()
        self._lock.release()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _follow(
        self, order: str, run: Run, send: Callable[[dict[str, Any]], object], wanted: Callable[[], bool]
    ) -> None:
        follower = run.follow()
        while True:
            phase = self.jobs.status(run.id).phase  # asked first, so that the lines below include all before the end
            _send_new(run, follower, send)
            if phase not in LIVE_PHASES:
                return
            if not wanted():
                self.stop(order, force=True)
                raise MachineLostError("Nobody waits for this training any more.")
            time.sleep(POLL_INTERVAL_S)


def _send_new(run: Run, follower: LogFollower, send: Callable[[dict[str, Any]], object]) -> None:
    new = follower.read_new()
    for start in range(0, len(new), MAX_LINES):
        part = new[start : start + MAX_LINES]
        send(message_of(run, part[0][0], [line for _, line in part]))


def message_of(run: Run, first: int, lines: list[str]) -> dict[str, Any]:
    """Return the message of these lines of a run's log, `first` being the number of the first."""
    files: dict[str, bytes] = {}
    info: dict[str, Any] = {}
    for line in lines:
        event = json.loads(line)
        if event["event"] == "started":
            written = Run(run.path).info
            info = {name: written[name] for name in ("device", "threads") if name in written}
        for name in _files_of(event):
            path = run.path / name
            if path.is_file() and path.stat().st_size <= MAX_LIVE_FILE:
                files[name] = path.read_bytes()
    return {"first": first, "lines": lines, "files": files, "info": info}


def _files_of(event: dict[str, Any]) -> list[str]:
    """Return the files that a page needs when it reads this event."""
    match event["event"]:
        case "started":
            return ["labels.npy", "tracked.npy", "scored.npy"]
        case "snapshot":
            return [f"frames/{event['frame']['id']}.i16", f"snapshots/{event['step']}.npy"]
        case "batch":
            return [f"batches/{event['step']}.npz"]
    return []


def remove_stale_scratch() -> None:
    """Delete what machines left that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        if (folder / "lock").exists() and not FileLock(folder / "lock").locked:
            shutil.rmtree(folder, ignore_errors=True)
