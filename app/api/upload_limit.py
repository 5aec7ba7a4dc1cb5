"""Refuses files that are larger than their sender may upload, before they are read."""

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.runtime.people import MB
from app.runtime.services import services

ROUTE = "/_stcore/upload_file/"  # of Streamlit, for every widget that takes a file
FRAME = MB  # bytes around the file, at most


class UploadLimitMiddleware:
    """ASGI middleware: holds a file that somebody sends to a page to the limits of that person.

    Streamlit itself knows one limit for everybody, `server.maxUploadSize`.
    """

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self.app = app
        self.route = f"{base_path}{ROUTE}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, or answer 411 where it does not tell its length and 413 where that is too large."""
        if scope["type"] == "http" and scope["method"] == "PUT" and scope["path"].startswith(self.route):
            person = services().identity.of_request(HTTPConnection(scope))
            length = Headers(scope=scope).get("content-length", "")
            if not person.alone and not length.isdecimal():
                await PlainTextResponse("A file comes with its length.", 411)(scope, receive, send)
                return
            if not person.alone and int(length) > person.limits.upload + FRAME:
                await PlainTextResponse("The file is larger than you may upload.", 413)(scope, receive, send)
                return
        await self.app(scope, receive, send)
