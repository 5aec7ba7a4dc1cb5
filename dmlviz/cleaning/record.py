"""The folder with the findings of a run in its training data, and the order of the job that searches for them."""

import shutil
from typing import Self

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cleaning.findings import StoredFindings
from dmlviz.errors import UserError
from dmlviz.jobs.job_events import CLEANING_EVENT, CleaningFinished, CleaningProgress
from dmlviz.jobs.job_record import CleanOrder, JobRecord
from dmlviz.jobs.order import Order
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.trash import CLEANING_FOLDER
from dmlviz.storage.files import read_json

VERSION = 4  # of the search and its files; findings of another version are not shown


class CleaningRecord(JobRecord[CleaningProgress, CleaningFinished, CleanOrder]):
    """A folder with `findings.json` and its pictures, `PART.png`; the order has the folder of the `run`."""

    kinds = CLEANING_EVENT

    @classmethod
    def of(cls, run: Run, runs: Runs) -> Self:
        """Return the record of a run as it was trained last; its folder need not be there."""
        return cls(runs.folder / CLEANING_FOLDER / f"{run.id}-{int(run.created.timestamp())}-{VERSION}")

    @property
    def findings(self) -> StoredFindings | None:
        """The findings so far; None before the first."""
        findings: StoredFindings | None = read_json(self.path / "findings.json")
        return findings if isinstance(findings, dict) else None


def cleaning(runs: Runs, run: Run) -> Order[CleaningRecord]:
    """Return the order of the search for errors in the training data of a run.

    Raises:
        UserError: If the run should have a net, and has none.
    """
    record = CleaningRecord.of(run, runs)
    if DATASETS[run.config.dataset].trainable and not (run.path / "weights.safetensors").exists():
        raise UserError(f"{run.title} has no net, so nothing can look through its training data.")

    def existing() -> CleaningRecord | None:
        is_done = record.state == "running" or (record.state == "finished" and record.findings is not None)
        return record if is_done else None

    def create() -> CleaningRecord:
        for earlier in record.path.parent.glob(f"{run.id}-*"):
            shutil.rmtree(earlier, ignore_errors=True)
        return CleaningRecord.create(record.path)

    return Order(
        folder=record.path,
        dataset=run.config.dataset,
        record=CleaningRecord,
        create=create,
        existing=existing,
        content={"kind": "clean", "run": str(run.path.resolve())},
        run=run.id,
        stop_timeout_s=3.0,
    )
