"""Folders of runs: one that begins takes the place of an earlier one; a deleted one can be restored for a day."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from dmlviz.errors import DiskFullError, UserError
from dmlviz.storage.disk_space import new_folder
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.files import ensure_dir, is_run_id, write_json

CLEANING_FOLDER = ".cleaning"  # in the runs folder: a folder ID-* for what a run has found in its training data
TRASH_RETENTION_S = 24 * 3600.0


class Trash:
    """The deleted runs of a folder, one per ID."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / ".trash"

    def add(self, path: Path) -> None:
        """Move a run's folder into the trash, replacing an older run of the same ID.

        Its findings by Clean are removed permanently.

        Raises:
            UserError: While Clean works on the run.
        """
        findings = [*(path.parent / CLEANING_FOLDER).glob(f"{path.name}-*")]
        if any(FileLock(folder / "lock").locked for folder in findings):
            raise UserError("This run still looks through its training data; stop that on the page Clean first.")
        self.remove(path.name)
        path.rename(ensure_dir(self.folder) / path.name)
        os.utime(self.folder / path.name)  # the deletion time
        for folder in findings:
            shutil.rmtree(folder, ignore_errors=True)

    def restore(self, run: str) -> Path:
        """Move a run back and return its folder; raise UserError if it was purged, or trained again."""
        source, target = self.folder / run, self.folder.parent / run
        if not is_run_id(run) or not source.is_dir():
            raise UserError("This run can no longer be restored; train it again.")
        if target.exists():
            raise UserError("This run has been trained again since it was deleted; delete the new one first.")
        source.rename(target)
        return target

    def runs(self) -> list[Path]:
        """Return the folders of the deleted runs, oldest deletion first."""
        folders = [path for path in self.folder.glob("*") if is_run_id(path.name)]
        return sorted(folders, key=lambda path: path.stat().st_mtime)

    def remove(self, run: str) -> None:
        """Remove a run permanently, if it is in the trash."""
        if is_run_id(run) and (self.folder / run).is_dir():
            # Rename it first, so that a half-deleted run cannot be restored.
            old = Path(tempfile.mkdtemp(prefix=".old-", dir=self.folder))
            (self.folder / run).rename(old / run)
            shutil.rmtree(old, ignore_errors=True)

    def empty(self, retention_s: float = TRASH_RETENTION_S, now: float | None = None) -> None:
        """Permanently remove runs deleted more than `retention_s` seconds ago."""
        before = (time.time() if now is None else now) - retention_s
        for path in self.runs():
            if path.stat().st_mtime <= before:
                self.remove(path.name)


OLD_PREFIX = ".old-"  # of folders that hold what is replaced or deleted


def new_run_folder(path: Path, name: str, info: Mapping[str, object]) -> Path:
    """Create a folder, replacing an existing one: readers see the old or the new one, never a mixture.

    Old frames are kept: their URLs are hashes of their content, and a page may still request them. So is the gallery.

    Raises:
        UserError: If nothing can be written there.
    """
    try:
        return _replace_run_folder(path, name, info)
    except DiskFullError:
        raise
    except OSError as error:
        raise UserError(
            f"The folder of runs cannot be written to ({error.strerror}): make room on its disk, or choose another "
            "with --runs."
        ) from None


def _replace_run_folder(path: Path, name: str, info: Mapping[str, object]) -> Path:
    with new_folder(path.parent) as new:
        ensure_dir(new / "frames")
        for file in (*path.glob("frames/*.i16"), *path.glob("gallery/[!.]*")):
            with contextlib.suppress(OSError):  # another process may have been faster
                os.link(file, ensure_dir(new / file.parent.name) / file.name)
        (new / "events.jsonl").touch()
        write_json(new / name, info)
        if path.exists():
            _remove(path, replacement=new)
        else:
            new.rename(path)
    return path


def _remove(path: Path, replacement: Path | None = None) -> None:
    old = Path(tempfile.mkdtemp(prefix=OLD_PREFIX, dir=path.parent))
    path.rename(old / path.name)
    if replacement is not None:
        replacement.rename(path)
    shutil.rmtree(old, ignore_errors=True)
