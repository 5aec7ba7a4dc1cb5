"""Processes of a fleet on loopback, for tests, browser stories and the faults."""

import os
import signal
import subprocess
import sys


class Worker:
    """`dmlviz worker` as a process."""

    def __init__(self, address, certificates, name):
        self.name = name
        options = ["--certificates", str(certificates)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dmlviz", "worker", address, *options, "--slots", "1", "--name", name],
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
