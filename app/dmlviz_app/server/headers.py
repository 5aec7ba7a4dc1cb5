"""Headers of answers: how long one may be kept and by whom, and a table of those that every answer gets.

A rule of the table gets the request, the status of the answer and its headers, and changes these.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from pydantic import TypeAdapter, ValidationError
from starlette import responses
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dmlviz.errors import UserError
from dmlviz.storage.files import to_json
from dmlviz.storage.run_schema.validation import complaint
from dmlviz_app.people.cookies import COOKIE, BrowserCookie

YEAR_S = 365 * 24 * 3600
NO_STORE = {"Cache-Control": "no-store"}
PRIVATE_IMMUTABLE = {"Cache-Control": f"private, max-age={YEAR_S}, immutable"}  # in one browser, in no proxy
UNCOMPRESSED = {"Content-Encoding": "identity"}  # quantized positions do not become smaller
STREAM = NO_STORE | {"X-Accel-Buffering": "no"}  # a line of events may not wait in a proxy
HeaderRule = Callable[[HTTPConnection, int, MutableHeaders], None]
_HASHED_FILE = r"/_stcore/bidi-components/[\w.]+/\w+-[0-9a-f]{16}\.js"
_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_SAME_SITE = re.compile(r";\s*SameSite=\w+", re.IGNORECASE)
_SECURE = re.compile(r";\s*Secure\b", re.IGNORECASE)


class HeadersMiddleware:
    """ASGI middleware: applies the rules, in their order, to the headers of each answer over HTTP."""

    def __init__(self, app: ASGIApp, rules: Sequence[HeaderRule]) -> None:
        self.app = app
        self.rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, with the headers that the rules want."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for rule in self.rules:
                    rule(HTTPConnection(scope), message["status"], headers)
                message["headers"] = headers.raw
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


def header_rules(
    browsers: Callable[[], BrowserCookie], base_path: str, embedders: tuple[str, ...], scripts: tuple[bytes, ...]
) -> list[HeaderRule]:
    """Return the table of a server.

    Args:
        browsers: Returns what gives and checks the cookies of browsers.
        base_path: The path before every address.
        embedders: The sites that may show the app in a frame.
        scripts: The inline scripts that its pages may run, besides Streamlit's own.
    """
    fixed = {
        "content-security-policy": content_security_policy(embedders, scripts),
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
    }
    return [
        partial(_add_fixed, fixed),
        partial(_keep_hashed_files, re.compile(re.escape(base_path) + _HASHED_FILE)),
        partial(_give_cookie, browsers, base_path or "/"),
        partial(_protect_cookies, bool(embedders)),  # the last: it sees the cookies of the others
    ]


def _add_fixed(fixed: dict[str, str], _request: HTTPConnection, _status: int, headers: MutableHeaders) -> None:
    for name, value in fixed.items():
        headers.setdefault(name, value)  # an answer may have a policy of its own


def _keep_hashed_files(names: re.Pattern[str], request: HTTPConnection, status: int, headers: MutableHeaders) -> None:
    """Let browsers keep files whose address names their content, which Streamlit does not say."""
    if status == 200 and names.fullmatch(request.scope["path"]):
        headers["cache-control"] = f"public, max-age={YEAR_S}, immutable"


def _give_cookie(
    browsers: Callable[[], BrowserCookie], path: str, request: HTTPConnection, status: int, headers: MutableHeaders
) -> None:
    """Give each new browser its cookie with the first page."""
    is_page = status == 200 and headers.get("content-type", "").startswith("text/html")
    if is_page and browsers().token(request.cookies) is None:
        cookie = f"{COOKIE}={browsers().issue()}; Path={path}; Max-Age={YEAR_S}; HttpOnly; SameSite=Lax"
        headers.append("set-cookie", cookie)


def _protect_cookies(embedded: bool, request: HTTPConnection, _status: int, headers: MutableHeaders) -> None:
    """See to it that a cookie that is set over HTTPS never goes over HTTP.

    With `embedded`, it also goes along when another site shows the app in a frame, in a jar of that site's own.
    """
    if request.scope["scheme"] != "https":
        return
    cookies = headers.getlist("set-cookie")
    del headers["set-cookie"]
    for cookie in cookies:
        secure = _SECURE.sub("", cookie) + "; Secure"
        if embedded:
            secure = _SAME_SITE.sub("", secure) + "; SameSite=None; Partitioned"
        headers.append("set-cookie", secure)


def content_security_policy(embedders: tuple[str, ...], scripts: tuple[bytes, ...]) -> str:
    """Return the Content-Security-Policy that the front ends of Streamlit and dmlviz work with.

    Everything comes from this server. Streamlit writes its styles into the page, and pictures are also data in the
    page; the scripts that its page holds, and `scripts`, are named by what they contain. WebAssembly may be compiled,
    as Streamlit does for its messages: where that is forbidden, Firefox writes an error to the console.
    """
    return "; ".join(
        [
            "default-src 'self'",
            " ".join(["script-src 'self' 'wasm-unsafe-eval'", *map(_hash, (*_inline_scripts(), *scripts))]),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            " ".join(["frame-ancestors 'self'", *embedders]),
        ]
    )


def _inline_scripts() -> list[bytes]:
    page = Path(st.__file__).parent / "static" / "index.html"
    return _INLINE_SCRIPT.findall(page.read_bytes()) if page.is_file() else []


def _hash(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


class JSONResponse(responses.JSONResponse):
    """An answer in JSON: NaN and infinity become null, which browsers read, half a character a question mark.

    A dataclass is sent as its fields.
    """

    def render(self, content: Any) -> bytes:
        """Return the document."""
        try:
            text = _dumps(content)
        except ValueError:  # a number that JSON has no word for; most answers hold none, and are not searched
            text = _dumps(to_json(content))
        return text.encode(errors="replace")


def _dumps(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=asdict)


T = TypeVar("T")


async def read_json_body(request: Request, model: TypeAdapter[T], limit: int, what: str) -> T:
    """Return the body of a request, of up to `limit` bytes.

    Raises:
        UserError: If it is larger, no JSON, or not as the model says; it begins with `what` is sent.
    """
    text = bytearray()
    async for part in request.stream():
        text += part
        if len(text) > limit:
            raise UserError(f"{what} takes at most {limit:,} bytes; got more.")
    return parse_json(bytes(text), model, what)


def parse_json(text: bytes, model: TypeAdapter[T], what: str) -> T:
    """Return what JSON says; raise UserError as `read_json_body`."""
    try:
        return model.validate_json(text, strict=True)
    except ValidationError as error:
        raise UserError(f"{what} is a JSON object with other content: {complaint(error)}.") from None
    except RecursionError:
        raise UserError(f"{what} is a JSON object; this one is nested too deeply.") from None
