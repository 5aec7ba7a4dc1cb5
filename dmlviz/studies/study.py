"""The folder of a study: what was asked, the results so far, and a folder for what each trial wrote."""

import json
import os
import platform
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, with_config
from typing_extensions import TypedDict

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.files import EventLog, atomic_write, ensure_dir, write_json
from dmlviz.storage.run_schema.validation import STRICT, read
from dmlviz.studies.trial import Size, Trial, TrialResult, Values
from dmlviz.version import __version__

FOLDER = ".studies"  # in the folder of the runs
StudyState = Literal["running", "finished", "stopped", "failed", "interrupted"]


@with_config(STRICT)
class StudyFile(TypedDict):
    """The content of study.json; `seconds` is the wall time of all sessions together."""

    lab: str
    size: Size
    dataset: str
    owner: str
    state: Literal["running", "finished", "stopped", "failed"]
    reason: str
    created: float
    seconds: float
    slots: int
    version: str
    machine: str


@with_config(STRICT)
class TrialLine(TypedDict):
    """One line of trials.jsonl."""

    name: str
    settings: Values
    dataset: str
    expected_seconds: float
    values: Values
    error: str
    seconds: float


_STUDY: TypeAdapter[StudyFile] = TypeAdapter(StudyFile)
_TRIAL: TypeAdapter[TrialLine] = TypeAdapter(TrialLine)


@dataclass(frozen=True)
class Study:
    """A study on disk. One process writes it, while it holds the lock; any process reads.

    Attributes:
        path: Its folder; the name is `study_id` of what was asked.
    """

    path: Path

    @property
    def id(self) -> str:
        """Name of the folder."""
        return self.path.name

    @property
    def info(self) -> StudyFile:
        """The request and the state; raise UserError if there is no study or it cannot be read."""
        try:
            return read(_STUDY, self.path / "study.json")
        except FileNotFoundError:
            raise UserError(f"There is no study in {self.path}: `dmlviz study` lists those that there are.") from None

    @property
    def exists(self) -> bool:
        """Return whether the folder holds a study."""
        return (self.path / "study.json").is_file()

    @property
    def lock(self) -> FileLock:
        """Held by the process that does the study."""
        return FileLock(self.path / "lock")

    @property
    def state(self) -> StudyState:
        """The state; a study that should run and that no process holds was interrupted."""
        state = self.info["state"]
        if state == "running" and not self.lock.locked:
            again = self.info["state"]  # it may have ended in between
            return "interrupted" if again == "running" else again
        return state

    @property
    def log(self) -> EventLog:
        """The results, one line a trial."""
        return EventLog(self.path / "trials.jsonl", _TRIAL)

    @property
    def is_stop_requested(self) -> bool:
        """Return whether some process asked for its end."""
        return (self.path / "stop").exists()

    def request_stop(self) -> None:
        """Ask the process that does the study to stop; it looks twice a second."""
        (self.path / "stop").touch()

    def trial_folder(self, trial: str) -> Path:
        """Return the folder of a trial."""
        return self.path / "trials" / trial

    def results(self) -> list[TrialResult]:
        """Return the results so far, in the order in which they came."""
        return [self._result(line) for line in self.log.events()]

    def append(self, result: TrialResult) -> None:
        """Add a result; values that are not finite become null."""
        trial = result.trial
        self.log.append(
            {
                "name": trial.name,
                "settings": dict(trial.settings),
                "dataset": trial.dataset,
                "expected_seconds": trial.seconds,
                "values": dict(result.values),
                "error": result.error,
                "seconds": round(result.seconds, 3),
            }
        )

    def update(self, **changes: Any) -> None:
        """Change fields of study.json."""
        write_json(self.path / "study.json", {**self.info, **changes})

    def finish(self) -> None:
        """Write the table of all results and note that the study is finished."""
        write_table(self.results(), self.path / "results.parquet")
        self.update(state="finished")

    def delete(self) -> None:
        """Remove the study with all that it wrote; raise UserError while it runs."""
        if self.state == "running":
            raise UserError(f"The study {self.id} is running: stop it first.")
        shutil.rmtree(self.path)

    def _result(self, line: Values) -> TrialResult:
        trial = Trial(
            name=line["name"], settings=line["settings"], dataset=line["dataset"], seconds=line["expected_seconds"]
        )
        folder = self.trial_folder(trial.name)
        return TrialResult(
            trial=trial,
            values=line["values"],
            error=line["error"],
            seconds=line["seconds"],
            folder=folder if folder.is_dir() else None,
        )


def study_id(lab: str, size: Size, dataset: str) -> str:
    """Return the name of a study's folder: equal requests are one study."""
    return f"{lab}-{size}-{dataset}"


def create_study(path: Path, lab: str, size: Size, dataset: str, owner: str = "", slots: int = 1) -> Study:
    """Make the folder of a study, or return the one that it holds; raise UserError where that is of something else."""
    study = Study(path)
    if study.exists:
        info = study.info
        if (info["lab"], info["size"], info["dataset"]) != (lab, size, dataset):
            raise UserError(
                f"{path} holds the study {study_id(info['lab'], info['size'], info['dataset'])}, and this one is "
                f"{study_id(lab, size, dataset)}: give another folder."
            )
        return study
    ensure_dir(path)
    content: StudyFile = {
        "lab": lab,
        "size": size,
        "dataset": dataset,
        "owner": owner,
        "state": "running",
        "reason": "",
        "created": round(time.time(), 3),
        "seconds": 0.0,
        "slots": slots,
        "version": __version__,
        "machine": describe_machine(),
    }
    write_json(path / "study.json", content)
    return study


def list_studies(folder: Path) -> list[Study]:
    """Return the studies of a folder, newest first; what cannot be read is left out."""
    studies = []
    for path in sorted(folder.glob("*/study.json")):
        try:
            studies.append((Study(path.parent).info["created"], Study(path.parent)))
        except (UserError, DamagedFileError):
            continue
    return [study for _, study in sorted(studies, key=lambda pair: pair[0], reverse=True)]


def describe_machine() -> str:
    """Return the kind of the machine in a few words, without its name."""
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def done_seconds(results: Sequence[TrialResult]) -> tuple[float, float]:
    """Return the seconds that the finished trials were expected to take, and those that they took."""
    return sum(result.trial.seconds for result in results), sum(result.seconds for result in results)


def write_table(results: Sequence[TrialResult], path: Path) -> None:
    """Write a row for each trial: name, data set, error, seconds, then a column for each setting and each value.

    Settings come as `settings.NAME`, values as `values.NAME`; what is neither number, text nor truth value is JSON.

    Args:
        results: The results.
        path: The file, written atomically.
    """
    import pyarrow
    from pyarrow import parquet

    rows = [_row(result) for result in results]
    columns: dict[str, list[Any]] = {name: [] for name in dict.fromkeys(name for row in rows for name in row)}
    for row in rows:
        for name, column in columns.items():
            column.append(row.get(name))
    table = pyarrow.table({name: _column(values) for name, values in columns.items()})
    with atomic_write(path) as file:
        parquet.write_table(table, file)


def _row(result: TrialResult) -> Values:
    trial = result.trial
    return {
        "name": trial.name,
        "dataset": trial.dataset,
        "error": result.error,
        "seconds": result.seconds,
        **{f"settings.{name}": value for name, value in trial.settings.items()},
        **{f"values.{name}": value for name, value in result.values.items()},
    }


def _column(values: list[Any]) -> Any:
    """Return numbers, truth values or texts as they are, a mixture or anything else as JSON."""
    import pyarrow

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or kinds in ({bool}, {str}):
        return pyarrow.array(values)
    return pyarrow.array([None if value is None else json.dumps(value) for value in values])
