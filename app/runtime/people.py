"""Roles and limits of the people who use one server, from a TOML file: see docs/PEOPLE.md."""

import enum
import logging
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dmlviz.errors import UserError
from dmlviz.storage.run_schema.validation import complaint

LOGIN, BROWSER = "login:", "browser:"  # what an ID begins with: how the person is known
GUEST_RETENTION_S = 24 * 3600.0  # seconds after which a guest's runs and data are deleted
GB, MB = 1_000_000_000, 1_000_000
MAX_UPLOAD_MB = 110  # room for the weights of a ResNet-50, as torchvision has them: 103 MB


class Role(enum.IntEnum):
    """What somebody may do; each role may do what those before it may."""

    NOBODY = 0  # nothing but log in
    GUEST = 1  # look, and train in a corner that empties itself after a day
    MEMBER = 2  # keep runs and data, share them by link
    TEACHER = 3  # put runs on the shelf of all, see the queue
    ADMIN = 4  # see and change everything


ROLES = {role.name.lower(): role for role in Role}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one person may use.

    Attributes:
        disk: Bytes of runs and data; None for as much as the server has.
        jobs: Jobs under way and waiting.
        upload: Bytes of one upload.
    """

    disk: int | None
    jobs: int
    upload: int


DEFAULT_LIMITS = {
    Role.NOBODY: Limits(disk=0, jobs=0, upload=0),
    Role.GUEST: Limits(disk=200 * MB, jobs=2, upload=20 * MB),
    Role.MEMBER: Limits(disk=GB, jobs=4, upload=MAX_UPLOAD_MB * MB),
    Role.TEACHER: Limits(disk=5 * GB, jobs=4, upload=MAX_UPLOAD_MB * MB),
    Role.ADMIN: Limits(disk=None, jobs=4, upload=MAX_UPLOAD_MB * MB),
}


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody who uses the server.

    Attributes:
        id: Opaque ID; it begins with how the person is known, "login:" or "browser:".
        name: Name to show to others.
        role: What they may do.
        limits: What they may use.
        alone: Whether this is the only person of a server for one: everything is theirs, and nothing is shared.
    """

    id: str
    name: str
    role: Role
    limits: Limits
    alone: bool = False

    @property
    def logged_in(self) -> bool:
        """Whether a login or a proxy says who this is."""
        return self.id.startswith(LOGIN)

    def may(self, role: Role) -> bool:
        """Whether this person has this role or a higher one."""
        return self.role >= role


def sole_person(browser: str) -> Person:
    """Return the only person of a server for one, at this browser: the ID tells browsers apart in the queue."""
    return Person(id=browser, name="", role=Role.ADMIN, limits=DEFAULT_LIMITS[Role.ADMIN], alone=True)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _LimitsTable(_Model):
    disk_gb: Annotated[float, Field(ge=0, le=1e6)] | None = None
    jobs: Annotated[int, Field(ge=0, le=4)] | None = None
    upload_mb: Annotated[float, Field(ge=0, le=MAX_UPLOAD_MB)] | None = None


class _Defaults(_Model):
    login: str = "member"
    browser: str | None = None


class _File(_Model):
    default: _Defaults = _Defaults()
    roles: dict[str, str] = {}
    limits: dict[str, _LimitsTable] = {}


@dataclass(frozen=True)
class People:
    """Roles and limits of a server's people.

    Attributes:
        roles: Roles by login name (lower case), or by "browser:…" for a browser.
        login: Role of those who are logged in and not in `roles`.
        browser: Role of those who are not logged in and not in `roles`.
        limits: Limits by role.
    """

    roles: Mapping[str, Role] = field(default_factory=lambda: MappingProxyType({}))
    login: Role = Role.MEMBER
    browser: Role = Role.MEMBER
    limits: Mapping[Role, Limits] = field(default_factory=lambda: MappingProxyType(DEFAULT_LIMITS))

    def person(self, id: str, name: str) -> Person:
        """Return the person with this ID, with their role and its limits."""
        default = self.login if id.startswith(LOGIN) else self.browser
        role = self.roles.get(id.removeprefix(LOGIN), default)
        return Person(id=id, name=name, role=role, limits=self.limits[role])


def read_people(path: Path | None, has_login: bool) -> People:
    """Read the file of roles and limits.

    Args:
        path: The file; None for the defaults.
        has_login: Whether people can log in. If not, browsers are members by default, otherwise guests.

    Returns:
        The roles and limits.

    Raises:
        UserError: If the file cannot be read or says something unknown.
    """
    browser = Role.GUEST if has_login else Role.MEMBER
    if path is None:
        return People(browser=browser)
    try:
        file = _File.model_validate(tomllib.loads(path.read_text()))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); choose another file with --people.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML ({error}); see docs/PEOPLE.md for an example.") from None
    except ValidationError as error:
        raise UserError(f"{path}: {complaint(error)}; see docs/PEOPLE.md for an example.") from None
    limits = dict(DEFAULT_LIMITS)
    for name, table in file.limits.items():
        role = _role(name, path, "limits")
        limits[role] = _limits(limits[role], table)
    return People(
        roles={name.strip().lower(): _role(role, path, name) for name, role in file.roles.items()},
        login=_role(file.default.login, path, "default.login"),
        browser=browser if file.default.browser is None else _role(file.default.browser, path, "default.browser"),
        limits=limits,
    )


def _role(name: str, path: Path, where: str) -> Role:
    if name not in ROLES:
        raise UserError(f"{path}, {where}: a role is one of {', '.join(ROLES)}; got {name[:40]!r}.")
    return ROLES[name]


def _limits(before: Limits, table: _LimitsTable) -> Limits:
    return Limits(
        disk=before.disk if table.disk_gb is None else round(table.disk_gb * GB),
        jobs=before.jobs if table.jobs is None else table.jobs,
        upload=before.upload if table.upload_mb is None else round(table.upload_mb * MB),
    )


class PeopleFile:
    """The roles and limits as the file says them now; while it cannot be read, as it said them last."""

    def __init__(self, path: Path | None, has_login: bool) -> None:
        self.path = path
        self.has_login = has_login
        self._last = read_people(path, has_login)  # a mistake is said at the start
        self._stamp = self._look()

    @property
    def now(self) -> People:
        """The current roles and limits."""
        stamp = self._look()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._last = read_people(self.path, self.has_login)
            except UserError as error:
                logging.getLogger("dmlviz").error("%s The roles stay as they were.", error)
        return self._last

    def _look(self) -> Any:
        return None if self.path is None else file_stamp(self.path)


def file_stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is written anew; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
