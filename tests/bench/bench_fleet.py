"""How long a click takes on another machine: to the first frame, and to the end after Stop. The peer is this machine.

The machine of the fleet is a second process tree here. MNIST when it is on disk, digits otherwise; both take
turns. Also the size of a run's archive, and the time to pack it and to check it.
"""

import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))

from bench_jobs import first_frames, stopped, timed, until

from dmlviz.config import TrainConfig
from dmlviz.data import available_datasets
from dmlviz.fleet.certificates import make_certificates
from dmlviz.fleet.dask_fleet import DaskFleet
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.archive import export_run, unpacked_run
from dmlviz.runs.store import Runs
from tests.fleet.cluster import Worker
from tests.waiting import free_port

ROUNDS = 5
WARM_UP_S = 12  # for the next worker of either to import everything


def main():
    dataset = "mnist" if "mnist" in available_datasets() else "digits"
    config = TrainConfig(dataset=dataset, steps=5000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_certificates(folder / "certificates")
        address = f"tls://127.0.0.1:{free_port()}"
        worker = Worker(address, folder / "certificates", "second")
        there = JobScheduler(
            Runs(folder / "there"), slots=0, warm=False, fleet=DaskFleet(address, folder / "certificates")
        )
        here = JobScheduler(Runs(folder / "here"), slots=1, likely=dataset)
        frames, ends = {"there": [], "here": []}, {"there": [], "here": []}
        try:
            until(lambda: there.fleet.machines)
            for seed in range(ROUNDS + 1):
                for name, jobs in (("there", there), ("here", here)):
                    time.sleep(WARM_UP_S)
                    first = first_frames(jobs, config.replace(seed=seed))
                    time.sleep(2)
                    end = stopped(jobs, config.replace(seed=seed).id)
                    if seed:  # the first warms both up
                        frames[name].append(first)
                        ends[name].append(end)
            run, file = there.runs.get(config.replace(seed=seed).id), BytesIO()
            packing = timed(lambda: export_run(run, file, compress=False))
            checking = timed(lambda: _check(file.getvalue(), folder))
        finally:
            there.close()
            here.close()
            worker.said()
    print(f"{dataset}, net {config.net}, d = {config.embedding_dim}; medians of {ROUNDS}, the longest in brackets\n")
    print(f"{'':36}{'fleet':>16}{'here':>16}")
    for title, values in (
        ("click to the first frame, s", {name: [first[0] for first in frames[name]] for name in frames}),
        ("click to the first trained frame, s", {name: [first[1] for first in frames[name]] for name in frames}),
        ("stop to all images embedded, s", ends),
    ):
        cells = [f"{median(values[name]):8.2f} ({max(values[name]):.2f})" for name in ("there", "here")]
        print(f"{title:36}{cells[0]:>16}{cells[1]:>16}")
    print(f"the archive: {len(file.getvalue()) / 1e6:.1f} MB, packed in {packing:.0f} ms, checked in {checking:.0f} ms")


def _check(packed, folder):
    with unpacked_run(BytesIO(packed), folder):
        pass


if __name__ == "__main__":
    main()
