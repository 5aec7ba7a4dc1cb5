"""Limits by role that a teacher or admin sets on a page; kept in the runs folder, they replace those of the start."""

import logging
import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.file_cache import stamp
from dmlviz.storage.files import ensure_dir, write_json
from dmlviz.storage.run_schema.validation import read
from dmlviz_app.people.people import GB, MAX_JOBS, MAX_UPLOAD_MB, MB, Limits, Person
from dmlviz_app.people.policy import ROLES, Action, Role

_FILE: TypeAdapter[dict[str, Limits]] = TypeAdapter(dict[str, Limits])


class LimitsFile:
    """The limits that were set on a page, in `.limits.json` of the runs folder. Safe for several threads."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".limits.json"
        self._lock = threading.Lock()
        self._last: Mapping[Role, Limits] = {}
        self._stamp: Any = None

    @property
    def now(self) -> Mapping[Role, Limits]:
        """The limits by role, of those roles whose limits were set; the last ones that could be read."""
        now = stamp(self.path)
        if now != self._stamp:
            self._stamp = now
            self._last = {} if now is None else self._read()
        return self._last

    def set(self, by: Person, role: Role, limits: Limits | None) -> None:
        """Set the limits of a role, or with None put back those of the start.

        Raises:
            UserError: If this person may not do that, or gives more than they have.
        """
        _check(by, role, limits)
        with self._lock:
            rows = {each.name.lower(): asdict(now) for each, now in self.now.items()}
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
        return {ROLES[name]: limits for name, limits in rows.items() if name in ROLES}


def may_set(by: Person, role: Role) -> bool:
    """Return whether this person may set the limits of a role: of lower ones, an admin of all."""
    return by.may(Action.SET_LIMITS) and role is not Role.NOBODY and (role < by.role or by.role is Role.ADMIN)


def _check(by: Person, role: Role, limits: Limits | None) -> None:
    """Raise UserError unless this person may give a role these limits: no more than they have."""
    if not may_set(by, role):
        raise UserError(f"You are a {by.role.name.lower()}, and may not set the limits of a {role.name.lower()}.")
    if limits is None:
        return
    most = replace(by.limits, jobs=MAX_JOBS, upload=MAX_UPLOAD_MB * MB) if by.role is Role.ADMIN else by.limits
    too_much_disk = most.disk is not None and (limits.disk is None or limits.disk > most.disk)
    if too_much_disk or limits.jobs > most.jobs or limits.upload > most.upload:
        raise UserError(
            "You cannot give more than you have: "
            + ("" if most.disk is None else f"{most.disk / GB:g} GB, ")
            + f"{most.jobs} jobs, uploads of {most.upload / MB:g} MB."
        )
