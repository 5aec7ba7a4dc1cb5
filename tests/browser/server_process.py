"""A server in a process of its own, as a person starts it."""

import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Server:
    """A server process; `log` is what it printed. Its address is found in there."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"} | environment,
            cwd=ROOT / "tests",  # from anywhere but the checkout's root
        )
        self.log = ""
        self._found = threading.Event()
        self.url = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._found.wait(60):
            self.close()
            raise AssertionError(f"the server never told its address:\n{self.log}")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.log += line
            found = re.search(r"Serving dmlviz at (http://\S+)", line)
            if found and not self.url:
                self.url = found[1]
                self._found.set()

    def kill_workers(self) -> None:
        """Kill all its workers, which one child of the server forks."""

        def children(parent: int, *named: str) -> list[int]:
            found = subprocess.run(["pgrep", "-P", str(parent), *named], capture_output=True, text=True, check=False)
            return [int(pid) for pid in found.stdout.split()]

        fork_servers = children(self.process.pid, "-f", "dmlviz.workers.fork_server")
        workers = [pid for fork_server in fork_servers for pid in children(fork_server)]
        assert workers
        for pid in workers:
            os.kill(pid, signal.SIGKILL)

    def close(self) -> float:
        """Stop it as Ctrl-C does; seconds that took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"the server did not end:\n{self.log}") from None
        finally:
            self._reader.join(5)
            assert self.process.stdout is not None
            self.process.stdout.close()
        return time.monotonic() - began
