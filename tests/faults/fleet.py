"""Faults of a fleet, on loopback: `python tests/faults/fleet.py kills|cuts|memory --times COUNT`.

- `kills`: kill −9 of a training, a fork server, a machine or the scheduler at random moments.
- `cuts`: the network between machine and scheduler is away for 5 s and for 60 s; a machine is frozen for 60 s.
- `memory`: many short jobs; the memory of the scheduler before and after.
"""

import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))
sys.path.insert(0, str(Path(__file__).parent))

from relay import Relay
from table import Table, options

from dmlviz.config import TrainConfig
from dmlviz.fleet.certificates import make_certificates
from dmlviz.fleet.dask_fleet import DaskFleet
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.damage import check
from dmlviz.runs.run import Run
from tests.fleet.cluster import Worker
from tests.waiting import alive, descendants, free_port

SHORT = TrainConfig(dataset="digits", net="mlp", embedding_dim=8, steps=20, num_snapshots=4, eval_subset_size=100)
LONG = SHORT.replace(steps=500_000)
TINY = SHORT.replace(steps=1, num_snapshots=1, eval_subset_size=20, embedding_dim=2)
FLAT_MB = 10.0  # more memory of the scheduler after all jobs than after the first tenth of them, at most
LEFT_S = 3.0  # until when no process of a killed machine may be left


class Fleet:
    """A server's scheduler and two machines; the one named `far` may be behind a relay."""

    def __init__(self, with_relay=False):
        self.folder = Path(tempfile.mkdtemp(prefix="dmlviz-faults-"))
        self.certificates = self.folder / "certificates"
        make_certificates(self.certificates)
        port = free_port()
        self.address = f"tls://127.0.0.1:{port}"
        self.relay = Relay(port) if with_relay else None
        self.jobs = JobScheduler(
            self.folder / "runs", slots=0, warm=False, fleet=DaskFleet(self.address, self.certificates)
        )
        self.machines = {}
        for name in ("far", "near"):
            self.start(name)
        self.until(lambda: len(self.jobs.fleet.machines) == 2, 60)

    def start(self, name):
        behind = self.relay is not None and name == "far"
        address = f"tls://127.0.0.1:{self.relay.port}" if behind else self.address
        self.machines[name] = Worker(address, self.certificates, name)

    def until(self, promise, seconds):
        began = time.monotonic()
        while not promise():
            if time.monotonic() - began > seconds:
                raise AssertionError(f"not within {seconds} s")
            time.sleep(0.01)
        return time.monotonic() - began

    def train_on(self, name, seed):
        """A long training that has begun on the machine of that name."""
        run = self._trains(seed)
        if self.jobs.status(run).machine == name:
            return run
        other = self._trains(seed + 1)  # the one free machine
        self.jobs.stop(run)
        self.until(lambda: self.jobs.status(run).phase == "stopped", 60)
        return other

    def _trains(self, seed):
        run = self.jobs.submit(training(self.jobs.runs, LONG.replace(seed=seed)))
        self.until(lambda: run.snapshot_steps, 120)
        return run

    def stop(self, run):
        self.jobs.stop(run)
        self.until(lambda: not self.jobs.running_for(), 60)

    def stop_all(self):
        for job, _ in self.jobs.running_for():
            self.jobs.stop(job.record)
        self.until(lambda: not self.jobs.running_for(), 60)

    def whole(self, run):
        """Raise unless every file of a run can be read."""
        damage = [*check(Run(run.path), thorough=True)]
        assert not damage, damage

    def close(self):
        self.jobs.close()
        for machine in self.machines.values():
            machine.said()
        if self.relay is not None:
            self.relay.close()


def kills(table, count, seed):
    """Kill something at a random moment of a training, then let the next job run."""
    chance, fleet = random.Random(seed), Fleet()
    try:
        for number in range(count):
            if table.over:
                break
            what = ("training", "machine", "scheduler", "fork server")[number % 4]
            try:
                table.add(f"a {what} of the fleet killed", **_kill(fleet, what, number, chance.random() * 3))
            except AssertionError as error:
                table.add(f"a {what} of the fleet killed", str(error) or "a promise")
    finally:
        fleet.close()


def _kill(fleet, what, number, moment):
    """Kill one of them during a training; return the seconds that it took until all was well."""
    run = fleet.jobs.submit(training(fleet.jobs.runs, LONG.replace(seed=1000 + number)))
    time.sleep(moment)
    name = fleet.jobs.status(run).machine or "near"
    worker, figures = fleet.machines[name].process.pid, {}
    children = descendants(worker)
    pids = {
        "training": [pid for pid in children if _named(pid, "dmlviz worker")],
        "fork server": [pid for pid in children if not _named(pid, "dmlviz worker")][:1],
        "machine": [worker],
        "scheduler": [fleet.jobs.fleet._scheduler.pid] if fleet.jobs.fleet._scheduler is not None else [],
    }[what]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    if what == "machine":
        fleet.machines[name].kill()
        figures["s until gone"] = fleet.until(lambda: not any(map(alive, children)), LEFT_S)
        fleet.start(name)
    figures["s until it trains or has ended"] = fleet.until(lambda: _settled(fleet, run), 120)
    status = fleet.jobs.status(run)
    assert status.phase == "running" or status.reason, f"it is {status.phase} without a reason"
    fleet.whole(run)
    fleet.stop_all()
    following = fleet.jobs.submit(training(fleet.jobs.runs, TINY.replace(seed=number)))
    figures["s to the next job's end"] = fleet.until(lambda: fleet.jobs.status(following).phase == "finished", 120)
    fleet.whole(following)
    return figures


def _settled(fleet, run):
    """Whether a run trains again, or is over."""
    status = fleet.jobs.status(run)
    if status.phase == "running":
        return bool(run.snapshot_steps)
    return status.phase in ("failed", "stopped", "finished")


def _named(pid, name):
    try:
        return name in Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return False


def cuts(table, count, seed):
    """Cut the network of a machine that trains, and freeze it."""
    fleet = Fleet(with_relay=True)
    try:
        for number in range(count):
            run = fleet.train_on("far", seed + 10 * number)
            fleet.relay.cut()
            time.sleep(5)
            fleet.relay.mend()
            before = len(run.log.lines())
            seconds = fleet.until(lambda run=run, n=before: len(run.log.lines()) > n, 60)
            restarts = fleet.jobs.runs.get(run.id).info.get("restarts", [])
            figures = {"s to the next line": seconds}
            table.add("the network is away for 5 s", "it was begun again" if restarts else "", **figures)
            fleet.stop(run)
            for what in ("cut", "frozen"):
                run = fleet.train_on("far", seed + 10 * number + 3)
                machine = fleet.machines["far"].process
                fleet.relay.cut() if what == "cut" else machine.send_signal(signal.SIGSTOP)
                seconds = fleet.until(lambda run=run: fleet.jobs.status(run).machine == "near", 60)
                fleet.until(lambda run=run: run.snapshot_steps, 60)
                time.sleep(max(0, 60 - seconds))
                fleet.relay.mend()
                machine.send_signal(signal.SIGCONT)
                back = fleet.until(lambda: len(fleet.jobs.fleet.machines) == 2, 60)
                started = [event["event"] for event in run.events()].count("started")
                fleet.stop(run)
                fleet.whole(run)
                case = "the network is away for 60 s" if what == "cut" else "a machine is frozen for 60 s"
                figures = {"s until it trains elsewhere": seconds, "s until the machine is back": back}
                table.add(case, "" if started == 1 else f"begun {started} times in one log", **figures)
    finally:
        fleet.close()


def memory(table, count, seed):
    """Run many short jobs; look at the scheduler's memory on the way."""
    fleet, first = Fleet(), 0.0
    try:
        for number in range(count):
            if table.over:
                break
            run = fleet.jobs.submit(training(fleet.jobs.runs, TINY.replace(seed=seed + number)))
            seconds = fleet.until(lambda run=run: fleet.jobs.status(run).phase in ("finished", "failed"), 600)
            status = fleet.jobs.status(run)
            now = _memory(fleet.jobs.fleet._scheduler.pid)
            if number + 1 == max(1, count // 10):
                first = now
            broken = f"the scheduler has {now:.0f} MB after {first:.0f}" if first and now > first + FLAT_MB else ""
            broken += "" if status.phase == "finished" else f"{status.phase}: {status.reason}"
            figures = {f"MB after {number + 1}": now} if number + 1 in (count // 10, count // 2, count) else {}
            table.add("a short job", broken, **figures, **{"s for a job": seconds})
            fleet.jobs.runs.delete(run)
            fleet.jobs.runs.trash.remove(run)
    finally:
        fleet.close()


def _memory(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


COMMANDS = {
    "kills": (
        kills,
        40,
        "R1, fleet",
        "killed processes of a fleet",
        "as R1; the run is begun again, or says why it is over.",
    ),
    "cuts": (cuts, 1, "R8, network", "networks between machines", "the run goes on or is begun again, never half."),
    "memory": (memory, 1000, "R8, jobs", "many short jobs", f"the scheduler's memory grows by at most {FLAT_MB:g} MB."),
}


if __name__ == "__main__":
    chosen = options(__doc__, 0, [*COMMANDS])
    command, count, row, title, promise = COMMANDS[chosen.what]
    faults = Table(row, title, promise, f"python tests/faults/fleet.py {chosen.what} --times {count}")
    faults.seconds = chosen.seconds
    with contextlib.suppress(KeyboardInterrupt):  # what was done until then is told
        command(faults, chosen.times or count, chosen.seed)
    sys.exit(faults.finish(chosen.write))
