"""Binds Streamlit's sessions to people: whoever knows the ID of somebody else's session cannot take it over."""

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from app.runtime.services import services

PERSON_HEADER = "X-Dmlviz-Person"
"""Streamlit remembers it with the session (`trustedUserHeaders` in app/.streamlit/config.toml), and resumes a session
only where it is the same again."""


class SessionBindingMiddleware:
    """ASGI middleware: tells Streamlit with each new connection whose it is, in a header that no client can set."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a connection; one of a page with the ID of the person."""
        if scope["type"] == "websocket":
            name = PERSON_HEADER.lower().encode()
            person = services().identity.of_request(HTTPConnection(scope))
            headers = [(key, value) for key, value in scope["headers"] if key.lower() != name]
            scope = {**scope, "headers": [*headers, (name, person.id.encode("latin-1", "replace"))]}
        await self.app(scope, receive, send)
