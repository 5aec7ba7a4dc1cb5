"""The addresses of this machine: what a server can listen on, and where others find it."""

import errno
import socket

from dmlviz.errors import UserError


def check_port_free(host: str, port: int) -> None:
    """Raise UserError if the server could not listen on this host and port."""
    bound_socket(host, port).close()


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a TCP socket that is bound to this host and port (0 = any); raise UserError if none can be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        server = socket.socket(family, kind, protocol)
        try:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(address)
        except OSError:
            server.close()
            raise
        return server
    except socket.gaierror:
        raise UserError(f"Cannot resolve address {host!r}; use 127.0.0.1, or 0.0.0.0 for all interfaces.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UserError(
                f"Port {port} is in use, perhaps by another dmlviz; choose another with --port (0 = any)."
            ) from None
        if error.errno == errno.EACCES:
            raise UserError(f"Permission denied for port {port}; use one above 1023.") from None
        raise UserError(f"Cannot listen on {host} port {port}: {error.strerror}.") from None


def network_address() -> str | None:
    """Return the address by which other machines see this one; None without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address of the documentation: nothing is sent, an interface is chosen
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address
