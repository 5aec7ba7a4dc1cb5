"""`dmlviz`, which opens the app."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from dmlviz.cli import serve

DMLVIZ = [sys.executable, "-m", "dmlviz"]


def test_a_busy_port_is_a_sentence(called):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, error = called("--port", taken.getsockname()[1])
    assert code == 2
    assert "is taken" in error
    assert "--port" in error


@pytest.mark.parametrize("host", ["nowhere.invalid", "203.0.113.7"])
def test_an_address_that_is_not_ours_is_a_sentence(called, host):
    code, _, error = called("serve", "--host", host, "--port", 0)
    assert code == 2
    assert host in error


def test_without_a_command_the_app_opens_on_loopback_and_ctrl_c_ends_it(tmp_path):
    environment = os.environ | {"DMLVIZ_RUNS": str(tmp_path)}
    process = subprocess.Popen(
        [*DMLVIZ, "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    try:
        address = None
        while address is None:
            line = process.stdout.readline()
            assert line, "ended before it said where it is"
            address = re.search(r"http://127\.0\.0\.1:\d+", line)
        with urllib.request.urlopen(f"{address[0]}/api/health", timeout=20) as answer:
            assert answer.status == 200
    finally:
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    assert time.monotonic() - began < 8
    assert process.returncode in (0, 130)
    assert "Traceback" not in said


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there is always a browser")
def test_no_browser_is_opened_where_there_is_no_screen(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not serve.has_browser()
