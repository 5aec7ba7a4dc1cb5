"""Who somebody is: a browser by its cookie, a name in a header of a trusted proxy, or a login (OIDC)."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.requests import HTTPConnection

from app.runtime.browser_cookie import BrowserCookie, load_key, public_id
from app.runtime.login_cookie import login_claims
from app.runtime.people import BROWSER, LOGIN, PeopleFile, Person, sole_person
from dmlviz.storage.run_schema import one_line

_SESSION_TOKEN = "browser_token"


@dataclass(frozen=True, kw_only=True)
class AccessSettings:
    """How people are told apart; by default the server is for one person, to whom everything belongs.

    Attributes:
        shared: Whether each browser is a person of its own.
        people: File with roles and limits.
        user_header: Header in which a trusted proxy names the person; empty for none.
        login: Whether people log in through Streamlit (`[auth]` in its secrets).
    """

    shared: bool = False
    people: Path | None = None
    user_header: str = ""
    login: bool = False

    @property
    def alone(self) -> bool:
        """Whether the server is for one person."""
        return not (self.shared or self.people or self.user_header or self.login)


class Identity:
    """Tells who sends a request, or whose session runs a page.

    Args:
        settings: How people are told apart.
        runs: The runs folder, which keeps the key of the browsers' cookies.
    """

    def __init__(self, settings: AccessSettings, runs: Path) -> None:
        self.settings = settings
        self.browsers = BrowserCookie(load_key(runs))
        self._people = PeopleFile(settings.people, has_login=bool(settings.user_header) or settings.login)

    def of_request(self, request: HTTPConnection) -> Person:
        """Return the person who sends a request; one without a cookie has no ID and holds nothing."""
        claims = login_claims(request.cookies) if self.settings.login else {}
        return self._person(request.headers, claims, self.browsers.token(request.cookies))

    def of_session(self) -> Person:
        """Return the person whose session runs this page; without a cookie, the session itself."""
        token = self.browsers.token(st.context.cookies)
        if token is None:
            token = str(st.session_state.setdefault(_SESSION_TOKEN, secrets.token_hex(16)))
        claims = st.user.to_dict() if self.settings.login else {}
        return self._person(st.context.headers, claims, token)

    def _person(self, headers: Mapping[str, str], claims: Mapping[str, Any], token: str | None) -> Person:
        if self.settings.alone:
            return sole_person(token or "")
        id, name = None, ""
        if self.settings.user_header:
            # The middleware has removed the header from what no trusted proxy sent.
            id = name = one_line(headers.get(self.settings.user_header) or "", 200)
        elif claims.get("is_logged_in"):
            id, name = _login(claims)
        if id:
            return self._people.now.person(LOGIN + id.lower(), name or id)
        if token is None:
            return self._people.now.person("", "")
        known = public_id(token)
        return self._people.now.person(BROWSER + known, f"Visitor {known[:4]}")


def _login(claims: Mapping[str, Any]) -> tuple[str, str]:
    """Return ID and name: the e-mail, unless the provider says that it is not verified, else the subject."""
    email = claims.get("email")
    if not isinstance(email, str) or claims.get("email_verified") in (False, "false"):
        email = None
    subject = f"{claims.get('provider', 'default')}|{claims['sub']}" if claims.get("sub") else ""
    id = one_line(email or subject, 200)
    return id, one_line(str(claims.get("name") or email or id), 200)
