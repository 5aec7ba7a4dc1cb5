"""Who may join a fleet, and the sentence for who may not."""

import gc
import stat
import threading

import pytest

from dmlviz.errors import UserError
from dmlviz.fleet.certificates import load_security, make_certificates
from dmlviz.fleet.dask_client import connect, list_machines, start_client
from dmlviz.fleet.dask_config import check_address
from dmlviz.fleet.errors import FleetError

OTHER_VERSION = "import dmlviz.fleet.versions as v; v.__version__ = '0.0.1'\nfrom dmlviz.cli.main import main; main()"


def test_a_worker_of_another_version_is_refused_with_a_sentence(jobs, start_worker, until):
    worker = start_worker(jobs.fleet.address, "old", code=OTHER_VERSION)
    worker.process.wait(120)
    output, status = worker.said()
    assert status == 2
    assert "This machine is refused by the fleet. It has dmlviz" in output
    assert "Traceback" not in output


def test_a_worker_with_other_certificates_is_refused_with_a_sentence(jobs, start_worker, tmp_path):
    make_certificates(tmp_path / "other")
    worker = start_worker(jobs.fleet.address, "stranger", certificates=tmp_path / "other")
    worker.process.wait(120)
    output, status = worker.said()
    assert status == 2
    assert "has other certificates than this machine" in output
    assert "Traceback" not in output
    assert {machine.name for machine in jobs.fleet.machines} == {"gpu-1", "gpu-2"}


def test_nobody_joins_without_encryption(jobs):
    with pytest.raises((OSError, RuntimeError, TypeError)):
        start_client(jobs.fleet.address.replace("tls:", "tcp:"), timeout=2, set_as_default=False)


def test_a_client_that_does_not_connect_leaves_nothing_to_the_garbage_collector(certificates):
    from distributed import Client

    def loops():
        return sum(thread.name == "IO loop" for thread in threading.enumerate())

    before, known = loops(), {id(thing) for thing in gc.get_objects() if issubclass(type(thing), Client)}
    with pytest.raises(FleetError):
        connect("tls://127.0.0.1:9", load_security(certificates), timeout_s=0.5)  # nobody listens there
    assert loops() <= max(before, 1)
    new = [thing for thing in gc.get_objects() if issubclass(type(thing), Client) and id(thing) not in known]
    assert {client.status for client in new} <= {"closed"}


def test_the_list_names_machines_slots_and_versions(jobs, certificates):
    client = connect(jobs.fleet.address, load_security(certificates))
    try:
        machines = list_machines(client)
    finally:
        client.close()
    assert [(machine.name, machine.slots, machine.refused) for machine in machines] == [
        ("gpu-1", 1, ""),
        ("gpu-2", 1, ""),
    ]
    assert all("digits" in machine.datasets for machine in machines)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "127.0.0.1:8786", "tls://", "tls://host:port", "tls://host:99999", "tls://h/x"]
)
def test_an_address_that_is_none_is_refused_with_a_sentence(address):
    with pytest.raises(UserError, match=r"tls://HOST:PORT"):
        check_address(address)


def test_an_address_without_a_port_gets_the_usual_one():
    assert check_address("tls://gpu-box") == "tls://gpu-box:8786"
    assert check_address("tls://[::1]:99") == "tls://[::1]:99"


def test_certificates_are_for_their_owner_alone_and_never_overwritten(certificates):
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in certificates.iterdir())
    with pytest.raises(UserError, match="choose another folder"):
        make_certificates(certificates)


def test_missing_and_damaged_certificates_are_one_sentence(tmp_path, certificates):
    with pytest.raises(UserError, match="dmlviz fleet certificates"):
        load_security(tmp_path)
    for path in certificates.iterdir():
        (tmp_path / path.name).write_bytes(b"nothing")
    with pytest.raises(UserError, match="copy the folder again"):
        load_security(tmp_path)
