"""Identification of people: a name in a header of a trusted proxy, or a browser by its cookie; and their role."""

import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import streamlit as st
from starlette.requests import HTTPConnection

from dmlviz.errors import UserError
from dmlviz.storage.files import atomic_write, read_json
from dmlviz.storage.text import one_line
from dmlviz_app.people.cookies import BrowserCookie, load_key, public_id
from dmlviz_app.people.people import BROWSER, PeopleFile, Person, login_id
from dmlviz_app.people.policy import Role

COOKIE = "dmlviz_access"
ROLES = Role.MEMBER, Role.TEACHER, Role.GUEST


class AccessTokens:
    """What a browser must show to get in; without any, everybody gets in.

    Args:
        tokens: Token of each role; where one is given, the others are made.

    Raises:
        UserError: If two roles have the same token.
    """

    def __init__(self, tokens: Mapping[Role, str | None] = MappingProxyType({})) -> None:
        given = {role: token for role, token in tokens.items() if token}
        if len(set(given.values())) < len(given):
            raise UserError(
                "Each role needs a token of its own; give --token, --teacher-token and --guest-token others."
            )
        self.tokens = {role: given.get(role) or secrets.token_hex(16) for role in ROLES if given}
        # A cookie does not hold the token.
        self.marks = {
            role: hashlib.sha256(f"{COOKIE} {token}".encode()).hexdigest() for role, token in self.tokens.items()
        }

    def __bool__(self) -> bool:
        """Return whether a token is asked for."""
        return bool(self.tokens)

    def role_of_token(self, text: str) -> Role | None:
        """Return the role that this token gives, compared in constant time; None for no token."""
        return _match(self.tokens, text)

    def role(self, headers: Mapping[str, str], cookies: Mapping[str, str]) -> Role | None:
        """Return the role that a request shows in a cookie or a header; None where no token is asked for."""
        if not self:
            return None
        mark, bearer = cookies.get(COOKIE, ""), headers.get("authorization", "").removeprefix("Bearer ")
        return _match(self.marks, mark) or _match(self.tokens, bearer) or Role.NOBODY


def _match(texts: Mapping[Role, str], text: str) -> Role | None:
    found = [role for role, known in texts.items() if hmac.compare_digest(text.encode(), known.encode())]
    return found[0] if found else None


_SESSION_TOKEN = "browser_token"


@dataclass(frozen=True, kw_only=True)
class AccessSettings:
    """The identification of people; by default the server is for one person, who owns everything.

    Attributes:
        shared: Whether each browser is a person of its own.
        people: File with roles and limits.
        user_header: Header in which a trusted proxy names the person; empty for none.
        proxies: Addresses of the trusted proxies, separated by commas.
        tokens: What a browser must show to get in, and the role that it gets.
    """

    shared: bool = False
    people: Path | None = None
    user_header: str = ""
    proxies: str = ""
    tokens: AccessTokens = field(default_factory=AccessTokens)

    @property
    def alone(self) -> bool:
        """Return whether the server is for one person."""
        return not (self.shared or self.people or self.user_header)

    @property
    def summary(self) -> str:
        """The identification of people, in one sentence."""
        if self.user_header:
            return f"People are identified by the header {self.user_header} of the proxy."
        return "Each browser has its own runs and data (`dmlviz docs PEOPLE`)."


def access_settings(
    *,
    shared: bool | None = None,
    people: Path | None = None,
    user_header: str = "",
    proxies: str = "",
    reachable: bool = False,
    tokens: Mapping[Role, str | None] | None = None,
) -> AccessSettings:
    """Return the settings of a server; one that other machines can reach, or behind a proxy, is shared by default.

    Raises:
        UserError: If options do not go together.
    """
    if user_header and not proxies:
        raise UserError("--user-header needs --forwarded-allow-ips: the address of the proxy that sets the header.")
    if user_header and "*" in proxies:
        raise UserError("With --user-header, --forwarded-allow-ips cannot be *: any client could choose its name.")
    if shared is False and (people or user_header):
        raise UserError("--not-shared means one person; leave it out, or --people and --user-header.")
    return AccessSettings(
        shared=reachable or bool(proxies) if shared is None else shared,
        people=people,
        user_header=user_header,
        proxies=proxies,
        tokens=AccessTokens(tokens or {}),
    )


class Identity:
    """Identifies the person who sends a request, or whose session runs a page.

    Args:
        settings: The identification of people.
        runs: The runs folder, which keeps the key of the browsers' cookies, and the roles of those that showed a token:
            who holds a run keeps their rank when the server has been started again.
    """

    def __init__(self, settings: AccessSettings, runs: Path) -> None:
        self.settings = settings
        self.browsers = BrowserCookie(load_key(runs))
        self._people = PeopleFile(settings.people, has_login=bool(settings.user_header))
        self._roles_file, self._lock = runs / ".roles.json", threading.Lock()
        kept = read_json(self._roles_file) if settings.tokens else None
        # The role of the token that each browser showed last.
        self._shown: dict[str, Role | None] = (
            {id: Role(role) for id, role in kept.items() if role in [*Role]} if isinstance(kept, dict) else {}
        )

    def of_request(self, request: HTTPConnection) -> Person:
        """Return the person who sends a request; one without a cookie has no ID and holds nothing."""
        return self._person(request.headers, request.cookies, self.browsers.token(request.cookies))

    def of_session(self) -> Person:
        """Return the person whose session runs this page; without a cookie, the session itself."""
        token = self.browsers.token(st.context.cookies)
        if token is None:
            if _SESSION_TOKEN not in st.session_state:  # not `setdefault`: to ask for chance each time takes longer
                st.session_state[_SESSION_TOKEN] = secrets.token_hex(16)
            token = str(st.session_state[_SESSION_TOKEN])
        return self._person(st.context.headers, st.context.cookies, token)

    def person(self, id: str, name: str = "", role: Role | None = None) -> Person:
        """Return the person of this ID, with the role that the file gives, or else this one, or that of the token."""
        role = Role.SOLE if self.settings.alone else self._shown.get(id) if role is None else role
        return self._people.now.person(id, name, role)

    def _person(self, headers: Mapping[str, str], cookies: Mapping[str, str], token: str | None) -> Person:
        if self.settings.alone:
            return self.person(token or "")
        # The middleware has removed the header from what no trusted proxy sent.
        name = self.settings.user_header and headers.get(self.settings.user_header)
        if name:
            return self.person(login_id(name), one_line(name, 200))
        role = self.settings.tokens.role(headers, cookies)
        if token is None:
            return self.person("", "", role)
        visitor = public_id(token)
        id = BROWSER + visitor
        if self._shown.get(id) is not role:
            self._remember(id, role)
        return self.person(id, f"Visitor {visitor[:4]}", role)

    def _remember(self, id: str, role: Role | None) -> None:
        with self._lock:
            self._shown[id] = role
            if role:  # not of the many who show none
                kept = {id: int(one) for id, one in self._shown.items() if one}
                with suppress(OSError), atomic_write(self._roles_file) as file:
                    file.write(json.dumps(kept).encode())
