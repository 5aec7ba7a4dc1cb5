"""Security headers of every answer: allowed sources, framing, and the scope of cookies."""

import base64
import hashlib
import re
from pathlib import Path

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_SAME_SITE = re.compile(r";\s*SameSite=\w+", re.IGNORECASE)
_SECURE = re.compile(r";\s*Secure\b", re.IGNORECASE)


class SecurityHeadersMiddleware:
    """ASGI middleware: the headers of every answer. Sites in `embedders` may show the app in a frame.

    Its pages may run the inline `scripts`.
    """

    def __init__(self, app: ASGIApp, embedders: tuple[str, ...] = (), scripts: tuple[bytes, ...] = ()) -> None:
        self.app = app
        self.headers = {
            "content-security-policy": content_security_policy(embedders, scripts),
            "x-content-type-options": "nosniff",
            "referrer-policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request with these headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in self.headers.items():
                    headers.setdefault(name, value)  # an answer may have a policy of its own
            await send(message)

        await self.app(scope, receive, with_headers)


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


class CookieMiddleware:
    """ASGI middleware: a cookie that is set over HTTPS never goes over HTTP.

    With `embedded`, it also goes along when another site shows the app in a frame, in a jar of that site's own.
    """

    def __init__(self, app: ASGIApp, embedded: bool = False) -> None:
        self.app = app
        self.embedded = embedded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; over HTTPS, every cookie that the answer sets is made secure."""
        if scope["type"] != "http" or scope["scheme"] != "https":
            await self.app(scope, receive, send)
            return

        async def with_cookies(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    (name, self.protect(value.decode("latin-1")).encode("latin-1"))
                    if name.lower() == b"set-cookie"
                    else (name, value)
                    for name, value in message["headers"]
                ]
            await send(message)

        await self.app(scope, receive, with_cookies)

    def protect(self, cookie: str) -> str:
        """Return the same Set-Cookie value, restricted to HTTPS."""
        cookie = _SECURE.sub("", cookie) + "; Secure"
        return _SAME_SITE.sub("", cookie) + "; SameSite=None; Partitioned" if self.embedded else cookie
