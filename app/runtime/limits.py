"""Limits by role that a teacher or admin sets on a page; kept in the runs folder, they replace those of the start."""

import logging
import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from app.runtime.people import GB, MAX_UPLOAD_MB, MB, ROLES, Limits, Person, Role, file_stamp
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.files import ensure_dir, write_json
from dmlviz.storage.run_schema.validation import read

MAX_JOBS, MAX_DISK_GB = 4, 1_000_000


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    disk: Annotated[int, Field(ge=0, le=MAX_DISK_GB * GB)] | None
    jobs: Annotated[int, Field(ge=0, le=MAX_JOBS)]
    upload: Annotated[int, Field(ge=0, le=MAX_UPLOAD_MB * MB)]


_FILE: TypeAdapter[dict[str, _Row]] = TypeAdapter(dict[str, _Row])


class LimitsFile:
    """The limits that were set on a page. Safe for several threads.

    Args:
        folder: The runs folder; the file in it is `.limits.json`.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".limits.json"
        self._lock = threading.Lock()
        self._last: Mapping[Role, Limits] = {}
        self._stamp: Any = None

    @property
    def now(self) -> Mapping[Role, Limits]:
        """The limits by role, of those roles whose limits were set; the last ones that could be read."""
        stamp = file_stamp(self.path)
        if stamp != self._stamp:
            self._stamp = stamp
            self._last = {} if stamp is None else self._read()
        return self._last

    def set(self, by: Person, role: Role, limits: Limits | None) -> None:
        """Set the limits of a role, or with None put back those of the start.

        Raises:
            UserError: If this person may not do that, or gives more than they have.
        """
        check_may_set(by, role, limits)
        with self._lock:
            rows = {name: asdict(kept) for name, kept in _named(self.now).items()}
            rows.pop(role.name.lower(), None)
            if limits is not None:
                rows[role.name.lower()] = asdict(limits)
            ensure_dir(self.path.parent)
            write_json(self.path, rows)

    def _read(self) -> Mapping[Role, Limits]:
        try:
            rows = read(_FILE, self.path)
        except (OSError, DamagedFileError) as error:
            logging.getLogger("dmlviz").error("%s The limits stay as they were.", error)
            return self._last
        return {ROLES[name]: Limits(**row.model_dump()) for name, row in rows.items() if name in ROLES}


def check_may_set(by: Person, role: Role, limits: Limits | None) -> None:
    """Raise UserError unless this person may give a role these limits: lower roles, and no more than they have."""
    if by.alone or not by.may(Role.TEACHER):
        raise UserError("Only a teacher or an admin sets limits.")
    if role is Role.NOBODY or (role >= by.role and not by.may(Role.ADMIN)):
        raise UserError(f"You are a {by.role.name.lower()}, and set limits of those below only.")
    if limits is None:
        return
    most = replace(by.limits, jobs=MAX_JOBS, upload=MAX_UPLOAD_MB * MB) if by.may(Role.ADMIN) else by.limits
    too_much_disk = most.disk is not None and (limits.disk is None or limits.disk > most.disk)
    if too_much_disk or limits.jobs > most.jobs or limits.upload > most.upload:
        raise UserError(
            "Nobody gives more than they have: "
            + ("" if most.disk is None else f"{most.disk / GB:g} GB, ")
            + f"{most.jobs} jobs, uploads of {most.upload / MB:g} MB."
        )


def _named(limits: Mapping[Role, Limits]) -> dict[str, Limits]:
    return {role.name.lower(): kept for role, kept in limits.items()}
