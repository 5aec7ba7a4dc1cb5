"""Processes of a fleet on loopback, for tests, browser stories and the faults."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path


def free_port():
    """A port on loopback where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Worker:
    """`dmlviz worker` as a process: at an address with its certificates, or in a folder."""

    def __init__(self, address, certificates, name, code="from dmlviz.cli.main import main; main()"):
        place = [address, "--certificates", str(certificates)] if certificates else ["--folder", str(address)]
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "worker", *place, "--slots", "1", "--name", name],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONWARNINGS": "ignore", "DMLVIZ_NICENESS": "0"},
        )

    def said(self):
        """End it; what it has printed, and its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=60)[0], self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=60)


def descendants(pid):
    """The processes that a process has started, and these in turn."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:  # the thread has ended
            continue
        for child in children:
            found += [int(child), *descendants(int(child))]
    return found


def alive(pid):
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
