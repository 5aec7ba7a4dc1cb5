"""Features that people let a backbone compute: one computation of each person, in folders beside the data."""

import hashlib
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.backbone_weights import FOLDER
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs.job import Status
from dmlviz.jobs.job_events import FeaturesFinished
from dmlviz.jobs.job_record import ORDER_FILE, FeaturesOrder, FeaturesRecord
from dmlviz.jobs.order import features
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.ownership import Ownership
from dmlviz.runs.quota import folder_size
from dmlviz.storage.files import ensure_dir, write_all
from dmlviz_app.people import policy
from dmlviz_app.people.people import GUEST_RETENTION_S, Person

COMPUTATIONS = ".computations"  # in the folder of the backbones
UPLOADED = "uploaded"  # in the folder of a computation: the uploaded file of weights
TAKEN = "taken"  # in the folder of a computation: a page has selected the new data set
TAKEN_FOR_S = 20.0  # seconds in which other pages select it too: the first may have been left in this moment


@dataclass(frozen=True, kw_only=True)
class FeaturesRequest:
    """A request to compute features.

    Attributes:
        dataset: Name of a data set of images.
        backbone: Name of the backbone.
        weights: File of its weights; None to download them.
        title: Title of the new data set; empty for that of the data set and of the backbone.
    """

    dataset: str
    backbone: str
    weights: Path | None = None
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class FeaturesStatus(FeaturesRequest, Status):
    """The state of a computation, with what was requested.

    Attributes:
        done: Images whose features are computed.
        images: All images; 0 while unknown.
        left: Seconds to the end; None while unknown.
        result: Name of the new data set; empty before the end.
    """

    done: int = 0
    images: int = 0
    left: float | None = None
    result: str = ""


class FeatureJobs:
    """The computations of a server, at most one of each person; they outlast a page, and the server itself.

    Args:
        scheduler: The jobs of everyone.
        data: The folder of the data sets.
        owners: The holders of each custom data set.
    """

    def __init__(self, scheduler: JobScheduler, data: Path, owners: Ownership) -> None:
        self.scheduler = scheduler
        self.folder = data / FOLDER / COMPUTATIONS
        self._data = data
        self._owners = owners

    def start(self, person: Person, request: FeaturesRequest, room: Callable[[], int]) -> None:
        """Start or queue a computation; what an earlier one has done already is not done again.

        Args:
            person: The person who requests it.
            request: The features.
            room: Returns the bytes that this person may still take.

        Raises:
            UserError: While one is under way, or this person has enough under way and waiting.
        """
        status = self.status(person)
        if status is not None and status.is_live:
            raise UserError(
                "One person lets one backbone compute at a time: stop the computation, or wait for its end."
            )
        folder = ensure_dir(self.folder_of(person))
        (folder / TAKEN).unlink(missing_ok=True)
        order = FeaturesOrder(
            kind="features",
            dataset=request.dataset,
            backbone=request.backbone,
            weights=None if request.weights is None else str(request.weights.resolve()),
            title=" ".join(request.title.split())[:60],
            holder=person.owner,
            holder_name=person.name,
            temporary=not person.may(policy.KEEP),
        )
        self._submit(person, order, room)

    def go_on(self, person: Person, room: Callable[[], int]) -> None:
        """Go on with a computation that was stopped, interrupted or failed; raise UserError as `start`."""
        record = self._record(person)
        if record is not None and not self._is_busy(record):
            self._submit(person, record.order, room)

    def status(self, person: Person) -> FeaturesStatus | None:
        """Return the state of this person's computation; None without one, and once its data set has been selected."""
        record = self._record(person)
        if record is None or (record.path / TAKEN).exists():
            return None
        try:
            order, progress = record.order, record.progress
            status, end = self.scheduler.status(record), record.end
        except DamagedFileError as error:
            return FeaturesStatus(phase="failed", dataset="", backbone="", reason=str(error))
        result = ""
        if end is not None and self._is_busy(record):  # its process has not ended
            status = Status("running" if end["event"] == "finished" else "stopping")
        elif end is not None and end["event"] == "finished":
            result = end["dataset"]
        return FeaturesStatus(
            **vars(status),
            dataset=order["dataset"],
            backbone=order["backbone"],
            title=order["title"],
            weights=None if order["weights"] is None else Path(order["weights"]),
            done=0 if progress is None else progress["done"],
            images=0 if progress is None else progress["of"],
            left=None if progress is None else progress["left"],
            result=result,
        )

    def stop(self, person: Person) -> None:
        """Stop a computation; what is done stays, to go on from there."""
        self.scheduler.stop(FeaturesRecord(self.folder_of(person)))

    def take(self, person: Person, pictures: str | None = None) -> tuple[str, str] | None:
        """Return the data set of a computation that has finished, for a page to select.

        Args:
            person: The person who requested it.
            pictures: The data set that the page has selected; one that was not computed from it is not returned.

        Returns:
            Its name, and a word by which a page knows whether it has selected it already; None without one.
        """
        record = self._record(person)
        end = None if record is None else _finished_event(record)
        if record is None or end is None or self._is_busy(record):
            return None
        marker = record.path / TAKEN
        if pictures is not None and ((order := _readable_order(record)) is None or order["dataset"] != pictures):
            return None
        if not marker.exists():
            self._hold(record)
            for path in record.path.iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
            marker.touch()
        elif time.time() - marker.stat().st_mtime > TAKEN_FOR_S:
            shutil.rmtree(record.path, ignore_errors=True)
            return None
        return end["dataset"], str(end["time"])

    def discard(self, person: Person) -> None:
        """Delete what a computation has done, unless it is under way."""
        record = self._record(person)
        if record is not None and not self._is_busy(record):
            shutil.rmtree(record.path, ignore_errors=True)

    def keep_upload(self, person: Person, name: str, content: IO[bytes]) -> None:
        """Keep a file of weights for this person's next computation, in place of an earlier one.

        Raises:
            UserError: While a computation needs the earlier one.
        """
        status = self.status(person)
        if status is not None and not status.result and (status.is_live or status.done):
            raise UserError("Your last computation needs its weights: discard it, or wait for its end.")
        if status is not None and status.phase == "failed":
            self.discard(person)
        folder = ensure_dir(self.folder_of(person) / UPLOADED)
        for earlier in folder.iterdir():
            earlier.unlink()
        write_all(folder / _safe_name(name), content)

    def last_upload(self, person: Person) -> Path | None:
        """Return the file of weights that this person uploaded last; None where there is none, or no more."""
        return next((self.folder_of(person) / UPLOADED).glob("*"), None)

    def folder_of(self, person: Person) -> Path:
        """Return the folder of a person's computation, which need not exist; a server for one has a single one."""
        return self.folder / hashlib.sha256(person.owner.encode()).hexdigest()[:16]

    def expire(self) -> None:
        """Delete what guests left behind a day ago, and what was uploaded then for no computation."""
        for folder in self.folder.glob(f"*/{UPLOADED}"):
            if not (folder.parent / ORDER_FILE).exists() and time.time() - folder.stat().st_mtime > GUEST_RETENTION_S:
                shutil.rmtree(folder.parent, ignore_errors=True)
        for file in self.folder.glob(f"*/{ORDER_FILE}"):
            record = FeaturesRecord(file.parent)
            try:
                is_left = record.order["temporary"] and time.time() - _last_use(record) > GUEST_RETENTION_S
            except (DamagedFileError, KeyError, OSError):
                continue
            if is_left and not self._is_busy(record):
                shutil.rmtree(record.path, ignore_errors=True)

    def _submit(self, person: Person, order: FeaturesOrder, room: Callable[[], int]) -> None:
        folder = self.folder_of(person)
        order["room"] = folder_size(folder) + room()
        self.scheduler.submit(features(folder, order), person.id, lambda: self._hold(FeaturesRecord(folder)))

    def _hold(self, record: FeaturesRecord) -> None:
        """Register the new data set, for its person."""
        end = _finished_event(record)
        if end is None:
            return
        name, order = end["dataset"], _readable_order(record)
        DATASETS.add_search_path(self._data)
        if order is not None and order.get("holder"):
            self._owners.add(
                name,
                holder=order["holder"],
                name=order["holder_name"],
                title=DATASETS[name].title,
                temporary=order["temporary"],
            )

    def _is_busy(self, record: FeaturesRecord) -> bool:
        return bool(self.scheduler.owners_of(record)) or record.state == "running"

    def _record(self, person: Person) -> FeaturesRecord | None:
        path = self.folder_of(person)
        return FeaturesRecord(path) if (path / ORDER_FILE).exists() else None


def _safe_name(name: str) -> str:
    """Return the name of an uploaded file, without what a path or a shell could misunderstand."""
    return re.sub(r"[^\w.-]", "_", Path(name).name, flags=re.ASCII).lstrip(".-")[-80:] or "weights.pth"


def _finished_event(record: FeaturesRecord) -> FeaturesFinished | None:
    """Return the final event of a computation that has finished; None for any other, or if it cannot be read."""
    try:
        end = record.end
    except DamagedFileError:
        return None
    return end if end is not None and end["event"] == "finished" else None


def _readable_order(record: FeaturesRecord) -> FeaturesOrder | None:
    try:
        return record.order
    except DamagedFileError:
        return None


def _last_use(record: FeaturesRecord) -> float:
    log = record.log.path
    return (log if log.exists() else record.path / ORDER_FILE).stat().st_mtime
