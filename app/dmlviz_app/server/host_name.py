"""The host names under which a server answers.

A page of another site can give its own name this machine's address while it is open (DNS rebinding). Its browser then
takes the server for a part of that site, and only the name in the Host header shows whose page asks.
"""

import ipaddress
import socket
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from dmlviz.network import network_address
from dmlviz.storage.text import one_line
from dmlviz_app.server.settings import ANY_ADDRESS, LOOPBACK, Settings


class HostNameMiddleware:
    """ASGI middleware: answers to the names that were given, and to the address at which the request has come.

    Args:
        app: The app.
        names: Names and addresses, in lower case; `*.school.example` for all below a name.
    """

    def __init__(self, app: ASGIApp, names: tuple[str, ...]) -> None:
        self.app = app
        self.names = frozenset(names)
        self.endings = tuple(name[1:] for name in names if name.startswith("*."))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request for a name of this server; answer others with status 400 and what to do."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        name = host_name(Headers(scope=scope).get("host", ""))
        own = (scope.get("server") or ("",))[0]
        if name and (name in self.names or name.endswith(self.endings) or name == own):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "unknown host name"})
        else:
            host = one_line(name) or "no name"
            sentence = (
                f"This server does not answer to {host}: start it with --allowed-host (or DMLVIZ_ALLOWED_HOSTS) and "
                "the name or address by which people reach it."
            )
            await PlainTextResponse(sentence, 400)(scope, receive, send)


def host_name(header: str) -> str:
    """Return the name or address of a Host header, in lower case, without port, brackets and last dot; "" if none."""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def answered_hosts(settings: Settings, is_open: bool) -> tuple[str, ...]:
    """Return the names that a request may ask for, besides the address at which it comes; empty for any.

    Args:
        settings: The address on which the server listens, and the names that it was given.
        is_open: True if all who reach it may enter. Where a token or a proxy decides, a page that
            pretends to be this server gets no further than any stranger.
    """
    host, names = settings.host, settings.allowed_hosts
    if "*" in names or not (names or host in LOOPBACK or is_open):
        return ()
    return (*LOOPBACK, *own_names(host), *(name.lower().strip("[]") for name in names))


def own_names(host: str) -> tuple[str, ...]:
    """Return the names by which others in the network call this machine, where the server listens on `host`."""
    if host in LOOPBACK:
        return ()
    name = socket.gethostname().lower().rstrip(".")
    first = name.partition(".")[0]
    return host, name, first, f"{first}.local"  # the last is what mDNS (Bonjour, Avahi) makes of it


def public_address(url: str, host: str) -> str:
    """Return the address of a page for other machines, without its parameters.

    Args:
        url: The address at which the teacher's browser has it.
        host: The address on which the server listens.

    Returns:
        The same, with this machine's own address in place of localhost where the server listens on all.
    """
    parts = urlsplit(url)
    if not is_loopback(url) or host not in ANY_ADDRESS:
        return f"{parts.scheme}://{parts.netloc}{parts.path}"
    address = network_address() or parts.hostname or "localhost"
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{address}{port}{parts.path}"


def is_loopback(url: str) -> bool:
    """Return whether an address leads to the machine itself."""
    name = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
