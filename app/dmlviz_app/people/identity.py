"""Identification of people: a browser by its cookie, a name in a header of a trusted proxy, or a login (OIDC)."""

import importlib.util
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.requests import HTTPConnection

from dmlviz.errors import UserError
from dmlviz.storage.text import one_line
from dmlviz_app.people.cookies import BrowserCookie, load_key, login_claims, login_configured, public_id
from dmlviz_app.people.limits import LimitsFile
from dmlviz_app.people.people import BROWSER, Limits, PeopleFile, Person, SolePerson, login_id
from dmlviz_app.people.policy import Role

_SESSION_TOKEN = "browser_token"


@dataclass(frozen=True, kw_only=True)
class AccessSettings:
    """The identification of people; by default the server is for one person, who owns everything.

    Attributes:
        shared: Whether each browser is a person of its own.
        people: File with roles and limits.
        user_header: Header in which a trusted proxy names the person; empty for none.
        proxies: Addresses of the trusted proxies, separated by commas.
        login: Whether people log in through Streamlit (`[auth]` in its secrets).
    """

    shared: bool = False
    people: Path | None = None
    user_header: str = ""
    proxies: str = ""
    login: bool = False

    @property
    def alone(self) -> bool:
        """Return whether the server is for one person."""
        return not (self.shared or self.people or self.user_header or self.login)

    @property
    def summary(self) -> str:
        """The identification of people, in one sentence."""
        if self.user_header:
            return f"People are identified by the header {self.user_header} of the proxy."
        if self.login:
            return "People log in; who does not is a visitor (docs/PEOPLE.md)."
        return "Each browser has its own runs and data (docs/PEOPLE.md)."


def access_settings(
    *,
    shared: bool | None = None,
    people: Path | None = None,
    user_header: str = "",
    proxies: str = "",
    reachable: bool = False,
) -> AccessSettings:
    """Return the settings of a server; one that other machines can reach, or behind a proxy, is shared by default.

    Raises:
        UserError: If options do not go together, or what a login needs is not installed.
    """
    login = login_configured()
    if user_header and not proxies:
        raise UserError("--user-header needs --forwarded-allow-ips: the address of the proxy that sets the header.")
    if user_header and "*" in proxies:
        raise UserError("With --user-header, --forwarded-allow-ips cannot be *: any client could choose its name.")
    if user_header and login:
        raise UserError("People are named by --user-header or by a login ([auth] in secrets.toml); choose one.")
    if shared is False and (people or user_header or login):
        raise UserError("--not-shared means one person; leave it out, or --people, --user-header and [auth].")
    if login and importlib.util.find_spec("authlib") is None:
        raise UserError("The login needs Authlib: pip install 'dmlviz[login]'.")
    return AccessSettings(
        shared=reachable or bool(proxies) if shared is None else shared,
        people=people,
        user_header=user_header,
        proxies=proxies,
        login=login,
    )


class Identity:
    """Identifies the person who sends a request, or whose session runs a page.

    Args:
        settings: The identification of people.
        runs: The runs folder, which keeps the key of the browsers' cookies and the limits that were set on a page.
    """

    def __init__(self, settings: AccessSettings, runs: Path) -> None:
        self.settings = settings
        self.browsers = BrowserCookie(load_key(runs))
        self._limits = LimitsFile(runs)
        self._people = PeopleFile(settings.people, has_login=bool(settings.user_header) or settings.login)

    def of_request(self, request: HTTPConnection) -> Person:
        """Return the person who sends a request; one without a cookie has no ID and holds nothing."""
        claims = login_claims(request.cookies) if self.settings.login else {}
        return self._person(request.headers, claims, self.browsers.token(request.cookies))

    def of_session(self) -> Person:
        """Return the person whose session runs this page; without a cookie, the session itself."""
        token = self.browsers.token(st.context.cookies)
        if token is None:
            if _SESSION_TOKEN not in st.session_state:  # not `setdefault`: to ask for chance each time takes longer
                st.session_state[_SESSION_TOKEN] = secrets.token_hex(16)
            token = str(st.session_state[_SESSION_TOKEN])
        claims = st.user.to_dict() if self.settings.login else {}
        return self._person(st.context.headers, claims, token)

    def limits_of(self, role: Role) -> Limits:
        """Return the limits of a role: those that were set on a page, else those of the start."""
        return self._limits.now.get(role, self._people.now.limits[role])

    def set_limits(self, by: Person, role: Role, limits: Limits | None) -> None:
        """Set the limits of a role, or with None put back those of the start; see `LimitsFile.set`."""
        self._limits.set(by, role, limits)

    def person(self, id: str) -> Person:
        """Return the person of this ID, without a name."""
        return SolePerson(id=id) if self.settings.alone else self._with_limits(id, "")

    def _with_limits(self, id: str, name: str) -> Person:
        person = self._people.now.person(id, name)
        return replace(person, limits=self.limits_of(person.role))

    def _person(self, headers: Mapping[str, str], claims: Mapping[str, Any], token: str | None) -> Person:
        if self.settings.alone:
            return SolePerson(id=token or "")
        id, name = None, ""
        if self.settings.user_header:
            # The middleware has removed the header from what no trusted proxy sent.
            id = name = headers.get(self.settings.user_header) or ""
        elif claims.get("is_logged_in"):
            id, name = _login(claims)
        if id:
            return self._with_limits(login_id(id), one_line(name or id, 200))
        if token is None:
            return self._with_limits("", "")
        visitor = public_id(token)
        return self._with_limits(BROWSER + visitor, f"Visitor {visitor[:4]}")


def _login(claims: Mapping[str, Any]) -> tuple[str, str]:
    """Return login and name: the e-mail, unless the provider says that it is not verified, else the subject."""
    email = claims.get("email")
    # With a bar it could be taken for the subject of another person, which is written with one.
    if not isinstance(email, str) or "|" in email or claims.get("email_verified") in (False, "false"):
        email = None
    subject = f"{claims.get('provider', 'default')}|{claims['sub']}" if claims.get("sub") else ""
    login = email or subject
    return login, str(claims.get("name") or login)
