"""A machine of the fleet: it works in a worker process of its own, reports progress, and packs the result.

It knows nothing of how orders come and messages go.
"""

import json
import re
import shutil
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, TypedDict

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import data_root
from dmlviz.errors import UserError
from dmlviz.fleet import MachineLostError
from dmlviz.jobs.job_record import ORDER_FILE, OrderContent
from dmlviz.jobs.order import Order, training, trial
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.archive import export_run
from dmlviz.runs.event_log_dir import FINAL_STATES, EventLogDir
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.files import LogFollower
from dmlviz.storage.regular_file import open_regular

POLL_INTERVAL_S = 0.02  # seconds between two looks at a log
MAX_LIVE_FILE = 300_000  # bytes; larger files come with the packed run
MAX_LINES = 200  # of a message
LAST_EVENTS = ("replay", *FINAL_STATES)  # from the first of these on, a log comes with the packed run
ORDER_NAME = re.compile(r"[0-9a-f]{8}-[0-9]{1,9}")  # server, number
SCRATCH = "dmlviz-machine-"
KEEP_S = 600.0  # seconds that a training goes on for a server that is gone and may come back
KEEP_RESULT_S = 60.0  # seconds that a finished run is kept, in case the server dies while it takes it


class Message(TypedDict):
    """Progress of a job: lines of its log.

    Attributes:
        first: Number of the first line, 0-based.
        lines: The lines.
        files: Bytes of small files that these lines refer to, by name.
        info: Fields for run.json.
    """

    first: int
    lines: list[str]
    files: dict[str, bytes]
    info: dict[str, Any]


class Machine:
    """Does orders in warm worker processes; thread-safe.

    A training whose server is gone goes on for a while, unless its slot is needed. When the server comes back and
    orders the same again, it gets all of it.

    Args:
        slots: How many jobs at a time.
        data: The data folder.
    """

    def __init__(self, slots: int, data: Path | None = None) -> None:
        DATASETS.add_search_path(data_root(data))
        remove_stale_scratch()
        self.scratch = Path(tempfile.mkdtemp(prefix=SCRATCH)).resolve()
        self._lock = FileLock(self.scratch / "lock")
        self._lock.acquire()
        self.jobs = JobScheduler(Runs(self.scratch / "runs"), slots=slots, data_root=data, inference=False)
        self._change = threading.Lock()
        self._folders: dict[str, Path] = {}  # the folder of each order
        self._records: dict[Path, EventLogDir] = {}  # of the folders that were begun
        self._orphans: set[str] = set()  # orders whose server cannot be reached
        self._timers: dict[Path, threading.Timer] = {}  # folders that are not awaited now, and their timers of deletion

    def work(
        self,
        name: str,
        content: OrderContent,
        send: Callable[[Message], object],
        is_awaited: Callable[[], bool],
    ) -> bytes:
        """Do a training or a trial, and return its zip file.

        Args:
            name: The name of the order.
            content: The order.
            send: Gets each message.
            is_awaited: True while a server waits for the result; called all the time.

        Raises:
            UserError: If it cannot do this.
            MachineLostError: If the result is not wanted any more.
        """
        order = self._order(name, content)
        with self._change:
            self._folders[name] = order.folder
            if (timer := self._timers.pop(order.folder, None)) is not None:
                timer.cancel()
        keep_s = 0.0
        try:
            self._make_room(order.folder)
            record = self._records[order.folder] = self.jobs.submit(order)
            self._follow(name, record, send, is_awaited)
            if not isinstance(record, Run):
                return pack_trial(record)
            file = BytesIO()
            export_run(record, file, compress=False)
            keep_s = KEEP_RESULT_S if record.state == "finished" else 0.0
            return file.getvalue()
        except MachineLostError:
            keep_s = KEEP_S if order.run else 0.0  # no server can ask for the same trial again
            raise
        finally:
            if not order.run and order.folder in self._records:
                self._end(self._records[order.folder])
            with self._change:
                del self._folders[name]
                self._orphans.discard(name)
                self._keep(order.folder, keep_s)

    def _order(self, name: str, content: OrderContent) -> Order[Any]:
        match content:
            case {"kind": "train", "config": dict() as config}:
                return training(self.jobs.runs, TrainConfig(**config))
            case {"kind": "trial", "lab": str() as lab, "trial": dict() as settings} if ORDER_NAME.fullmatch(name):
                return trial(self.scratch / "trials" / name, lab, settings, name)
        raise UserError("The order names neither settings nor a trial.")

    def message_from(self, name: str, first: int) -> Message | None:
        """Return the message of the lines from number `first` on once more; None when the order is over."""
        with self._change:
            record = self._records.get(self._folders.get(name, Path()))
        if record is None:
            return None
        return message_of(record, first, [line.decode() for line in record.log.lines(first)[:MAX_LINES]])

    def stop(self, name: str, force: bool) -> None:
        """Stop an order between two batches, or at once; nothing when it is over, or others wait for the same run."""
        with self._change:
            folder = self._folders.get(name, Path())
            record = self._records.get(folder)
            if record is None or [*self._folders.values()].count(folder) > 1:
                return
        self.jobs.stop(record)
        if force and self.jobs.status(record).phase == "stopping":
            self.jobs.stop(record)

    def abandon_all(self) -> None:
        """Note that no server can be reached: each training goes on for a while, in case its server comes back."""
        with self._change:
            self._orphans.update(self._folders)

    def close(self) -> None:
        """End every worker, and delete their folders."""
        with self._change:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()
        self.jobs.close()
        self._lock.release()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _keep(self, folder: Path, seconds: float) -> None:
        """Keep a folder for some seconds if no order waits for it; then end and delete it. Called with the lock."""
        if folder in self._folders.values() or folder in self._timers:
            return
        if seconds == 0:
            self._records.pop(folder, None)
            shutil.rmtree(folder, ignore_errors=True)
            return
        timer = threading.Timer(seconds, self._drop, [folder])
        timer.daemon = True
        self._timers[folder] = timer
        timer.start()

    def _drop(self, folder: Path) -> None:
        """End and delete a kept folder, unless an order waits for it by now."""
        with self._change:
            if self._timers.pop(folder, None) is None:
                return
        self._end(self._records[folder])
        with self._change:
            self._keep(folder, 0)

    def _make_room(self, folder: Path) -> None:
        """End trainings whose result is not awaited any more, as many as keep this job from starting at once."""
        under_way = [job.order.folder for job, _ in self.jobs.running_for() if job.order.folder != folder]
        not_awaited = [place for place in self._timers if place in under_way]
        for place in not_awaited[: max(0, len(under_way) + 1 - self.jobs.slots)]:
            self._drop(place)

    def _end(self, record: EventLogDir) -> None:
        """End a job, if it is under way, and wait until its process has gone."""
        while self.jobs.stop(record):  # asked a second time it ends at once
            time.sleep(POLL_INTERVAL_S)

    def _follow(
        self,
        name: str,
        record: EventLogDir,
        send: Callable[[Message], object],
        is_awaited: Callable[[], bool],
    ) -> None:
        follower = record.follow()
        while True:
            is_over = not self.jobs.owners_of(record)  # asked first, so that the lines include all before the end
            _send_new(record, follower, send)
            if is_over:
                return
            if name in self._orphans or not is_awaited():
                raise MachineLostError("No server waits for this job any more.")
            time.sleep(POLL_INTERVAL_S)


def _send_new(record: EventLogDir, follower: LogFollower, send: Callable[[Message], object]) -> None:
    new = follower.read_new()
    for start in range(0, len(new), MAX_LINES):
        part = new[start : start + MAX_LINES]
        send(message_of(record, part[0][0], [line for _, line in part]))


def message_of(record: EventLogDir, first: int, lines: list[str]) -> Message:
    """Return the message of these lines of a record's log, `first` being the number of the first."""
    files: dict[str, bytes] = {}
    info: dict[str, Any] = {}
    for line in lines if isinstance(record, Run) else []:
        event = json.loads(line)
        if event["event"] == "started":
            run_info = Run(record.path).info
            info = {name: run_info[name] for name in ("device", "threads") if name in run_info}
        for name in _files_of(event):
            path = record.path / name
            if path.is_file() and path.stat().st_size <= MAX_LIVE_FILE:
                with open_regular(path) as file:
                    files[name] = file.read()
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
    """Delete the folders of machines that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        if (folder / "lock").exists() and not FileLock(folder / "lock").locked:
            shutil.rmtree(folder, ignore_errors=True)


MAX_FILES = 1000
MAX_BYTES = 500_000_000  # unpacked
EVENTS_FILE = "events.jsonl"
_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_FILE = re.compile(rf"(?:{_PART}/){{0,3}}{_PART}\.(?:npz|npy|json|png|csv|txt|parquet)")


def pack_trial(record: EventLogDir[Any, Any]) -> bytes:
    """Return a zip file of a trial's events and of what it wrote."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(record.path.rglob("*")):
            name = path.relative_to(record.path).as_posix()
            if path.is_file() and (name == EVENTS_FILE or is_trial_file(name)):
                archive.write(path, name)
    return file.getvalue()


def unpack_trial(content: bytes) -> dict[str, bytes]:
    """Return the files of a zip file by name; raise UserError if it is none, or too large."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            files = archive.infolist()
            if len(files) <= MAX_FILES and sum(file.file_size for file in files) <= MAX_BYTES:
                return {file.filename: archive.read(file) for file in files}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, zlib.error):
        raise UserError("It sent something that is no trial.") from None
    raise UserError("It is larger than any trial may be.")


def is_trial_file(name: str) -> bool:
    """Return whether a trial may write a file of this name, with / between its parts."""
    return name != ORDER_FILE and _FILE.fullmatch(name) is not None
