"""The address under which other machines reach a page that this one opened as localhost."""

import ipaddress
import socket
from urllib.parse import urlsplit

ANYWHERE = ("0.0.0.0", "::", "")
_ELSEWHERE = "192.0.2.1"  # an address of the documentation: nothing is sent there


def public_address(url: str, host: str) -> str:
    """Return the address of a page for other machines, without its parameters.

    Args:
        url: The address at which the teacher's browser has it.
        host: The address on which the server listens.

    Returns:
        The same, with this machine's own address in place of localhost where the server listens on all.
    """
    parts = urlsplit(url)
    if not is_loopback(url) or host not in ANYWHERE:
        return f"{parts.scheme}://{parts.netloc}{parts.path}"
    address = _own_address() or parts.hostname or "localhost"
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{address}{port}{parts.path}"


def is_loopback(url: str) -> bool:
    """Whether an address leads to the machine itself."""
    name = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _own_address() -> str | None:
    """Return this machine's address in its network; None without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((_ELSEWHERE, 9))
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address
