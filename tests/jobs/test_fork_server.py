import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from queue import SimpleQueue

import pytest

from dmlviz.jobs import fork_client
from dmlviz.jobs.worker_process import WorkerProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every worker is a process of its own")


@pytest.fixture
def workers():
    """Workers asked for in a test, and what they complained of; none is left."""
    started = []

    def start(*arguments):
        errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed after the test)
        started.append((fork_client.start([*arguments], errors), errors))
        return started[-1][0]

    yield start
    for process, errors in started:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stdin.close()
        errors.close()


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def ready(process):
    return json.loads(process.stdout.readline()) == {"ready": True}


def test_all_workers_have_one_parent_and_start_at_the_usual_priority(workers):
    a, b = workers("--wait"), workers("--serve")
    assert ready(a)
    assert ready(b)
    assert parent_of(a.pid) == parent_of(b.pid) != os.getpid()
    assert os.getpriority(os.PRIO_PROCESS, a.pid) == os.getpriority(os.PRIO_PROCESS, 0)  # each lowers it to work
    assert Path(f"/proc/{a.pid}/comm").read_text() == "dmlviz worker\n"
    assert os.getsid(a.pid) == a.pid  # Ctrl-C in the server's terminal does not reach it


def test_a_worker_does_not_inherit_pipes_of_others(workers):
    first, second = workers("--wait"), workers("--wait")
    assert ready(first)
    assert ready(second)
    first.stdin.close()
    assert first.wait() == 1
    assert second.poll() is None
    assert first not in fork_client._instance._processes.values()  # nothing is kept of one that has ended


def test_a_workers_last_words_and_exit_status_are_known(tmp_path):
    with tempfile.TemporaryFile() as errors:
        process = fork_client.start([str(tmp_path / "nothing")], errors)
        assert process.wait() == 1
        errors.seek(0)
        assert b"order.json cannot be read: it holds no order" in errors.read()
        process.stdout.close()
        process.stdin.close()


def test_a_server_that_ends_early_does_not_wait_for_imports(monkeypatch, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import time; time.sleep(600)")  # as if the imports never ended
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(fork_client, "_instance", None)
    worker = WorkerProcess(["--wait"], SimpleQueue())
    worker.kill()
    worker.join(0)
    fork_client._instance.close()
    worker.join(60)
    assert not worker.alive


def test_a_fork_server_that_cannot_start_is_not_said_to_be_killed(monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))  # as where a library of torch is missing
    monkeypatch.setattr(fork_client, "_instance", None)
    events = SimpleQueue()
    for _ in range(2):
        WorkerProcess(["--wait"], events)
        assert "exit status 1" in events.get(timeout=60).why


def test_a_killed_fork_server_ends_its_workers_and_is_replaced_and_who_ends_before_the_fork_is_ended(workers):
    lost = workers("--wait")
    assert ready(lost)
    os.kill(parent_of(lost.pid), 9)
    assert lost.wait() == -9
    assert lost.stdout.read() == b""
    killed, stopped, left = (workers("--wait") for _ in range(3))  # the new one has not imported anything yet
    killed.kill()
    stopped.terminate()
    assert (killed.wait(), stopped.wait()) == (-9, -15)
    assert ready(left)
