"""What happens to every request before a route or Streamlit answers it, one duty a class."""

import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.runtime.browser_cookie import COOKIE
from app.runtime.services import services

_YEAR_S = 365 * 24 * 3600
_HASHED_ASSET = re.compile(r"/_stcore/bidi-components/[\w.]+/\w+-[0-9a-f]{16}\.js")


def is_same_origin(headers: Headers) -> bool:
    """Whether a request comes from a page of this site, or from no page at all (a command line, an address bar)."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


class SameOriginMiddleware:
    """ASGI middleware: refuses requests for /api that come from pages of other sites."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request for /api from another site, with status 403; pass on all others."""
        app = self.app
        if scope["type"] == "http" and scope["path"].startswith("/api/") and not is_same_origin(Headers(scope=scope)):
            app = PlainTextResponse("Other sites may not ask here.", 403, {"Cache-Control": "no-store"})
        await app(scope, receive, send)


class BrowserCookieMiddleware:
    """ASGI middleware: gives each new browser its cookie with the first page; `secure` sends it over HTTPS only."""

    def __init__(self, app: ASGIApp, secure: bool = False) -> None:
        self.app = app
        self.secure = "; Secure" if secure else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; the first page that a browser gets carries its cookie."""
        if scope["type"] != "http" or services().identity.browsers.token(Request(scope).cookies) is not None:
            await self.app(scope, receive, send)
            return

        async def with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                if headers.get("content-type", "").startswith("text/html"):
                    value = services().identity.browsers.issue()
                    cookie = f"{COOKIE}={value}; Path=/; Max-Age={_YEAR_S}; HttpOnly; SameSite=Lax"
                    headers.append("set-cookie", cookie + self.secure)
            await send(message)

        await self.app(scope, receive, with_cookie)


class ImmutableAssetMiddleware:
    """ASGI middleware: lets browsers keep files whose address names their content, which Streamlit does not say."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; files named by their content get a cache header."""
        if scope["type"] != "http" or not _HASHED_ASSET.fullmatch(scope["path"]):
            await self.app(scope, receive, send)
            return

        async def with_cache(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                MutableHeaders(raw=message["headers"])["cache-control"] = f"public, max-age={_YEAR_S}, immutable"
            await send(message)

        await self.app(scope, receive, with_cache)


MIDDLEWARE = (SameOriginMiddleware, BrowserCookieMiddleware, ImmutableAssetMiddleware)
