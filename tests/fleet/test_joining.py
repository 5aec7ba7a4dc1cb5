"""Who may join a fleet, and the sentence for who may not."""

import contextlib
import gc
import socket
import ssl
import stat
import subprocess
import sys
import threading

import psutil
import pytest

from dmlviz.cli.main import main
from dmlviz.errors import UserError
from dmlviz.fleet import FleetError, versions
from dmlviz.fleet.certificates import CA, OWN, load_security, make_certificates
from dmlviz.fleet.dask_client import connect, list_machines, start_client
from dmlviz.fleet.dask_config import check_address, scheduler_address
from dmlviz.fleet.dask_fleet import DaskFleet
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.labs.lab_study import plan_trials
from dmlviz.studies.runner import StudyRunner


def refused(address, certificates, capsys):
    """What `dmlviz worker` says when it may not join, at once."""
    with pytest.raises(SystemExit, match="2"):
        main(["worker", address, "--certificates", str(certificates), "--name", "stranger"])
    return "".join(capsys.readouterr())


def test_a_worker_of_another_version_is_refused_with_a_sentence(jobs, certificates, capsys, monkeypatch):
    monkeypatch.setattr(versions, "__version__", "0.0.1")
    assert "This machine is refused by the fleet. It has dmlviz" in refused(jobs.fleet.address, certificates, capsys)


def test_a_worker_with_other_certificates_is_refused_with_a_sentence(jobs, tmp_path, capsys):
    make_certificates(tmp_path / "other")
    said = refused(jobs.fleet.address, tmp_path / "other", capsys)
    assert "has other certificates than this machine" in said
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


@pytest.fixture
def ports(jobs, machines):
    """The ports on which the scheduler and a machine listen."""
    return {"s": listening(jobs.fleet._scheduler.pid), "w": listening(machines["gpu-1"].process.pid)}


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


def test_each_process_of_a_fleet_listens_on_one_port(jobs, ports):
    assert ports["s"] == {int(jobs.fleet.address.rpartition(":")[2])}
    assert len(ports["w"]) == 1


@pytest.mark.parametrize("who", ["s", "w"])
def test_a_port_of_a_fleet_says_nothing_without_the_fleet_s_certificates(ports, certificates, tmp_path, who):
    make_certificates(tmp_path / "other")
    assert (tmp_path / "other" / CA).read_bytes() != (certificates / CA).read_bytes()
    for port in ports[who]:
        assert heard(port, certificates), "who belongs to the fleet is greeted"
        for folder in (None, "tls", tmp_path / "other"):
            for text in (b"", b"GET /sitemap.json HTTP/1.0\r\n\r\n"):
                assert heard(port, folder, text) == b"", (folder, text)


def test_a_server_and_a_machine_find_each_other_by_the_schedulers_file_and_do_a_study(
    tmp_path, certificates, start_worker, until, short, counting
):
    file, reports = tmp_path / "fleet.json", []
    address = f"file:{file}"
    machine = start_worker(address, "node-1")  # at the latest when there is a scheduler it joins
    command = [sys.executable, "-m", "dmlviz", "fleet", "scheduler", "tls://127.0.0.1:0", "--scheduler-file", str(file)]
    with subprocess.Popen([*command, "--certificates", str(certificates)], stdout=subprocess.PIPE) as scheduler:
        fleet = DaskFleet(address, certificates)
        jobs = JobScheduler(tmp_path / "runs", slots=0, warm=False, fleet=fleet, on_job=reports.append)
        runner = StudyRunner(jobs, tmp_path / "studies", plan_trials)
        try:
            until(lambda: jobs.fleet.machines)
            assert jobs.all_slots == 1
            run = jobs.submit(training(jobs.runs, short))
            until(lambda: jobs.status(run).phase in ("finished", "failed"))
            assert run.state == "finished", run.end
            assert jobs.runs.get(run.id).info["machine"] == "node-1"

            study = runner.start("counting", "quick", "digits")
            assert runner.wait(study, 300)
            assert study.state == "finished"
            results = {result.trial.name: result for result in study.results()}
            assert [results[f"trial_{number}"].values["y"] for number in range(3)] == [0, 1, 4]
            assert (results["trial_2"].folder / "picture.txt").read_text() == "a picture"
            assert {report.worker for report in reports if report.state == "finished"} == {"node-1"}
        finally:
            runner.close()
            jobs.close()
            machine.said()
            scheduler.terminate()
    assert not file.exists()


def test_a_missing_or_damaged_scheduler_file_is_one_sentence(tmp_path, certificates):
    file = tmp_path / "fleet.json"
    with pytest.raises(FleetError, match=r"No scheduler has written .*fleet\.json yet"):
        connect(f"file:{file}", load_security(certificates))
    for content in ("", "[]", "{}", '{"address": 1}', '{"address": "tcp://127.0.0.1:1"}', '{"address": "file:x"}'):
        file.write_text(content)
        with pytest.raises(ValueError, match="not a scheduler file"):
            scheduler_address(f"file:{file}")
    with pytest.raises(FleetError):
        connect(f"file:{file}", load_security(certificates))
