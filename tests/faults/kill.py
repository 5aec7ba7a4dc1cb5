"""Killed processes: `python tests/faults/kill.py --times 200`.

Ends the training's worker, the fork server, or the server itself by SIGKILL at a random moment of a training, and looks
at what is left: every run readable, the end said, no process left after 3 s, the next job runs.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import psutil
from table import Table, options

from dmlviz.config import TrainConfig
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.damage import check
from dmlviz.runs.run import EventLogDir, Run
from dmlviz.runs.store import Runs
from tests.waiting import alive, descendants

LEFT_S = 3.0  # until when no process may be left
PATIENCE_S = 180.0  # on a machine at a load of 30, a training takes a minute
SHORT = TrainConfig(dataset="digits", net="mlp", embedding_dim=8, steps=20, num_snapshots=4, eval_subset_size=100)
LONG = SHORT.replace(steps=300, num_snapshots=60)
SERVER = (
    "import sys, time; from dmlviz.config import TrainConfig; from dmlviz.jobs.scheduler import JobScheduler\n"
    "from dmlviz.jobs.order import training\n"
    "jobs = JobScheduler(sys.argv[1], slots=1); jobs.submit(training(jobs.runs, TrainConfig.from_json(sys.argv[2])))\n"
    "print('ready', flush=True); time.sleep(120)"
)


class Faults:
    """Kills processes of trainings in one folder of runs; `close` at the end."""

    def __init__(self, folder: Path, table: Table, draw: random.Random) -> None:
        self.folder, self.table, self.draw = folder, table, draw
        self.jobs = JobScheduler(Runs(folder), slots=1)
        self.number = 0

    def close(self) -> None:
        """End what was started."""
        self.jobs.close()

    def kill(self, victim: str) -> None:
        """Kill a "worker", a "fork server" or a "server" in the middle of a training, and judge what is left."""
        self.number += 1
        config = LONG.replace(seed=self.number)
        moment = self.draw.uniform(0, 0.6)
        broken, gone_s, next_s = (self._server if victim == "server" else self._own)(victim, config, moment)
        figures = {"s until gone": gone_s, "s to the next job's end": next_s}
        self.table.add(f"a {victim} killed", "; ".join(broken), **figures)

    def _own(self, victim: str, config: TrainConfig, moment: float) -> tuple[list[str], float, float]:
        run = self.jobs.submit(training(self.jobs.runs, config))
        time.sleep(moment)
        process = next((worker for worker, job in self.jobs.turns.active.items() if job.record.path == run.path), None)
        if process is None:
            return self._judge(run, [], [])
        pid = process.pid if victim == "worker" else psutil.Process(process.pid).ppid()
        pids = [process.pid] if victim == "worker" else [pid, *descendants(pid)]
        _kill(pid)
        return self._judge(run, pids, ["finished", "failed"])

    def _server(self, _victim: str, config: TrainConfig, moment: float) -> tuple[list[str], float, float]:
        command = [sys.executable, "-c", SERVER, str(self.folder), config.to_json()]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            server.stdout.readline()
            time.sleep(moment * 5)  # its workers import everything first
            pids = [server.pid, *descendants(server.pid)]
            server.kill()
        return self._judge(EventLogDir(self.folder / config.id), pids, ["finished", "failed", "interrupted"])

    def _judge(self, run: EventLogDir, pids: list[int], ends: list[str]) -> tuple[list[str], float, float]:
        broken = []
        gone = _wait(lambda: not any(map(alive, pids)))
        if gone > LEFT_S:
            broken.append(f"a process was left for {gone:.1f} s")
        if ends:
            _wait(lambda: self.jobs.status(run).phase in ends)
            status = self.jobs.status(run)
            if status.phase not in ends:
                broken.append(f"its state is {status.phase}")
            elif status.phase != "finished" and len(status.reason) < 10:
                broken.append(f"it is {status.phase} without a reason")
        for record in self.jobs.runs.list():
            broken += _unreadable(record)
        if len(self.jobs.runs.look()[1]):
            broken.append("a run cannot be read")
        following = self.jobs.submit(training(self.jobs.runs, SHORT.replace(seed=10_000 + self.number)))
        seconds = _wait(lambda: self.jobs.status(following).phase in ("finished", "failed", "interrupted"))
        if self.jobs.status(following).phase != "finished":
            broken.append(f"the next job {self.jobs.status(following).phase}: {self.jobs.status(following).reason}")
        self.jobs.runs.delete(following.id)
        if self.jobs.status(run).phase in ends:
            self.jobs.runs.delete(run.id)
        return broken, gone, seconds


def _unreadable(run: Run) -> list[str]:
    """What of a run cannot be read."""
    faults = [f"{damage.file} of a run: {damage.reason}" for damage in check(run, thorough=True)]
    for number, line in enumerate(run.log.lines()):
        event = json.loads(line)
        for frame in event.get("frames") or [event.get("frame")]:
            if frame is not None and len(run.frame(frame["id"])) != 2 * frame["n"] * frame["dims"]:
                faults.append(f"a frame of line {number}")
    return faults


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _wait(promise: Callable[[], bool]) -> float:
    """Wait until a promise holds, or for too long; return the seconds."""
    began = time.monotonic()
    while not promise() and time.monotonic() - began < PATIENCE_S:
        time.sleep(0.02)
    return time.monotonic() - began


def new_table() -> Table:
    """The table of this command."""
    return Table(
        "R1",
        "killed processes",
        f"every run readable, the end said, no process left after {LEFT_S:g} s, the next job runs.",
        "python tests/faults/kill.py --times 200",
    )


def run(table: Table, times: int, seed: int) -> None:
    """Kill so many processes, in turn, and count them in the table."""
    victims = ("worker", "server", "worker", "fork server")
    with tempfile.TemporaryDirectory(prefix="dmlviz-killed-") as folder:
        faults = Faults(Path(folder), table, random.Random(seed))
        try:
            for number in range(times):
                if table.over:
                    break
                faults.kill(victims[number % len(victims)])
        finally:
            faults.close()


if __name__ == "__main__":
    chosen = options(__doc__ or "", 200)
    table = new_table()
    table.seconds = chosen.seconds
    run(table, chosen.times, chosen.seed)
    sys.exit(table.finish(chosen.write))
