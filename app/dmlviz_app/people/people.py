"""The people who use one server, and their roles and limits from a TOML file: see docs/PEOPLE.md."""

import hashlib
import logging
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dmlviz.errors import UserError
from dmlviz.runs.ownership import Entry, Ownership
from dmlviz.storage.file_cache import stamp
from dmlviz.storage.run_schema.validation import complaint
from dmlviz.storage.text import one_line
from dmlviz_app.people import policy
from dmlviz_app.people.policy import ROLES, Action, Relation, Role

LOGIN, BROWSER = "login:", "browser:"  # what an ID begins with: how the person is known
MAX_LOGIN = 200  # characters of a login that are its ID; a longer one is known by its hash
_BROWSER_ID = re.compile(f"{BROWSER}[0-9a-f]{{12}}")
GUEST_RETENTION_S = 24 * 3600.0  # seconds after which a guest's runs and data are deleted
GB, MB = 1_000_000_000, 1_000_000
MAX_JOBS, MAX_DISK_GB = 4, 1_000_000
MAX_UPLOAD_MB = 110  # room for the weights of a ResNet-50, as torchvision has them: 103 MB


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The resources that one person may use.

    Attributes:
        disk: Bytes of runs and data; None for as much as the server has.
        jobs: Jobs under way and waiting.
        upload: Bytes of one upload.
    """

    disk: Annotated[int, Field(ge=0, le=MAX_DISK_GB * GB)] | None
    jobs: Annotated[int, Field(ge=0, le=MAX_JOBS)]
    upload: Annotated[int, Field(ge=0, le=MAX_UPLOAD_MB * MB)]


DEFAULT_LIMITS = {
    Role.NOBODY: Limits(disk=0, jobs=0, upload=0),
    Role.GUEST: Limits(disk=200 * MB, jobs=2, upload=20 * MB),
    Role.MEMBER: Limits(disk=GB, jobs=4, upload=MAX_UPLOAD_MB * MB),
    Role.TEACHER: Limits(disk=5 * GB, jobs=4, upload=MAX_UPLOAD_MB * MB),
    Role.ADMIN: Limits(disk=None, jobs=4, upload=MAX_UPLOAD_MB * MB),
    Role.SOLE: Limits(disk=None, jobs=sys.maxsize, upload=sys.maxsize),
}


@dataclass(frozen=True, kw_only=True)
class Person:
    """A person of a server: one among those who share it, or the only one.

    Attributes:
        id: Opaque ID; it begins with how the person is known, "login:" or "browser:". Empty without a cookie. That of
            the only person distinguishes browsers in the queue.
        name: Name to show to others.
        role: Their rights.
        limits: The resources that they may use.
    """

    id: str
    name: str
    role: Role
    limits: Limits

    @property
    def is_alone(self) -> bool:
        """Return whether this is the only person of the server."""
        return self.role is Role.SOLE

    @property
    def is_named(self) -> bool:
        """Return whether a proxy says who this is."""
        return self.id.startswith(LOGIN)

    @property
    def owner(self) -> str:
        """Return the ID under which their things are kept; empty for the only person, whose things need no owner."""
        return "" if self.is_alone else self.id

    def may(self, action: Action, relation: Relation = "mine") -> bool:
        """Return whether this person may do something with an item of theirs, or with one of another relation."""
        if self.is_alone:
            return not action.with_others
        is_free = relation == "mine" or (relation != "others" and action.reading)
        return action.role is not None and self.role >= (action.role if is_free else Role.ADMIN)

    def relation_to(self, entry: Entry | None) -> Relation:
        """Return what an item is to the person who sees it through this entry; without one, it is of others."""
        if self.is_alone:
            return "mine"
        if entry is None:
            return "others"
        if entry.holder == self.id:
            return "mine"
        return "public" if entry.visibility == "public" else "shared"

    def hold(self, owners: Ownership, item: str, title: str, tags: Iterable[str] = ()) -> None:
        """Take an entry of a run or a data set, where things have owners; a guest's is temporary."""
        if self.owner:
            is_temporary = not self.may(policy.KEEP)
            owners.add(item, holder=self.owner, name=self.name, title=title, tags=tuple(tags), temporary=is_temporary)

    def check_known(self) -> None:
        """Raise UserError if this person has no ID among several people."""
        if not self.id and not self.is_alone:
            raise UserError("This browser sends no cookie, so your work could not be kept apart; allow cookies.")


def login_id(login: str) -> str:
    """Return the ID of a login: the name that a proxy gives.

    Logins are one person where they differ by nothing but the case of ASCII letters, which people write as they
    like. All else is compared exactly: Unicode's own rules make look-alikes equal (K is the Kelvin sign, ß is ss),
    and a proxy may give these to different people.

    Examples:
        >>> login_id("Ada@Example.org")
        'login:ada@example.org'
    """
    content = login.encode("utf-8", "surrogatepass")
    if login != one_line(login, MAX_LOGIN) or login.startswith("#"):  # cut or cleaned, it could be another's
        return f"{LOGIN}#{hashlib.sha256(content).hexdigest()}"
    return LOGIN + content.lower().decode("utf-8", "surrogatepass")  # bytes have ASCII's case only


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _LimitsTable(_Model):
    disk_gb: Annotated[float, Field(ge=0, le=MAX_DISK_GB)] | None = None
    jobs: Annotated[int, Field(ge=0, le=MAX_JOBS)] | None = None
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
        roles: Roles by ID.
        login: Role of those whom a proxy names and who are not in `roles`.
        browser: Role of those whom none names, who show no token and are not in `roles`.
        limits: Limits by role.
    """

    roles: Mapping[str, Role] = field(default_factory=lambda: MappingProxyType({}))
    login: Role = Role.MEMBER
    browser: Role = Role.MEMBER
    limits: Mapping[Role, Limits] = field(default_factory=lambda: MappingProxyType(DEFAULT_LIMITS))

    def person(self, id: str, name: str, role: Role | None = None) -> Person:
        """Return the person with this ID, with their role and its limits.

        Args:
            id: The ID.
            name: Name to show to others.
            role: Role of the token that the person's browser shows; the file can give another.
        """
        if role is None or id.startswith(LOGIN):
            role = self.login if id.startswith(LOGIN) else self.browser
        role = self.roles.get(id, role)
        return Person(id=id, name=name, role=role, limits=self.limits[role])


def read_people(path: Path | None, has_login: bool) -> People:
    """Read the file of roles and limits; without one, take the defaults: a browser is a guest where a proxy names.

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
        raise UserError(f"{path} is not valid TOML ({error}); `dmlviz docs PEOPLE` shows an example.") from None
    except ValidationError as error:
        raise UserError(f"{path}: {complaint(error)}; `dmlviz docs PEOPLE` shows an example.") from None
    limits = dict(DEFAULT_LIMITS)
    for name, table in file.limits.items():
        role = _role(name, path, "limits")
        limits[role] = _limits(limits[role], table)
    return People(
        roles={_id(name.strip(), path): _role(role, path, name) for name, role in file.roles.items()},
        login=_role(file.default.login, path, "default.login"),
        browser=browser if file.default.browser is None else _role(file.default.browser, path, "default.browser"),
        limits=limits,
    )


def _id(name: str, path: Path) -> str:
    """Return the ID of the person that the file names: a browser by its ID, anyone else by the login."""
    if not name.startswith(BROWSER):
        return login_id(name)
    if not _BROWSER_ID.fullmatch(name):
        raise UserError(f"{path}, roles: the ID of a browser is browser: and 12 digits or a to f; got {name[:40]!r}.")
    return name


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
        self._stamp = path and stamp(path)

    @property
    def now(self) -> People:
        """The current roles and limits."""
        now = self.path and stamp(self.path)
        if now != self._stamp:
            self._stamp = now
            try:
                self._last = read_people(self.path, self.has_login)
            except UserError as error:
                logging.getLogger("dmlviz").error("%s The roles stay as they were.", error)
        return self._last
