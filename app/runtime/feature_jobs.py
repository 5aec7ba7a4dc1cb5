"""Features that people let a backbone compute: one computation of each person, in folders beside the data."""

import hashlib
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.runtime.people import GUEST_RETENTION_S, Person, Role
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.backbone_weights import FOLDER
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs.features_record import ORDER_FILE, FeaturesRecord
from dmlviz.jobs.job import JobState, Key
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.ownership import Ownership
from dmlviz.storage.files import ensure_dir

COMPUTATIONS = ".computations"  # in the folder of the backbones
UPLOADED = "uploaded"  # in the folder of a computation: the file of weights that somebody sent
TAKEN = "taken"  # in the folder of a computation: a page has selected the new data set
TAKEN_FOR_S = 20.0  # seconds in which other pages select it too: the first may have been left in this moment
UNDER_WAY: tuple[JobState, ...] = ("queued", "starting", "running", "stopping")


@dataclass(frozen=True, kw_only=True)
class FeaturesRequest:
    """What is to be computed.

    Attributes:
        dataset: Name of a data set of images.
        backbone: Name of the backbone.
        weights: File of its weights; None to download them. An upload counts more.
        upload: Name and content of a file of weights that somebody sent.
        title: Title of the new data set; empty for that of the data set and of the backbone.
    """

    dataset: str
    backbone: str
    weights: Path | None = None
    upload: tuple[str, bytes] | None = field(default=None, repr=False)
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class FeaturesStatus:
    """How a computation stands.

    Attributes:
        phase: State of the job.
        dataset: Name of the data set of images.
        backbone: Name of the backbone.
        title: Title that was asked for.
        weights: File of the weights; None for those that the library downloads.
        done: Images whose features are computed.
        of: All images; 0 while nobody knows.
        left: Seconds to the end; None while nobody knows.
        queue: Position in the queue, and its length; None for a job that does not wait.
        reason: Why it failed.
        result: Name of the new data set; empty before the end.
    """

    phase: JobState
    dataset: str
    backbone: str
    title: str = ""
    weights: Path | None = None
    done: int = 0
    of: int = 0
    left: float | None = None
    queue: tuple[int, int] | None = None
    reason: str = ""
    result: str = ""

    @property
    def under_way(self) -> bool:
        """Whether it waits or runs."""
        return self.phase in UNDER_WAY


class FeatureJobs:
    """The computations of a server, at most one of each person; they outlast a page, and the server itself.

    Args:
        scheduler: The jobs of everyone.
        data: The folder of the data sets.
        owners: Who holds which custom data set.
    """

    def __init__(self, scheduler: JobScheduler, data: Path, owners: Ownership) -> None:
        self.scheduler = scheduler
        self.folder = data / FOLDER / COMPUTATIONS
        self._data = data
        self._owners = owners

    def start(self, person: Person, request: FeaturesRequest) -> None:
        """Start or queue a computation; what an earlier one has done already is not done again.

        Raises:
            UserError: While one is under way, or this person has enough under way and waiting.
        """
        status = self.status(person)
        if status is not None and status.under_way:
            raise UserError(
                "One person lets one backbone compute at a time: stop the computation, or wait for its end."
            )
        folder = ensure_dir(self._path(person))
        (folder / TAKEN).unlink(missing_ok=True)
        weights = request.weights
        if request.upload is not None:
            name, content = request.upload
            weights = ensure_dir(folder / UPLOADED) / _safe_name(name)
            for earlier in weights.parent.iterdir():
                earlier.unlink()
            weights.write_bytes(content)
        order = {
            "dataset": request.dataset,
            "backbone": request.backbone,
            "weights": None if weights is None else str(weights.resolve()),
            "title": " ".join(request.title.split())[:60],
            "holder": None if person.alone else person.id,
            "holder_name": person.name,
            "temporary": not person.may(Role.MEMBER),
        }
        self._submit(person, order)

    def go_on(self, person: Person) -> None:
        """Go on with a computation that was stopped, interrupted or failed; raise UserError as `start`."""
        record = self._record(person)
        if record is not None and not self._is_busy(record):
            self._submit(person, record.order)

    def status(self, person: Person) -> FeaturesStatus | None:
        """How this person's computation stands; None without one, and when its data set has been selected."""
        record = self._record(person)
        if record is None or (record.path / TAKEN).exists():
            return None
        try:
            order, progress = record.order, record.progress
            asked = {name: order[name] for name in ("dataset", "backbone", "title")}
            asked["weights"] = None if order["weights"] is None else Path(order["weights"])
            status, end = self.scheduler.features_status(record), record.end
        except DamagedFileError as error:
            return FeaturesStatus(phase="failed", dataset="", backbone="", reason=str(error))
        figures = {name: progress[name] for name in ("done", "of", "left") if name in progress}
        if end is not None and self._is_busy(record):  # it is over but for its process
            phase: JobState = "running" if end["event"] == "finished" else "stopping"
            return FeaturesStatus(phase=phase, **asked, **figures)
        queue = None if status.position is None else (status.position, status.of or status.position)
        result = end["dataset"] if end is not None and end["event"] == "finished" else ""
        return FeaturesStatus(phase=status.phase, **asked, **figures, queue=queue, reason=status.reason, result=result)

    def stop(self, person: Person) -> None:
        """Stop a computation; what is done stays, to go on from there."""
        self.scheduler.stop("", features=_id(person))

    def take(self, person: Person, pictures: str | None = None) -> tuple[str, str] | None:
        """Return the data set of a computation that has finished, for a page to select.

        Args:
            person: Who asked for it.
            pictures: The data set that the page has selected; one that was not computed from it is not returned.

        Returns:
            Its name, and a word by which a page knows whether it has selected it already; None without one.
        """
        record = self._record(person)
        end = None if record is None else _readable_end(record)
        if record is None or end is None or end["event"] != "finished" or self._is_busy(record):
            return None
        taken = record.path / TAKEN
        if pictures is not None and _readable_order(record).get("dataset") != pictures:
            return None
        if not taken.exists():
            self._hold(record)
            for path in record.path.iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
            taken.touch()
        elif time.time() - taken.stat().st_mtime > TAKEN_FOR_S:
            shutil.rmtree(record.path, ignore_errors=True)
            return None
        return end["dataset"], str(end["time"])

    def discard(self, person: Person) -> None:
        """Delete what a computation has done, unless it is under way."""
        record = self._record(person)
        if record is not None and not self._is_busy(record):
            shutil.rmtree(record.path, ignore_errors=True)

    def uploaded(self, person: Person) -> Path | None:
        """Return the file of weights that this person uploaded last; None where there is none, or no more."""
        return next((self._path(person) / UPLOADED).glob("*"), None)

    def folder_of(self, person: Person) -> Path:
        """Where a person's computation keeps its files; it need not be there."""
        return self._path(person)

    def expire(self) -> None:
        """Delete what guests left behind a day ago."""
        for file in self.folder.glob(f"*/{ORDER_FILE}"):
            record = FeaturesRecord(file.parent)
            try:
                is_left = record.order["temporary"] and time.time() - _touched(record) > GUEST_RETENTION_S
            except (DamagedFileError, KeyError, OSError):
                continue
            if is_left and not self._is_busy(record):
                shutil.rmtree(record.path, ignore_errors=True)

    def _submit(self, person: Person, order: Mapping[str, Any]) -> None:
        record = FeaturesRecord.create(self._path(person), dict(order))
        self.scheduler.compute_features(record, person.id, lambda: self._hold(record))

    def _hold(self, record: FeaturesRecord) -> None:
        """Let the new data set be known, and its person's."""
        end = _readable_end(record)
        if end is None or end["event"] != "finished":
            return
        name, order = end["dataset"], _readable_order(record)
        DATASETS.add_search_path(self._data)
        if order.get("holder"):
            self._owners.add(
                name,
                holder=order["holder"],
                name=order["holder_name"],
                title=DATASETS[name].title,
                temporary=order["temporary"],
            )

    def _is_busy(self, record: FeaturesRecord) -> bool:
        return bool(self.scheduler.owners_of(Key("", features=record.id))) or record.state == "running"

    def _record(self, person: Person) -> FeaturesRecord | None:
        path = self._path(person)
        return FeaturesRecord(path) if (path / ORDER_FILE).exists() else None

    def _path(self, person: Person) -> Path:
        return self.folder / _id(person)


def _id(person: Person) -> str:
    """Return the name of a person's folder; a server for one has a single one, whatever the browser."""
    return hashlib.sha256(b"" if person.alone else person.id.encode()).hexdigest()[:16]


def job_key(person: Person) -> Key:
    """Return what the scheduler calls a person's computation."""
    return Key("", features=_id(person))


def _safe_name(name: str) -> str:
    """Return the name of a file that somebody sent, without what a path or a shell could misunderstand."""
    return re.sub(r"[^\w.-]", "_", Path(name).name, flags=re.ASCII).lstrip(".-")[-80:] or "weights.pth"


def _readable_end(record: FeaturesRecord) -> dict[str, Any] | None:
    try:
        return record.end
    except DamagedFileError:
        return None


def _readable_order(record: FeaturesRecord) -> dict[str, Any]:
    try:
        return record.order
    except DamagedFileError:
        return {}


def _touched(record: FeaturesRecord) -> float:
    log = record.log.path
    return (log if log.exists() else record.path / ORDER_FILE).stat().st_mtime
