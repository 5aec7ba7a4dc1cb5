"""Who may ask: an opaque cookie tells browsers apart, and /api answers this site's own pages only."""

import re
import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.runtime.session_owner import COOKIE, TOKEN

_YEAR = 365 * 24 * 3600
_HASHED_ASSET = re.compile(r"/_stcore/bidi-components/[\w.]+/\w+-[0-9a-f]{16}\.js")


def is_same_origin(headers: Headers) -> bool:
    """Whether a request comes from a page of this site, or from no page at all (a command line, an address bar)."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


class SameOriginMiddleware:
    """ASGI middleware: refuses other origins on /api, gives each new browser its cookie with the page.

    Files whose address names their content may be kept for ever, which Streamlit does not say of them.
    """

    def __init__(self, app: ASGIApp, secure: bool = False) -> None:
        self.app = app
        self.secure = secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["path"].startswith("/api/"):
            if not is_same_origin(headers):
                response = PlainTextResponse("Other sites may not ask here.", 403, {"Cache-Control": "no-store"})
                await response(scope, receive, send)
                return
            await self.app(scope, receive, send)
            return

        known = TOKEN.search(headers.get("cookie", "").partition(f"{COOKIE}=")[2][:32])

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(raw=message["headers"])
                if message["status"] == 200 and _HASHED_ASSET.fullmatch(scope["path"]):
                    answer["cache-control"] = f"public, max-age={_YEAR}, immutable"
                if known is None and answer.get("content-type", "").startswith("text/html"):
                    secure = "; Secure" if self.secure else ""
                    token = secrets.token_hex(16)
                    cookie = f"{COOKIE}={token}; Path=/; Max-Age={_YEAR}; HttpOnly; SameSite=Lax{secure}"
                    answer.append("set-cookie", cookie)
            await send(message)

        await self.app(scope, receive, with_headers)
