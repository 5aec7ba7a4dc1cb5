"""Middleware around every route and Streamlit, one duty a class."""

import asyncio
import os
from contextlib import suppress
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from dmlviz_app.people.identity import AccessSettings
from dmlviz_app.people.people import Person
from dmlviz_app.server.access_token import AccessTokenMiddleware
from dmlviz_app.server.headers import NO_STORE, HeadersMiddleware, header_rules
from dmlviz_app.server.host_name import HostNameMiddleware, answered_hosts
from dmlviz_app.server.monitoring_routes import RequestMonitorMiddleware, StreamlitMetricsMiddleware
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import services
from dmlviz_app.server.settings import Settings

PERSON_HEADER = "X-Dmlviz-Person"
"""Streamlit remembers it with the session (`trustedUserHeaders` in app/.streamlit/config.toml), and resumes a session
only where it is the same again."""

MAX_REST_BYTES, MAX_REST_S = 4_000_000_000, 120.0  # of a refused body


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


UPLOADS = "/_stcore/upload_file/"  # of Streamlit


def is_same_origin(headers: Headers) -> bool:
    """Return whether a request comes from a page of this site, or from no page at all (command line, address bar)."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


class SameOriginMiddleware:
    """ASGI middleware: refuses what pages of other sites, or of other ports, ask: our routes and sessions.

    Streamlit's own route for uploads is closed to all: it would keep any number of files in memory.

    Streamlit's own check of a WebSocket lets every port of localhost and of the machine's addresses open a session.
    """

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self.app = app
        self.prefixes = (f"{base_path}/{ROUTES}/", f"{base_path}{UPLOADS}")
        self.closed = f"{base_path}{UPLOADS}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a WebSocket, or a request for a guarded route, from another site with status 403; pass on the rest."""
        guarded = scope["type"] == "websocket" or (scope["type"] == "http" and scope["path"].startswith(self.prefixes))
        if not guarded or (is_same_origin(Headers(scope=scope)) and not scope["path"].startswith(self.closed)):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "another site"})
        else:
            answer = PlainTextResponse("Other sites may not ask here.", 403, NO_STORE)
            await answer(scope, receive, send)


class RefusalMiddleware:
    """ASGI middleware: takes in the rest of a refused body before it answers.

    A browser that is still sending when the connection ends reports a broken connection, and never reads why.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; a client that asks before sending ("Expect") is answered at once."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD") or "expect" in Headers(scope=scope):
            await self.app(scope, receive, send)
            return
        left, is_over = MAX_REST_BYTES, False

        async def receive_part() -> Message:
            nonlocal is_over
            part = await receive()
            is_over = part["type"] == "http.disconnect" or not part.get("more_body", False)
            return part

        async def answer(message: Message) -> None:
            nonlocal left
            if message["type"] == "http.response.start" and message["status"] >= 400:
                with suppress(TimeoutError):
                    async with asyncio.timeout(MAX_REST_S):
                        while not is_over and left > 0:
                            left -= len((await receive_part()).get("body", b""))
            await send(message)

        await self.app(scope, receive_part, answer)


class StreamlitPageMiddleware:
    """ASGI middleware: writes the server's address into Streamlit's page, and what is seen until the app is there.

    Without that, a page opened at /runs looks for the server below /runs first: two answers of 404 in every console,
    and a round trip. `window.__streamlit` is what hosts that embed Streamlit use, and is not documented;
    `tests/browser/test_first_visit.py` fails when it moves.
    """

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self.app = app
        self.prefix = f"{base_path}/{ROUTES}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; a page of Streamlit gets its base address in `<head>`, and a line in `<body>`."""
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
                body = body.replace(b"<title>Streamlit<", b"<title>dmlviz<", 1)
                body = body.replace(b"</body>", OPENING + b"</body>", 1)
                answer = MutableHeaders(raw=start["headers"])
                answer["content-length"] = str(len(body))
                for name in ("etag", "last-modified"):  # those of the file, which is another text
                    del answer[name]
                await send(start)
                await send({"type": "http.response.body", "body": body})

        await self.app({**scope, "headers": headers}, receive, with_address)

    def asks_for_page(self, scope: Scope) -> bool:
        """Return whether a browser's address bar or a link asks for one of Streamlit's pages."""
        ours = scope["path"].startswith(self.prefix)
        return scope["method"] == "GET" and not ours and "text/html" in Headers(scope=scope).get("accept", "")


# The folder of the page's address, from which the browser loads the page's scripts too.
BASE_ADDRESS_SCRIPT = b'window.__streamlit = { BACKEND_BASE_URL: new URL(".", location).href }'
# A browser that has never been here loads Streamlit for seconds; page.css, the first of the app to arrive, takes this
# away, and so does time, so that it hides no error. Without scripts Streamlit's own text is to be read.
OPENING = b"""
<style>
.opening { display: none; position: fixed; inset: 0; margin: 0; place-content: center; color-scheme: light dark;
  background: Canvas; color: CanvasText; font: 16px system-ui, sans-serif; pointer-events: none }
@media (scripting: enabled) { .opening { display: grid; animation: 0s opened 20s forwards } }
@keyframes opened { to { visibility: hidden } }
</style>
<p class="opening" role="status">Opening dmlviz \xe2\x80\xa6</p>
"""
_ABOUT_STORED_COPY = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")


def middleware(settings: Settings, access: AccessSettings) -> list[Middleware]:
    """Return what a server puts before its routes, outermost first."""
    base_path, tokens = settings.base_path, access.tokens
    rules = header_rules(lambda: services().identity.browsers, base_path, settings.embed, (BASE_ADDRESS_SCRIPT,))
    names = answered_hosts(settings, is_open=not (tokens or access.user_header))
    return [
        Middleware(RequestMonitorMiddleware),
        *user_header(access),
        Middleware(HeadersMiddleware, rules),
        Middleware(RefusalMiddleware),
        *([Middleware(HostNameMiddleware, names)] if names else []),
        *([Middleware(AccessTokenMiddleware, tokens, base_path)] if tokens else []),
        Middleware(SameOriginMiddleware, base_path),
        Middleware(StreamlitMetricsMiddleware, base_path),
        Middleware(SessionBindingMiddleware),
        Middleware(StreamlitPageMiddleware, base_path),
    ]
