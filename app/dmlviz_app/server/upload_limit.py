"""Guard of Streamlit's upload route: checks owner, page and size of a file before it is read."""

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dmlviz_app.server.pending_uploads import PendingUploads, UploadRefusedError
from dmlviz_app.server.services import services

ROUTE = "/_stcore/upload_file/"  # of Streamlit, for every widget that takes a file: …/SESSION/FILE


class UploadLimitMiddleware:
    """ASGI middleware: holds the files that people send to a page to their limits, and to pages of their own.

    Streamlit itself knows one limit for each file, `server.maxUploadSize`, and takes any number for any open session.
    """

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self.app = app
        self.route = f"{base_path}{ROUTE}"
        self.pending = PendingUploads()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, or answer why the file is neither taken nor deleted."""
        is_upload = scope["type"] == "http" and scope["method"] in ("PUT", "DELETE")
        if not is_upload or not scope["path"].startswith(self.route):
            await self.app(scope, receive, send)
            return
        session, _, file = scope["path"].removeprefix(self.route).partition("/")
        person = services().identity.of_request(HTTPConnection(scope))
        try:
            if scope["method"] == "PUT":
                self.pending.begin(person, session, file, announced_size(Headers(scope=scope)))
            else:
                self.pending.check_held(person, session, file)
        except UploadRefusedError as refusal:
            await PlainTextResponse(str(refusal), refusal.status)(scope, receive, send)
            return
        is_done = False

        async def note(message: Message) -> None:
            nonlocal is_done
            if message["type"] == "http.response.start":
                is_done = message["status"] < 300
            await send(message)

        try:
            await self.app(scope, receive, note)
        finally:
            if scope["method"] == "PUT" or is_done:
                self.pending.end(session, file, is_kept=scope["method"] == "PUT" and is_done)


def announced_size(headers: Headers) -> int:
    """Return the bytes that a request says it will send; raise UploadRefusedError if it does not say."""
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not length.isdecimal() or len(length) > 12:
        raise UploadRefusedError(411, "A file comes with its length.")
    return int(length)
