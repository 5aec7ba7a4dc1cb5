"""What is deleted as time goes by: the corners of guests after a day, and what cannot be restored any more."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.runtime.people import GUEST_RETENTION_S
from dmlviz.data import backbone_weights
from dmlviz.errors import UserError
from dmlviz.runs.ownership import Ownership
from dmlviz.runs.store import Runs
from dmlviz.runs.trash import TRASH_RETENTION_S


@dataclass(frozen=True)
class Housekeeping:
    """Deletes what nobody holds any more.

    Attributes:
        store: All runs.
        run_owners: Who holds which run.
        data_owners: Who holds which custom data set.
        data: The folder of the data sets.
    """

    store: Runs
    run_owners: Ownership
    data_owners: Ownership
    data: Path

    def run(self, in_use: Callable[[str], bool]) -> None:
        """Delete what has expired, but no run that is in use."""
        self.store.trash.empty()
        for run, entry in self.run_owners.expired(GUEST_RETENTION_S):
            if len(self.run_owners.entries(run)) > 1:
                self.run_owners.remove(run, entry.holder)
            elif not in_use(run):
                with contextlib.suppress(UserError):  # it is gone already, or another process writes it
                    self.store.delete(run)
                self.store.trash.remove(run)
                self.run_owners.forget(run)
        for dataset, entry in self.data_owners.expired(GUEST_RETENTION_S):
            if self.data_owners.remove(dataset, entry.holder):
                with contextlib.suppress(UserError):
                    backbone_weights.remove_dataset(self.data, dataset)
                self.data_owners.forget(dataset)
        backbone_weights.remove_unused(self.data)
        self.run_owners.sweep(self._is_kept, TRASH_RETENTION_S)

    def _is_kept(self, run: str) -> bool:
        return (self.store.folder / run).is_dir() or (self.store.trash.folder / run).is_dir()
