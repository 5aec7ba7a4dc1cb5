"""What a fleet's processes listen on: one port each, which says nothing to those without a certificate of the fleet."""

import contextlib
import socket
import ssl

import psutil
import pytest

from dmlviz.fleet.certificates import CA, OWN, make_certificates
from dmlviz.fleet.dask_scheduler import start_scheduler
from tests.fleet.cluster import Worker


@pytest.fixture(scope="module")
def everywhere(certificates, free_address, until):
    """A scheduler that others in the network reach, with a machine: the ports on which each process listens."""
    address = free_address().replace("127.0.0.1", "0.0.0.0")
    port = int(address.rpartition(":")[2])
    scheduler = start_scheduler(address, certificates)
    machine = Worker(f"tls://127.0.0.1:{port}", certificates, "gpu-3")
    try:
        line = machine.process.stdout.readline()
        while "has joined" not in line:
            assert line, "it ended before it joined"
            line = machine.process.stdout.readline()
        yield port, {name: listening(pid) for name, pid in (("s", scheduler.pid), ("w", machine.process.pid))}
    finally:
        machine.said()
        scheduler.terminate()
        scheduler.communicate(timeout=60)


def listening(pid):
    """The ports on which a process and what it has started listen for connections."""
    process = psutil.Process(pid)
    found = set()
    for each in (process, *process.children(recursive=True)):
        found |= {place.laddr.port for place in each.net_connections("tcp") if place.status == psutil.CONN_LISTEN}
    return found


def heard(port, folder=None, text=b""):
    """What comes from a port after a greeting: with the certificates of a folder, with none ("tls"), or in clear."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as closing:
        connection = closing.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
        if folder is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            if folder != "tls":
                context.load_cert_chain(folder / OWN)
            connection = closing.enter_context(context.wrap_socket(connection))
        connection.sendall(text)
        return connection.recv(1000)
    return b""


def test_each_process_of_a_fleet_listens_on_one_port(everywhere):
    port, ports = everywhere
    assert ports["s"] == {port}
    assert len(ports["w"]) == 1


@pytest.mark.parametrize("who", ["s", "w"])
def test_a_port_of_a_fleet_says_nothing_without_the_fleet_s_certificates(everywhere, certificates, tmp_path, who):
    make_certificates(tmp_path / "other")
    assert (tmp_path / "other" / CA).read_bytes() != (certificates / CA).read_bytes()
    for port in everywhere[1][who]:
        assert heard(port, certificates), "who belongs to the fleet is greeted"
        for folder in (None, "tls", tmp_path / "other"):
            for text in (b"", b"GET /sitemap.json HTTP/1.0\r\n\r\n"):
                assert heard(port, folder, text) == b"", (folder, text)
