"""Where the server is reached, and by whom: base path, names, frames of other sites, token."""

import os
import re
from dataclasses import dataclass

from dmlviz.errors import UserError

MIN_TOKEN_LENGTH = 16
ANY_ADDRESS = ("0.0.0.0", "::", "")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]", "::1")
_BASE_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
_HOST_NAME = re.compile(r"\*|(\*\.)?[A-Za-z0-9.-]+|\[?[0-9A-Fa-f:.]+\]?")
_ORIGIN = re.compile(r"https?://(\*\.)?[A-Za-z0-9.-]+(:[0-9]{1,5})?")
_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")


@dataclass(frozen=True, kw_only=True)
class Hosting:
    """How the server is reached.

    Attributes:
        base_path: Path before every address, such as "/x/y"; "" where the server has a host of its own.
        allowed_hosts: Names by which the server may be asked, "*" for any; empty for any but on loopback.
        embedders: Origins, such as "https://school.example", whose pages may show the app in a frame.
        token: What a browser must know to get in; None lets everybody in who reaches the server.
    """

    base_path: str = ""
    allowed_hosts: tuple[str, ...] = ()
    embedders: tuple[str, ...] = ()
    token: str | None = None

    def __post_init__(self) -> None:
        path = "/" + self.base_path.strip("/") if self.base_path.strip("/") else ""
        if not _BASE_PATH.fullmatch(path):
            raise UserError(
                f"A base path has letters, digits and . _ ~ - between slashes; got {self.base_path[:80]!r}. "
                "Give it as in --base-path /x/y."
            )
        object.__setattr__(self, "base_path", path)
        for name in self.allowed_hosts:
            if not _HOST_NAME.fullmatch(name):
                raise UserError(
                    f"An allowed host is a name without scheme and port; got {name[:80]!r}. "
                    "Give it as in --allowed-host school.example, or *.school.example for all below it."
                )
        for origin in self.embedders:
            if not _ORIGIN.fullmatch(origin):
                raise UserError(
                    f"A site that may embed the app is an origin: scheme, name, perhaps a port; got {origin[:80]!r}. "
                    "Give it as in --embed https://school.example."
                )
        if self.token is not None and (len(self.token) < MIN_TOKEN_LENGTH or not _TOKEN.fullmatch(self.token)):
            raise UserError(
                f"A token has at least {MIN_TOKEN_LENGTH} letters, digits or . _ ~ -, so that nobody guesses it; "
                f"got {len(self.token)} characters. Leave it out to have one made."
            )

    def link(self, host: str, port: int) -> str:
        """The address to open in a browser, with the token, where the server listens on `host` and `port`."""
        name = "localhost" if host in ANY_ADDRESS else f"[{host}]" if ":" in host else host
        address = f"http://{name}:{port}{self.base_path}"
        return f"{address}/?token={self.token}" if self.token else address

    def answered_hosts(self, host: str) -> tuple[str, ...]:
        """Names that a request may ask for where the server listens on `host`; empty for any."""
        if "*" in self.allowed_hosts:
            return ()
        if self.allowed_hosts or host in LOOPBACK:
            return (*LOOPBACK_NAMES, *self.allowed_hosts)
        return ()


def hosting_from_environment(base_path: str) -> Hosting:
    """What DMLVIZ_ALLOWED_HOSTS, DMLVIZ_EMBED (separated by blanks) and DMLVIZ_TOKEN say.

    Args:
        base_path: As Streamlit was told.

    Returns:
        The same as the options of `dmlviz serve` give.

    Raises:
        UserError: If a value is none that the option takes.
    """
    return Hosting(
        base_path=base_path,
        allowed_hosts=tuple(os.environ.get("DMLVIZ_ALLOWED_HOSTS", "").split()),
        embedders=tuple(os.environ.get("DMLVIZ_EMBED", "").split()),
        token=os.environ.get("DMLVIZ_TOKEN") or None,
    )
