"""The exceptions whose messages a user reads."""

import errno
import re
from collections.abc import Callable
from pathlib import Path


class UserError(ValueError):
    """Invalid input or state, with a message in one or two sentences: the rule, the value received, the remedy.

    The command line prints the message and the page displays it; neither shows a traceback. It is one line, whatever
    the names in it hold: characters that are not seen, or that turn the text around, are left out.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(_one_line(arg) if isinstance(arg, str) else arg for arg in args))


def _one_line(text: str) -> str:
    if text.isprintable():
        return text
    letters = (" " if letter.isspace() else letter for letter in text)
    return "".join(letter for letter in letters if letter.isprintable() or letter in "\u200c\u200d")


class UnknownNameError(UserError, KeyError):
    """A name without a catalog entry. Also a KeyError, so that `name in LOSSES` works."""

    __str__ = ValueError.__str__


class DataUnavailableError(UserError):
    """A data set that is not on disk and could not be downloaded, or whose files are invalid."""


class DiskFullError(OSError, UserError):
    """A disk, or a quota on it, is full. Also an OSError, as every other failure to write.

    Args:
        folder: The folder that could not be written to.
        free: Bytes that are left there.
        needed: Bytes that were to be written; 0 where that is not known.
    """

    def __init__(self, folder: str, free: int, needed: int = 0) -> None:
        room = f"{_megabytes(free)} free{f', {_megabytes(needed)} needed' if needed else ''}"
        super().__init__(
            f"The disk is full ({room} in {folder}): delete runs or other files there, or choose another folder."
        )
        self.free, self.needed = free, needed
        self.errno, self.strerror = errno.ENOSPC, f"the disk is full: {room}"

    @classmethod
    def said_by(cls, worker: str) -> "DiskFullError":
        """Return the error that a worker found: its sentence names the disk."""
        error = cls("", 0)
        error.args = (worker,)
        return error

    def __str__(self) -> str:
        return str(self.args[0])


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"


MISSING = "it is not there"  # the reason for a file that does not exist
READ_ONLY = "its folder can only be read"  # for one that cannot be written


class DamagedFileError(UserError):
    """A missing, truncated or otherwise invalid file.

    Attributes:
        path: The file.
        reason: The defect in a few words, or MISSING.
        file: The file's name; inside a run, its path relative to the run's folder.
        description: File and defect in one clause.
    """

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        run_id, self.file = _split_run_path(path)
        self.description = f"{self.file} is missing" if reason == MISSING else f"{self.file} is damaged ({reason})"
        label = f"{self.file} of run {run_id}" if run_id else self.file
        if reason == READ_ONLY:
            super().__init__(f"{label} cannot be written: {reason}. Allow writing there, or copy it to another folder.")
        else:
            remedy = next(remedy for begin, remedy in _REMEDIES.items() if self.file.startswith(begin))
            what = remedy if run_id else "Put back a copy of it, or make it again."
            super().__init__(f"{label} cannot be read: {reason}. {what}")


# What to do about a damaged file of a run, by how its path in the run begins.
_REMEDIES = {
    "run.json": "Nothing of the run can be shown: put back a copy of this file, or delete the run.",
    "thresholds": "Delete this file: only the kept threshold is lost; choose one again.",
    "gallery/index.json": "Delete the folder gallery of the run: only the kept pictures are lost.",
    "gallery/": "Remove this picture from the gallery: nothing else is lost.",
    "projections/": "Delete its folder in projections: only this map is lost; draw it again.",
    "columns.parquet": "Delete this file: only the columns are lost.",
    "": "What needs it is lost, the rest of the run is not: put back a copy of it, or make the run again.",
}


def _split_run_path(path: Path) -> tuple[str, str]:
    """Split a path into run ID and path within the run; ID "" and the bare name for a file outside any run."""
    for depth, part in enumerate(path.parts[:-1]):
        if re.fullmatch("[0-9a-f]{16}", part):
            return part, "/".join(path.parts[depth + 1 :])
    return "", path.name


class BusyError(UserError):
    """What is asked for has to wait: others, or the same person, have asked for much.

    Args:
        sentence: What it waits for.
        lasts: Answers whether it still has to.
    """

    def __init__(self, sentence: str, lasts: Callable[[], bool] = lambda: True) -> None:
        super().__init__(sentence)
        self.lasts = lasts
