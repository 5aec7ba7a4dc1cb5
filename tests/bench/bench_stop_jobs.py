"""Stop of every kind of job beside one busy process: from the wish until the log has the end, and the slot is free.

Trains MNIST with the default settings; the projections are of 5,000 test images. A second process tree on this machine
stands for a machine of the fleet. Run with DMLVIZ_DATA set: `python tests/bench/bench_stop_jobs.py [--rounds 3]`, with
`--only KIND …` for some kinds. The page adds a rerun before and an event after: `bench_stop.py`.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))

from bench_jobs import until

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.config.projection import pack_items
from dmlviz.fleet.certificates import make_certificates
from dmlviz.fleet.dask_fleet import DaskFleet
from dmlviz.jobs.order import projection, training, trial
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.run import EventLogDir
from dmlviz.runs.store import Runs
from tests.fleet.cluster import Worker
from tests.waiting import free_port

LONG = TrainConfig(dataset="mnist", steps=5000)
SHORT = LONG.replace(steps=60)
FIVE_THOUSAND = pack_items(np.arange(5_000))
TRIAL = {"config": {"net": "small", "steps": 600, "validation_fraction": 0, "loss": "softmax"}, "trained": True}
MOST = 2.0  # seconds from the wish to the end


def has(record: EventLogDir, name: str, step: int = 0) -> bool:
    """Whether an event of that name, from that step on, is in the log."""
    return any(event["event"] == name and event.get("step", 0) >= step for event in record.events())


def stopped(jobs: JobScheduler, record: EventLogDir) -> tuple[float, float]:
    """Seconds from the wish to stop until the log has the end, and until the slot is free."""
    begun = time.perf_counter()
    assert jobs.stop(record)
    until(lambda: record.end is not None)
    ended = time.perf_counter() - begun
    until(lambda: not jobs.running_for())
    assert (record.end or {})["event"] in ("stopped", "finished"), record.end  # finished: all but the map's quality
    return ended, time.perf_counter() - begun


def train(jobs: JobScheduler, config: TrainConfig, event: str, step: int = 0, more: float = 0) -> tuple[float, float]:
    """Stop a training `more` seconds after that event has come."""
    run = jobs.submit(training(jobs.runs, config))
    until(lambda: has(run, event, step))
    time.sleep(more)
    return stopped(jobs, run)


def project(jobs: JobScheduler, run: str, config: ProjectionConfig, event: str) -> tuple[float, float]:
    """Stop a projection when that event has come."""
    record = jobs.submit(projection(jobs.runs, run, config))
    until(lambda: has(record, event))
    return stopped(jobs, record)


def try_out(jobs: JobScheduler, folder: Path) -> tuple[float, float]:
    """Stop a trial of a lab that trains."""
    content = {"name": "softmax-seed_0", "settings": TRIAL, "dataset": "mnist", "seconds": 30.0}
    record = jobs.submit(trial(folder, "recall", content, f"bench/{folder.name}"))
    until(lambda: len([event for event in record.events() if event["event"] == "progress"]) > 2)
    return stopped(jobs, record)


def main() -> None:
    """Measure, and print one line a kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="kinds: words of their titles")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the busy process does not outlive this one
    with tempfile.TemporaryDirectory(prefix="dmlviz-stop-") as name:
        folder = Path(name)
        here = JobScheduler(Runs(folder / "here"), slots=1, likely="mnist", inference=False)
        busy = subprocess.Popen(["yes"], stdout=subprocess.DEVNULL)
        opened: list[Any] = [here]
        try:
            _measure(here, folder, chosen, opened)
        finally:
            busy.kill()
            busy.wait()
            for each in opened:
                each.close() if isinstance(each, JobScheduler) else each.said()


def _measure(here: JobScheduler, folder: Path, chosen: argparse.Namespace, opened: list[Any]) -> None:
    def told(title: str, once: Callable[[int], tuple[float, float]]) -> None:
        if chosen.only and not any(word in title for word in chosen.only):
            return
        ended, free = zip(*[once(number) for number in range(chosen.rounds)], strict=True)
        verdict = "" if max(free) <= MOST else f"   more than {MOST:g} s"
        print(
            f"{title:42} the end {median(ended):5.2f} s, worst {max(ended):5.2f}; the slot {median(free):5.2f} s, "
            f"worst {max(free):5.2f}; load {os.getloadavg()[0]:.1f}{verdict}",
            flush=True,
        )

    told("train, step 50", lambda seed: train(here, LONG.replace(seed=seed), "step", 50))
    told("train, final scores", lambda seed: train(here, SHORT.replace(seed=seed), "replay"))
    base = here.submit(training(here.runs, SHORT.replace(seed=99)))
    until(lambda: here.status(base).phase == "finished")
    for method in ("tsne", "umap"):
        config = ProjectionConfig(method=method, subset=FIVE_THOUSAND)
        for event in ("started", "frame"):
            told(
                f"project, {method}, {event}",
                lambda seed, config=config, event=event: project(
                    here, base.id, config.replace(seed=seed + 10 * (event == "frame")), event
                ),
            )
    told("trial of a lab", lambda number: try_out(here, folder / f"trial_{number}"))
    if not chosen.only or "fleet" in chosen.only:
        make_certificates(folder / "certificates")
        address = f"tls://127.0.0.1:{free_port()}"
        opened.append(Worker(address, folder / "certificates", "second"))
        fleet = DaskFleet(address, folder / "certificates")
        opened.append(there := JobScheduler(Runs(folder / "there"), slots=0, warm=False, fleet=fleet))
        until(lambda: fleet.machines)
        told("train, fleet, step 50", lambda seed: train(there, LONG.replace(seed=seed), "step", 50))
        told("train, fleet, final scores", lambda seed: train(there, SHORT.replace(seed=seed), "step", 60, more=0.3))


if __name__ == "__main__":
    main()
