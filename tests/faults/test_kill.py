"""Killed processes leave readable runs and nothing behind. The killer is `kill.py`."""

import subprocess
import sys
import time

import pytest
from kill import LEFT_S, LONG, SERVER, _wait

from tests.processes import alive, descendants


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every worker is a process of its own")
def test_a_server_killed_during_the_imports_of_its_fork_server_leaves_nothing(tmp_path):
    command = [sys.executable, "-c", SERVER, str(tmp_path), LONG.to_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline() == "ready\n"
        children = descendants(server.pid)
        assert children
        time.sleep(0.5)  # it has begun to import
        server.kill()
    assert _wait(lambda: not any(map(alive, children))) < LEFT_S / 3
