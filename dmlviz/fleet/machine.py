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
from dmlviz.errors import UserError
from dmlviz.fleet.errors import MachineLostError
from dmlviz.fleet.orders import ORDER_NAME, Record
from dmlviz.fleet.trials import pack_trial
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.jobs.trial_record import TrialRecord
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
KEEP_S = 600.0  # seconds that a training goes on for a server that is gone and may come back
KEEP_RESULT_S = 60.0  # seconds that a finished run is kept, in case the server dies while it takes it


class Machine:
    """Trains what it is told, in worker processes that are warm; thread-safe.

    A training whose server is gone goes on for a while, unless its slot is needed. When the server comes back and
    orders the same again, it gets all of it.

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
        self._trials: dict[str, TrialRecord] = {}  # the trial of each order that is one
        self._abandoned: set[str] = set()  # orders whose server cannot be reached
        self._kept: dict[str, threading.Timer] = {}  # runs that nobody waits for now, and what deletes them

    def work(
        self,
        order: str,
        content: dict[str, Any],
        send: Callable[[dict[str, Any]], object],
        wanted: Callable[[], bool],
    ) -> bytes:
        """Do what is ordered, a training or a trial, and return it packed.

        Args:
            order: The name of the order.
            content: What to do, as `dmlviz.fleet.orders.content_of` has it.
            send: Gets each message.
            wanted: Whether anybody still waits for the result; asked all the time.

        Raises:
            UserError: If it cannot do this.
            MachineLostError: If the result is not wanted any more.
        """
        if isinstance(content.get("config"), dict):
            return self.train(order, TrainConfig(**content["config"]), send, wanted)
        if isinstance(content.get("trial"), dict) and isinstance(content.get("lab"), str):
            return self.try_out(order, {"lab": content["lab"], "trial": content["trial"]}, send, wanted)
        raise UserError("The order names neither settings nor a trial.")

    def try_out(
        self,
        order: str,
        trial: dict[str, Any],
        send: Callable[[dict[str, Any]], object],
        wanted: Callable[[], bool],
    ) -> bytes:
        """Do a trial of a study, and return what it wrote; the rest as `work`."""
        if not ORDER_NAME.fullmatch(order):
            raise UserError("The order has no name that can be a folder's.")
        record = TrialRecord.create(self.scratch / "trials" / order, trial)
        with self._change:
            self._trials[order] = record
        try:
            self._make_room("")
            key = self.jobs.try_out(order, record, str(trial["trial"].get("dataset")))
            follower = record.follow()
            while True:
                is_over = not self.jobs.owners_of(key)  # asked first, so that the lines include all before the end
                _send_new(record, follower, send)
                if is_over:
                    return pack_trial(record)
                if order in self._abandoned or not wanted():
                    raise MachineLostError("Nobody waits for this trial any more.")
                time.sleep(POLL_INTERVAL_S)
        finally:
            while self.jobs.stop("", trial=order):  # asked a second time it ends at once
                time.sleep(POLL_INTERVAL_S)
            with self._change:
                del self._trials[order]
                self._abandoned.discard(order)
            shutil.rmtree(record.path, ignore_errors=True)

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
            if (timer := self._kept.pop(config.id, None)) is not None:
                timer.cancel()
        keep_s = 0.0
        try:
            self._make_room(config.id)
            self.jobs.submit(config)
            run = self.jobs.runs.get(config.id)
            self._follow(order, run, send, wanted)
            file = BytesIO()
            export_run(run, file, compress=False)
            keep_s = KEEP_RESULT_S if run.state == "finished" else 0.0
            return file.getvalue()
        except MachineLostError:
            keep_s = KEEP_S
            raise
        finally:
            with self._change:
                del self._orders[order]
                self._abandoned.discard(order)
                self._keep(config.id, keep_s)

    def message_from(self, order: str, first: int) -> dict[str, Any] | None:
        """Return the message of the lines from number `first` on once more; None when the order is over."""
        with self._change:
            run, trial = self._orders.get(order), self._trials.get(order)
        if run is None and trial is None:
            return None
        record = trial or self.jobs.runs.get(str(run))
        return message_of(record, first, [line.decode() for line in record.log.lines(first)[:MAX_LINES]])

    def stop(self, order: str, force: bool) -> None:
        """Stop an order between two batches, or at once; nothing when it is over, or others wait for the same run."""
        with self._change:
            run, is_trial = self._orders.get(order), order in self._trials
        if is_trial:
            self.jobs.stop("", trial=order)
            if force:
                self.jobs.stop("", trial=order)
            return
        with self._change:
            if run is None or [*self._orders.values()].count(run) > 1:
                return
        self.jobs.stop(run)
        if force and self.jobs.status(run).phase == "stopping":
            self.jobs.stop(run)

    def abandon_all(self) -> None:
        """Note that no server can be reached: each training goes on for a while, in case its server comes back."""
        with self._change:
            self._abandoned.update(self._orders, self._trials)

    def close(self) -> None:
        """End every worker, and delete what they wrote."""
        with self._change:
            for timer in self._kept.values():
                timer.cancel()
            self._kept.clear()
        self.jobs.close()
        self._lock.release()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _keep(self, run: str, seconds: float) -> None:
        """Keep a run for some seconds if no order waits for it; then end and delete it. Called with the lock."""
        if run in self._orders.values() or run in self._kept:
            return
        if seconds == 0:
            shutil.rmtree(self.jobs.runs.folder / run, ignore_errors=True)
            return
        timer = threading.Timer(seconds, self._drop, [run])
        timer.daemon = True
        self._kept[run] = timer
        timer.start()

    def _drop(self, run: str) -> None:
        """End and delete a run that was kept, unless an order wants it by now."""
        with self._change:
            if self._kept.pop(run, None) is None:
                return
        self._end(run)
        with self._change:
            self._keep(run, 0)

    def _make_room(self, run: str) -> None:
        """End trainings that nobody waits for, as many as keep this run from starting at once."""
        under_way = [key.run for key, _ in self.jobs.running_for() if key.run != run]
        for kept in [*self._kept][: max(0, len(under_way) + 1 - self.jobs.slots)]:
            if kept in under_way:
                self._drop(kept)

    def _end(self, run: str) -> None:
        """End a training, if it is under way, and wait until its process has gone."""
        while self.jobs.status(run).phase in LIVE_PHASES and self.jobs.stop(run):
            time.sleep(POLL_INTERVAL_S)

    def _follow(
        self, order: str, run: Run, send: Callable[[dict[str, Any]], object], wanted: Callable[[], bool]
    ) -> None:
        follower = run.follow()
        while True:
            phase = self.jobs.status(run.id).phase  # asked first, so that the lines below include all before the end
            _send_new(run, follower, send)
            if phase not in LIVE_PHASES:
                return
            if order in self._abandoned or not wanted():
                raise MachineLostError("Nobody waits for this training any more.")
            time.sleep(POLL_INTERVAL_S)


def _send_new(run: Record, follower: LogFollower, send: Callable[[dict[str, Any]], object]) -> None:
    new = follower.read_new()
    for start in range(0, len(new), MAX_LINES):
        part = new[start : start + MAX_LINES]
        send(message_of(run, part[0][0], [line for _, line in part]))


def message_of(run: Record, first: int, lines: list[str]) -> dict[str, Any]:
    """Return the message of these lines of a run's log, `first` being the number of the first."""
    files: dict[str, bytes] = {}
    info: dict[str, Any] = {}
    for line in lines if isinstance(run, Run) else []:
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
