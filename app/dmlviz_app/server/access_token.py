"""The token that a browser must know to get in, where the server is open to a network; the code of a class will do."""

from pathlib import Path
from string import Template
from urllib.parse import parse_qs, parse_qsl, urlencode

from starlette.datastructures import URL
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dmlviz.errors import UserError
from dmlviz_app.people.identity import COOKIE, AccessTokens
from dmlviz_app.people.policy import Role
from dmlviz_app.server.headers import NO_STORE, YEAR_S, JSONResponse
from dmlviz_app.server.monitoring_routes import STREAMLIT_METRICS
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import services

PARAMETER = "token"
CODE = "code"  # the part of a link that has the code of a class
MAX_FORM_BYTES = 1000
_FORM = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
_NOTE = '<p role="alert">{refusal}</p>'


class AccessTokenMiddleware:
    """ASGI middleware: lets in who shows a token, in the address once, in a cookie from then on, or in a header.

    Each role has a token of its own. A class's code does the same as that of members while the class is open, so that
    students need no token.

    Health routes stay open, so that a container's own check needs no token; the metrics check for themselves who asks.
    """

    def __init__(self, app: ASGIApp, tokens: AccessTokens, base_path: str = "") -> None:
        self.app = app
        self.tokens = tokens
        self.path = base_path or "/"
        names = ("health", "health/ready", "metrics")
        self.open = (*(f"{base_path}/{ROUTES}/{name}" for name in names), f"{base_path}{STREAMLIT_METRICS}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, let its browser in, or refuse it with status 401; a WebSocket is closed."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        role = self.tokens.role_of_token(connection.query_params.get(PARAMETER, ""))
        if scope["type"] == "http" and role is not None:
            await self.welcome(connection.url, role)(scope, receive, send)
        elif self.is_admitted(connection):
            await self.app(scope, receive, send)
        elif scope["type"] == "http" and self.has_code(connection):
            await self.welcome(connection.url, Role.MEMBER)(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "access token"})
        else:
            await (await self.answer(Request(scope, receive)))(scope, receive, send)

    def is_admitted(self, connection: HTTPConnection) -> bool:
        """Return whether it has the cookie or the header, or asks for what is open."""
        role = self.tokens.role(connection.headers, connection.cookies)
        return connection.scope["path"] in self.open or role is not Role.NOBODY

    def has_code(self, connection: HTTPConnection) -> bool:
        """Return whether its address holds the code of a class that is open."""
        code = connection.query_params.get(CODE, "")
        try:
            return bool(code) and is_class_code(code, connection)
        except UserError:  # the form says it when a code is typed
            return False

    async def answer(self, request: Request) -> Response:
        """Return a form for a page, a sentence for other requests, and a redirect for the right form."""
        is_form = (
            request.method == "POST" and request.headers.get("content-type") == "application/x-www-form-urlencoded"
        )
        refusal = "This is not the token of this server."
        if is_form:
            text = await _form_token(request)
            try:
                role = self.tokens.role_of_token(text) or (Role.MEMBER if is_class_code(text, request) else None)
                if role is not None:
                    return self.welcome(request.url, role)
            except UserError as error:
                refusal = str(error)
        if "text/html" not in request.headers.get("accept", ""):
            sentence = "This server asks for its access token: open the link that it printed when it started."
            return JSONResponse({"error": sentence}, 401, NO_STORE)
        note = _NOTE.format(refusal=refusal) if is_form or PARAMETER in request.query_params else ""
        return HTMLResponse(_FORM.substitute(note=note), 401, NO_STORE)

    def welcome(self, url: URL, role: Role) -> Response:
        """Redirect to the same address without the token, from now on with the cookie of this role."""
        rest = [pair for pair in parse_qsl(url.query, keep_blank_values=True) if pair[0] != PARAMETER]
        # Relative, so that it holds behind a proxy that cuts a path off.
        address = "./" + url.path.rpartition("/")[2] + (f"?{urlencode(rest)}" if rest else "")
        answer = RedirectResponse(address, 303, NO_STORE)
        mark = self.tokens.marks[role]
        answer.set_cookie(COOKIE, mark, max_age=YEAR_S, path=self.path, httponly=True, samesite="lax")
        return answer


def is_class_code(text: str, connection: HTTPConnection) -> bool:
    """Return whether this is the code of an open class; raise UserError after too many wrong codes from an address."""
    return services().classrooms.is_code(text, "" if connection.client is None else connection.client.host)


async def _form_token(request: Request) -> str:
    if int(request.headers.get("content-length", MAX_FORM_BYTES + 1)) > MAX_FORM_BYTES:
        return ""
    return parse_qs((await request.body()).decode("latin-1")).get(PARAMETER, [""])[0].strip()
