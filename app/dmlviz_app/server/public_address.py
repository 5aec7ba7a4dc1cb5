"""The address under which other machines reach a page that this one opened as localhost."""

import ipaddress
from urllib.parse import urlsplit

from dmlviz.network import network_address
from dmlviz_app.server.settings import ANY_ADDRESS


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
