"""Faults of a fleet, on loopback: `python tests/faults/fleet.py kills|cuts|memory [COUNT] [SEED]`.

- `kills`: kill −9 of a training, a fork server, a machine or the scheduler at random moments.
- `cuts`: the network between machine and scheduler is away for 5 s and for 60 s; a machine is frozen for 60 s.
- `memory`: many short jobs; the memory of the scheduler before and after.
"""

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))

from cluster import Worker, alive, descendants, free_port
from relay import Relay

from dmlviz.config import TrainConfig
from dmlviz.fleet.certificates import make_certificates
from dmlviz.fleet.dask_fleet import DaskFleet
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.damage import check
from dmlviz.runs.run import Run

SHORT = TrainConfig(dataset="digits", net="mlp", embedding_dim=8, steps=20, num_snapshots=4, eval_subset_size=100)
LONG = SHORT.replace(steps=500_000)


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
        run = self.jobs.submit(LONG.replace(seed=seed))
        self.until(lambda: self.jobs.runs.get(run).snapshot_steps, 120)
        return run

    def stop(self, run):
        self.jobs.stop(run)
        self.until(lambda: not self.jobs.running_for(), 60)

    def stop_all(self):
        for key, _ in self.jobs.running_for():
            self.jobs.stop(*key)
        self.until(lambda: not self.jobs.running_for(), 60)

    def whole(self, run):
        """Raise unless every file of a run can be read."""
        damage = [*check(Run(self.jobs.runs.folder / run), thorough=True)]
        assert not damage, damage

    def close(self):
        self.jobs.close()
        for machine in self.machines.values():
            machine.said()
        if self.relay is not None:
            self.relay.close()


def kills(count, seed):
    """Kill something at a random moment of a training, then let the next job run."""
    chance, fleet, gone = random.Random(seed), Fleet(), []
    try:
        for number in range(count):
            run = fleet.jobs.submit(LONG.replace(seed=1000 + number))
            time.sleep(chance.random() * 3)
            what = chance.choice(["training", "fork server", "machine", "scheduler"])
            name = fleet.jobs.status(run).machine or "near"
            worker = fleet.machines[name].process.pid
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
                gone.append(fleet.until(lambda pids=children: not any(map(alive, pids)), 20))
                fleet.start(name)
            fleet.until(lambda run=run: _settled(fleet, run), 120)
            status = fleet.jobs.status(run)
            assert status.phase == "running" or status.reason, status
            fleet.whole(run)
            fleet.stop_all()
            following = fleet.jobs.submit(SHORT.replace(seed=number))
            fleet.until(lambda run=following: fleet.jobs.status(run).phase == "finished", 120)
            fleet.whole(following)
            restarts = fleet.jobs.runs.get(run).info.get("restarts", [])
            print(f"{number + 1}: killed {what} of {name}: {status.phase}, {status.reason or restarts}", flush=True)
    finally:
        fleet.close()
    print(f"{count} kills; the processes of a killed machine were gone after at most {max(gone, default=0):.1f} s")


def _settled(fleet, run):
    """Whether a run trains again, or is over."""
    status = fleet.jobs.status(run)
    if status.phase == "running":
        return bool(fleet.jobs.runs.get(run).snapshot_steps)
    return status.phase in ("failed", "stopped", "finished")


def _named(pid, name):
    try:
        return name in Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return False


def cuts(count, seed):
    """Cut the network of a machine that trains, and freeze it."""
    fleet = Fleet(with_relay=True)
    try:
        for number in range(count):
            run = fleet.train_on("far", seed + 10 * number)
            fleet.relay.cut()
            time.sleep(5)
            fleet.relay.mend()
            before = len(fleet.jobs.runs.get(run).log.lines())
            seconds = fleet.until(lambda run=run, n=before: len(fleet.jobs.runs.get(run).log.lines()) > n, 60)
            restarts = fleet.jobs.runs.get(run).info.get("restarts", [])
            print(f"cut for 5 s: begun again {len(restarts)} times, the next line {seconds:.1f} s after", flush=True)
            assert not restarts
            fleet.stop(run)
            for what in ("cut", "frozen"):
                run = fleet.train_on("far", seed + 10 * number + 3)
                machine = fleet.machines["far"].process
                fleet.relay.cut() if what == "cut" else machine.send_signal(signal.SIGSTOP)
                seconds = fleet.until(lambda run=run: fleet.jobs.status(run).machine == "near", 60)
                fleet.until(lambda run=run: fleet.jobs.runs.get(run).snapshot_steps, 60)
                time.sleep(max(0, 60 - seconds))
                fleet.relay.mend()
                machine.send_signal(signal.SIGCONT)
                back = fleet.until(lambda: len(fleet.jobs.fleet.machines) == 2, 60)
                started = [event["event"] for event in fleet.jobs.runs.get(run).events()].count("started")
                fleet.stop(run)
                fleet.whole(run)
                assert started == 1
                print(f"{what} for 60 s: elsewhere after {seconds:.1f} s, whole; back after {back:.1f} s", flush=True)
    finally:
        fleet.close()


def memory(count, seed):
    """Run many short jobs; print the scheduler's memory on the way."""
    fleet = Fleet()
    try:
        began = time.monotonic()
        for number in range(count):
            run = fleet.jobs.submit(SHORT.replace(seed=seed + number, steps=2))
            fleet.until(lambda run=run: fleet.jobs.status(run).phase == "finished", 60)
            if number % max(1, count // 10) == 0 or number == count - 1:
                print(f"{number + 1} jobs: scheduler {_memory(fleet.jobs.fleet._scheduler.pid):.0f} MB", flush=True)
            fleet.jobs.runs.delete(run)
            fleet.jobs.runs.trash.remove(run)
        print(f"{count} jobs in {time.monotonic() - began:.0f} s")
    finally:
        fleet.close()


def _memory(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def main():
    what, *numbers = sys.argv[1:] or [""]
    commands = {"kills": (kills, 20), "cuts": (cuts, 1), "memory": (memory, 1000)}
    if what not in commands:
        sys.exit(__doc__)
    command, count = commands[what]
    command(int(numbers[0]) if numbers else count, int(numbers[1]) if len(numbers) > 1 else 0)


if __name__ == "__main__":
    main()
