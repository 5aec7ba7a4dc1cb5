"""Killed processes leave readable runs and nothing behind. The killer is `kill.py`."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import crowd
import pytest
from kill import LEFT_S, LONG, SERVER, _wait

from tests.waiting import alive, descendants


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


def test_a_few_people_streams_unread_and_a_slow_reader_meet_no_error():
    table = crowd.new_table()
    with ThreadPoolExecutor(1) as thread:  # in the main thread Playwright's event loop may run
        thread.submit(crowd.run, table, 4, 20, 2, 5.0).result()
    (case,) = table.cases.values()
    broken = [text for sentence in case.broken for text in sentence.split("; ")]
    assert not [
        text for text in broken if not text.startswith("p95") and "MB more memory" not in text
    ]  # in five seconds
    assert case.worst["reruns"] >= 4
    assert case.worst["lines read"] >= 4
