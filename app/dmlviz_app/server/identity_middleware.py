"""Middleware for identification: sessions bound to people, the header of a proxy."""

import os
from urllib.parse import quote

from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from dmlviz_app.people.identity import AccessSettings
from dmlviz_app.people.people import Person
from dmlviz_app.server.services import services

PERSON_HEADER = "X-Dmlviz-Person"
"""Streamlit remembers it with the session (`trustedUserHeaders` in app/.streamlit/config.toml), and resumes a session
only where it is the same again."""


class SessionBindingMiddleware:
    """ASGI middleware: names the person of each new connection to Streamlit, in a header that no client can set."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a connection; one of a page with the ID of the person."""
        if scope["type"] == "websocket":
            name = PERSON_HEADER.lower().encode()
            person = services().identity.of_request(HTTPConnection(scope))
            headers = [(key, value) for key, value in scope["headers"] if key.lower() != name]
            scope = {**scope, "headers": [*headers, (name, person_name(person).encode())]}
        await self.app(scope, receive, send)


def person_name(person: Person) -> str:
    """Return the ID of a person as the header has it: in ASCII, and different for different people."""
    return quote(person.id, safe="")


def user_header(access: AccessSettings) -> list[Middleware]:
    """Return the middleware that comes before all others; none where no header names people."""
    if not access.user_header:
        return []
    os.environ["FORWARDED_ALLOW_IPS"] = ""  # uvicorn's own trust, which would hide who asks: see below
    return [Middleware(UserHeaderMiddleware, access.user_header, access.proxies)]


class UserHeaderMiddleware:
    """ASGI middleware: removes the header from every request that no trusted proxy sent.

    It comes before everything else, since it must see the address of the real sender. uvicorn would replace that
    by X-Forwarded-For before the app is called, so with this middleware uvicorn trusts no proxy, and its own middleware
    for the forwarded headers comes after the check.

    Args:
        app: The app.
        header: Name of the header.
        proxies: Addresses of the trusted proxies, separated by commas.
    """

    def __init__(self, app: ASGIApp, header: str, proxies: str) -> None:
        self._app = ProxyHeadersMiddleware(app, proxies)  # type: ignore[arg-type]
        self._header = header.lower().encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request, without the header unless a trusted proxy sent it."""
        if scope["type"] in ("http", "websocket"):
            peer = (scope.get("client") or ("", 0))[0]
            if peer not in self._app.trusted_hosts:
                headers = [(name, value) for name, value in scope["headers"] if name.lower() != self._header]
                scope = {**scope, "headers": headers}
        await self._app(scope, receive, send)  # type: ignore[arg-type]
