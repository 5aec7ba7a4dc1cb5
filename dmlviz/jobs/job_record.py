"""The folder of a job that is neither a training nor a projection: its order, its progress and its end."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, NotRequired, Self, TypeAlias

from typing_extensions import TypedDict, TypeVar

from dmlviz.catalog.parameters import Fields
from dmlviz.errors import DamagedFileError
from dmlviz.jobs.job_events import (
    ANSWER_EVENT,
    FEATURES_EVENT,
    TRIAL_EVENT,
    AnswerFinished,
    AnswerProgress,
    FeaturesFinished,
    FeaturesProgress,
    JobStartedEvent,
    JobStoppedEvent,
    TrialFinished,
    TrialProgress,
)
from dmlviz.runs.event_log_dir import EventLogDir
from dmlviz.runs.quota import folder_size, format_bytes
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.storage.files import ensure_dir, read_json
from dmlviz.storage.run_schema.events import FailedEvent

ORDER_FILE = "order.json"
REPORT_INTERVAL_S = 0.2  # seconds between two progress events

Progress = TypeVar("Progress", bound=Mapping[str, Any], default=Any)
Finished = TypeVar("Finished", bound=Mapping[str, Any], default=Any)
Content = TypeVar("Content", bound=Mapping[str, Any], default=Any)


class TrainOrder(TypedDict):
    """The order of a training, with the fields of its `TrainConfig`, and the bytes that its run may take.

    `beside` are the IDs of the runs that race with it: they train by turns in the same process.
    """

    kind: Literal["train"]
    config: Fields
    room: NotRequired[int]
    beside: NotRequired[list[str]]


class ProjectOrder(TypedDict):
    """The order of a projection, whose config is in its folder, and the ID of the person who asked for it.

    `begin` is the ID of the run's projection from whose last layout one that follows goes on.
    """

    kind: Literal["project"]
    holder: NotRequired[str]
    begin: NotRequired[str]


class TrialOrder(TypedDict):
    """The order of a trial of a lab, with the fields of a `dmlviz.studies.trial.Trial`, and the bytes it may take."""

    kind: Literal["trial"]
    lab: str
    trial: Fields
    room: NotRequired[int]


class FeaturesOrder(TypedDict):
    """The order of the features of a data set: `weights` is a file or None; the last four are the app's."""

    kind: Literal["features"]
    dataset: str
    backbone: str
    weights: str | None
    title: str
    holder: NotRequired[str]
    holder_name: NotRequired[str]
    temporary: NotRequired[bool]
    room: NotRequired[int]


class CleanOrder(TypedDict):
    """The order of a search for errors in the training data of a run, a folder."""

    kind: Literal["clean"]
    run: str


class AnswerOrder(TypedDict):
    """The order of an answer.

    `ask` is a kind of work (`dmlviz.parts.kinds("answer")`), which gets the arguments; `about` is the ID of a run.
    """

    kind: Literal["answer"]
    ask: str
    about: str
    arguments: Fields


OrderContent: TypeAlias = TrainOrder | ProjectOrder | TrialOrder | FeaturesOrder | CleanOrder | AnswerOrder
"""What `order.json` holds, and a machine of a fleet gets."""


class StoppedError(Exception):
    """The job was asked to stop; what is done is on disk."""


class JobRecord(EventLogDir[Any, Finished | JobStoppedEvent | FailedEvent], Generic[Progress, Finished, Content]):
    """A folder with `order.json`, `events.jsonl`, and the results of the job."""

    @classmethod
    def create(cls, path: Path) -> Self:
        """Create the folder of a job; of an earlier attempt only the events are removed."""
        ensure_dir(path)
        (path / "events.jsonl").unlink(missing_ok=True)
        return cls(path)

    @property
    def order(self) -> Content:
        """The order; raise DamagedFileError if it cannot be read."""
        order: Content | None = read_json(self.path / ORDER_FILE)
        if not isinstance(order, dict):
            raise DamagedFileError(self.path / ORDER_FILE, "it holds no order")
        return order

    @property
    def progress(self) -> Progress | None:
        """The last progress event; None before the first. Raise DamagedFileError if it cannot be read."""
        lines = (line for line in reversed(self.log.lines()) if b'"event":"progress"' in line)
        last = next(lines, None)
        return None if last is None else self.log.event(last)

    @contextmanager
    def writing(self) -> Iterator["JobWriter[Progress, Finished]"]:
        """Write events during the block; StoppedError and other exceptions in it become the final event.

        Raises:
            UserError: If another process is writing the folder.
        """
        with JobWriter(self) as writer:
            writer.event(JobStartedEvent(event="started"))
            try:
                yield writer
            except StoppedError:
                writer.event(JobStoppedEvent(event="stopped", reason=writer.why_stopped))
            except Exception as error:
                writer.failed(error)


class JobWriter(RecordWriter[Any], Generic[Progress, Finished]):
    """Writes the events of a job."""

    record: JobRecord[Progress, Finished, Any]
    why_stopped = "stopped by hand"
    _reported = 0.0
    _looked = 0.0

    def is_full(self) -> bool:
        """Return whether the folder takes more than its order allows, so that the job should stop."""
        if time.monotonic() - self._looked >= REPORT_INTERVAL_S:
            self._looked = time.monotonic()
            room = self.record.order.get("room")
            if room is not None and folder_size(self.record.path) > room:
                self.why_stopped = f"stopped: it may take {format_bytes(room)}; delete runs, data or studies, and go on"
        return self.why_stopped != JobWriter.why_stopped

    def progress(self, event: Progress, now: bool = False) -> None:
        """Write a progress event, a few times a second at most unless it must be written `now`."""
        if now or time.monotonic() - self._reported >= REPORT_INTERVAL_S:
            self._reported = time.monotonic()
            self.event(event)

    def finished(self, event: Finished) -> None:
        """Write the final event."""
        self.event(event)


class FeaturesRecord(JobRecord[FeaturesProgress, FeaturesFinished, FeaturesOrder]):
    """The folder in which the features of a data set are computed."""

    kinds = FEATURES_EVENT


class TrialRecord(JobRecord[TrialProgress, TrialFinished, TrialOrder]):
    """The folder of a trial of a study."""

    kinds = TRIAL_EVENT


class AnswerRecord(JobRecord[AnswerProgress, AnswerFinished, AnswerOrder]):
    """The folder of an answer."""

    kinds = ANSWER_EVENT

    @property
    def result(self) -> Path:
        """The file of the answer."""
        return self.path / "result"


@dataclass(frozen=True)
class Work:
    """A job as its worker has it.

    Attributes:
        folder: Folder of the job.
        data_root: Folder of the data sets; the default one if None.
        stop: True when the job should end early.
        datasets: Data sets that are loaded already, by name.
    """

    folder: Path
    data_root: Path | None = None
    stop: Callable[[], bool] = lambda: False
    datasets: Mapping[str, Any] = field(default_factory=dict)
