"""What a person is told when something cannot be done."""

import re
from pathlib import Path


class UserError(ValueError):
    """A broken rule, said in one or two sentences: the rule, what was received, what to do.

    The command line prints the text and the page shows it; neither shows a traceback.
    """


class UnknownName(UserError, KeyError):
    """A name that no catalogue entry has. Also a KeyError, so that `name in LOSSES` works."""

    __str__ = ValueError.__str__


class DataUnavailable(UserError):
    """A data set that is not on disk and could not be fetched, or files that are not what they claim."""


MISSING = "it is not there"


class DamagedFileError(UserError):
    """A file on disk that is not what its name says: cut off, changed, or written by somebody else.

    `file` is its name, in a run's folder from that folder on; `why` says what is wrong with it, in a few words,
    `said` both of them.
    """

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        owner, self.file = _owner_and_name(path)
        self.said = f"{self.file} is missing" if why == MISSING else f"{self.file} is damaged ({why})"
        whose = f"{self.file} of run {owner}" if owner else self.file
        super().__init__(f"{whose} cannot be read: {why}. Delete what it belongs to, or make it again.")


def _owner_and_name(path: Path) -> tuple[str, str]:
    """The run that a file lies in, and its name from that run's folder on; no run and the bare name elsewhere."""
    for place, part in enumerate(path.parts[:-1]):
        if re.fullmatch("[0-9a-f]{16}", part):
            return part, "/".join(path.parts[place + 1 :])
    return "", path.name
