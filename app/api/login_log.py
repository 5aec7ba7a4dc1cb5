"""Writes a line into the log when somebody has logged in."""

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.runtime.login_cookie import login_claims
from app.runtime.logs import log_login
from app.runtime.services import services

CALLBACK = "/oauth2callback"  # Streamlit's route, to which the identity provider sends the browser back


class LoginLogMiddleware:
    """ASGI middleware: notes who has logged in when Streamlit hands out the cookie of the login."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; an answer that makes somebody logged in is a line in the log."""
        if scope["type"] != "http" or not scope["path"].endswith(CALLBACK):
            await self.app(scope, receive, send)
            return

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                _log(scope, Headers(raw=message["headers"]).getlist("set-cookie"))
            await send(message)

        await self.app(scope, receive, noted)


def _log(scope: Scope, set_cookies: list[str]) -> None:
    """Write the line, if these cookies are those of somebody who is logged in."""
    cookies = "; ".join(cookie.partition(";")[0] for cookie in set_cookies)
    visitor = HTTPConnection({**scope, "headers": [(b"cookie", cookies.encode("latin-1"))]})
    if login_claims(visitor.cookies).get("is_logged_in"):
        person = services().identity.of_request(visitor)
        log_login(person.id, person.role.name.lower(), "oidc")
