"""Runs that were deleted and can still come back: kept aside in their folder's .trash, removed for good later."""

import os
import shutil
import tempfile
import time
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.storage.files import ensure_dir, is_run_id

TRASH_RETENTION_S = 24 * 3600.0  # seconds that a deleted run can come back


class Trash:
    """The deleted runs of a folder, one of each id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / ".trash"

    def add(self, path: Path) -> None:
        """Take a run's folder in; an older one of its id goes for good."""
        self.remove(path.name)
        path.rename(ensure_dir(self.folder) / path.name)
        os.utime(self.folder / path.name)  # since when it lies here

    def restore(self, run: str) -> Path:
        """Put a run back where it was; raise UserError when it is not here any more, or was made anew meanwhile."""
        found, place = self.folder / run, self.folder.parent / run
        if not is_run_id(run) or not found.is_dir():
            raise UserError("That run is gone for good; train it again to have it back.")
        if place.exists():
            raise UserError("The same run has been trained again since it was deleted; delete the new one first.")
        found.rename(place)
        return place

    def runs(self) -> list[Path]:
        """The folders that lie here, the longest first."""
        found = [path for path in self.folder.glob("*") if is_run_id(path.name)]
        return sorted(found, key=lambda path: path.stat().st_mtime)

    def remove(self, run: str) -> None:
        """Remove one for good, if it is here."""
        if is_run_id(run) and (self.folder / run).is_dir():
            # Under another name first, so that nobody restores one half.
            doomed = Path(tempfile.mkdtemp(prefix=".old-", dir=self.folder))
            (self.folder / run).rename(doomed / run)
            shutil.rmtree(doomed, ignore_errors=True)

    def empty(self, kept: float = TRASH_RETENTION_S, now: float | None = None) -> None:
        """Remove for good what has lain here for longer than `kept` seconds."""
        before = (time.time() if now is None else now) - kept
        for path in self.runs():
            if path.stat().st_mtime <= before:
                self.remove(path.name)
