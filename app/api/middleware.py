"""What happens to every request before a route or Streamlit answers it, one duty a class."""

import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.access_token import AccessTokenMiddleware
from app.api.login_log import LoginLogMiddleware
from app.api.monitoring import RequestMonitorMiddleware
from app.api.security import CookieMiddleware, SecurityHeadersMiddleware
from app.api.session_binding import SessionBindingMiddleware
from app.api.upload_limit import UploadLimitMiddleware
from app.api.user_header import user_header
from app.payloads.protocol.common import ROUTES
from app.runtime.browser_cookie import COOKIE
from app.runtime.hosting import Hosting
from app.runtime.identity import AccessSettings
from app.runtime.services import services

_YEAR_S = 365 * 24 * 3600


def is_same_origin(headers: Headers) -> bool:
    """Whether a request comes from a page of this site, or from no page at all (a command line, an address bar)."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


class SameOriginMiddleware:
    """ASGI middleware: refuses requests for our routes that come from pages of other sites."""

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self.app = app
        self.prefix = f"{base_path}/{ROUTES}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request for a route from another site, with status 403; pass on all others."""
        app = self.app
        ours = scope["type"] == "http" and scope["path"].startswith(self.prefix)
        if ours and not is_same_origin(Headers(scope=scope)):
            app = PlainTextResponse("Other sites may not ask here.", 403, {"Cache-Control": "no-store"})
        await app(scope, receive, send)


class BrowserCookieMiddleware:
    """ASGI middleware: gives each new browser its cookie with the first page."""

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self.app = app
        self.path = base_path or "/"

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
                    cookie = f"{COOKIE}={value}; Path={self.path}; Max-Age={_YEAR_S}; HttpOnly; SameSite=Lax"
                    headers.append("set-cookie", cookie)
            await send(message)

        await self.app(scope, receive, with_cookie)


class ImmutableAssetMiddleware:
    """ASGI middleware: lets browsers keep files whose address names their content, which Streamlit does not say."""

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self.app = app
        self.hashed = re.compile(re.escape(base_path) + r"/_stcore/bidi-components/[\w.]+/\w+-[0-9a-f]{16}\.js")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; files named by their content get a cache header."""
        if scope["type"] != "http" or not self.hashed.fullmatch(scope["path"]):
            await self.app(scope, receive, send)
            return

        async def with_cache(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                MutableHeaders(raw=message["headers"])["cache-control"] = f"public, max-age={_YEAR_S}, immutable"
            await send(message)

        await self.app(scope, receive, with_cache)


class BaseAddressMiddleware:
    """ASGI middleware: tells Streamlit's page where its server is.

    Without that, a page opened at /runs looks for the server below /runs first: two answers of 404 in the console of
    everybody, and a round trip. `window.__streamlit` is what hosts that embed Streamlit use, and is not documented;
    `tests/browser/test_pages.py` fails when it moves.
    """

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self.app = app
        self.prefix = f"{base_path}/{ROUTES}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; a page of Streamlit gets its base address in `<head>`."""
        if scope["type"] != "http" or not self.asks_for_page(scope):
            await self.app(scope, receive, send)
            return
        # The page is wanted whole and uncompressed: it is changed below.
        headers = [(name, value) for name, value in scope["headers"] if name not in _ABOUT_STORED_COPY]
        start: Message = {}  # held back until the length is known
        parts: list[bytes] = []

        async def with_address(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                body = b"".join(parts).replace(b"<head>", b"<head><script>" + BASE_ADDRESS_SCRIPT + b"</script>", 1)
                answer = MutableHeaders(raw=start["headers"])
                answer["content-length"] = str(len(body))
                for name in ("etag", "last-modified"):  # those of the file, which is another text
                    del answer[name]
                await send(start)
                await send({"type": "http.response.body", "body": body})

        await self.app({**scope, "headers": headers}, receive, with_address)

    def asks_for_page(self, scope: Scope) -> bool:
        """Whether a browser's address bar or a link asks for one of Streamlit's pages."""
        ours = scope["path"].startswith(self.prefix)
        return scope["method"] == "GET" and not ours and "text/html" in Headers(scope=scope).get("accept", "")


# The folder of the page's address, from which the browser loads the page's scripts too.
BASE_ADDRESS_SCRIPT = b'window.__streamlit = { BACKEND_BASE_URL: new URL(".", location).href }'
_ABOUT_STORED_COPY = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")


class ClearCacheAtLogoutMiddleware:
    """ASGI middleware: lets the browser forget the pictures and frames of whoever logs out."""

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self.app = app
        self.logout = f"{base_path}/auth/logout"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; the answer to a logout says that what the browser kept is to be deleted."""
        if scope["type"] != "http" or scope["path"] != self.logout:
            await self.app(scope, receive, send)
            return

        async def with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(raw=message["headers"])["clear-site-data"] = '"cache"'
            await send(message)

        await self.app(scope, receive, with_header)


def middleware(hosting: Hosting, host: str, access: AccessSettings) -> list[Middleware]:
    """What a server that listens on `host` puts before its routes, outermost first."""
    base_path = hosting.base_path
    answered = hosting.answered_hosts(host)
    return [
        Middleware(RequestMonitorMiddleware),
        *user_header(access),
        *([Middleware(TrustedHostMiddleware, allowed_hosts=answered, www_redirect=False)] if answered else []),
        Middleware(SecurityHeadersMiddleware, hosting.embedders, (BASE_ADDRESS_SCRIPT,)),
        Middleware(CookieMiddleware, bool(hosting.embedders)),
        *([Middleware(AccessTokenMiddleware, hosting.token, base_path)] if hosting.token else []),
        Middleware(SameOriginMiddleware, base_path),
        Middleware(BrowserCookieMiddleware, base_path),
        Middleware(ImmutableAssetMiddleware, base_path),
        Middleware(LoginLogMiddleware),
        Middleware(ClearCacheAtLogoutMiddleware, base_path),
        Middleware(SessionBindingMiddleware),
        Middleware(UploadLimitMiddleware, base_path),
        Middleware(BaseAddressMiddleware, base_path),
    ]
