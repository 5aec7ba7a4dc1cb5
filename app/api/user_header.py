"""The header in which a proxy names the person: believed only from the proxy."""

import os

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.runtime.identity import AccessSettings


def user_header(access: AccessSettings) -> list[Middleware]:
    """Return the middleware that comes before all others; none where no header names people."""
    if not access.user_header:
        return []
    os.environ["FORWARDED_ALLOW_IPS"] = ""  # uvicorn's own trust, which would hide who asks: see below
    return [Middleware(UserHeaderMiddleware, access.user_header, access.proxies)]


class UserHeaderMiddleware:
    """ASGI middleware: removes the header from every request that no trusted proxy sent.

    It comes before everything else, since it must see the address of whoever really asks. uvicorn would replace that
    by X-Forwarded-For before the app is called, so with this middleware uvicorn trusts nobody, and its own middleware
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
