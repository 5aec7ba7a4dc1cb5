"""How long a click takes: to the first frame, to the end after Stop, to a drawing's place; and what a worker weighs.

The peer of the warm worker is a process that the click starts. MNIST when it is on disk, digits otherwise.
"""

import tempfile
import time
from pathlib import Path
from statistics import median
from unittest import mock

import numpy as np

from dmlviz.config import TrainConfig
from dmlviz.data import available_datasets, load
from dmlviz.jobs import fork_client
from dmlviz.jobs.order import training
from dmlviz.jobs.pool import embed_images
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.store import Runs

ROUNDS = 5


def until(promise):
    while not promise():
        time.sleep(0.002)


def memory(pid):
    """Resident MB of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def first_frames(jobs, config):
    """Seconds from the click to the first frame (the untrained net) and to the first after a step."""
    begun = time.perf_counter()
    run = jobs.submit(training(jobs.runs, config))
    follower, seen, seconds = run.follow(), [], []
    while len(seconds) < 2:
        for _, line in follower.read_new():
            if line.startswith('{"event":"snapshot"'):
                seconds.append(time.perf_counter() - begun)
                seen.append(line)
        time.sleep(0.002)
    assert '"step":0' in seen[0]
    assert run.frame(seen[0].split('"id":"')[1][:16])
    return seconds[:2]


def stopped(jobs, run):
    begun = time.perf_counter()
    jobs.stop(run)
    until(lambda: jobs.status(run).phase == "stopped")
    seconds = time.perf_counter() - begun
    assert run.embeddings is not None
    until(lambda: not jobs.running_for())
    return seconds


def main():
    dataset = "mnist" if "mnist" in available_datasets() else "digits"
    config = TrainConfig(dataset=dataset, steps=5000)
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        jobs = JobScheduler(Runs(Path(folder)), slots=1, likely=dataset)
        cold = JobScheduler(Runs(Path(folder) / "cold"), slots=1, warm=False)
        try:
            warm_frames, cold_frames, ends, waiting, training = [], [], [], [], []
            pool = jobs.dispatcher.pool
            for seed in range(ROUNDS):
                until(
                    lambda: (
                        jobs.dispatcher.pool.idle_worker is not None and jobs.dispatcher.pool.idle_worker.ready.is_set()
                    )
                )
                time.sleep(3.5)  # the answering worker imports as well
                waiting.append(memory(pool.idle_worker.pid))
                warm_frames.append(first_frames(jobs, config.replace(seed=seed)))
                time.sleep(3)
                training.append(max(memory(worker.pid) for worker in jobs.turns.active))
                ends.append(stopped(jobs, config.replace(seed=seed).id))
                until(
                    lambda: (
                        jobs.dispatcher.pool.idle_worker is not None and jobs.dispatcher.pool.idle_worker.ready.is_set()
                    )
                )
                with mock.patch.object(fork_client, "start", fork_client.launch):
                    cold_frames.append(first_frames(cold, config.replace(seed=seed)))
                stopped(cold, config.replace(seed=seed).id)
            for name, index in (("click to the first frame", 0), ("click to the first trained frame", 1)):
                rows[f"{name}, s"] = median(f[index] for f in warm_frames), median(f[index] for f in cold_frames)
            rows["stop to all images embedded, s"] = median(ends), None
            rows["a waiting worker, MB"] = median(waiting), None
            rows["a training worker, MB"] = median(training), None

            run, images = jobs.runs.get(config.replace(seed=0).id), load(dataset).test.images
            first = time.perf_counter()
            answer = embed_images(jobs.inference_worker, run, images[:1])
            rows["first drawing of a run, ms"] = (time.perf_counter() - first) * 1000, None
            stored = run.embeddings[:1]
            np.testing.assert_allclose(answer["embeddings"], stored, atol=1e-4)
            rows["a drawing, ms"] = (
                median(timed(lambda: embed_images(jobs.inference_worker, run, images[:1])) for _ in range(20)),
                None,
            )
            rows["the answering worker, MB"] = memory(jobs.inference_worker._worker.pid), None
            run.neighbors(0, 10)
            rows["neighbors of an image, ms"] = median(timed(lambda: run.neighbors(0, 10)) for _ in range(20)), None
            rows["status, ms"] = median(timed(lambda: jobs.status(run)) for _ in range(20)), None
        finally:
            jobs.close()
            cold.close()
    print(f"{dataset}, net {config.net}, d = {config.embedding_dim}; medians of {ROUNDS} or more\n")
    print(f"{'':36}{'warm':>10}{'cold':>10}{'ratio':>8}")
    for name, (ours, peer) in rows.items():
        print(f"{name:36}{ours:10.3f}" + (f"{peer:10.3f}{peer / ours:8.1f}" if peer is not None else ""))


def timed(do):
    """Milliseconds."""
    begun = time.perf_counter()
    do()
    return (time.perf_counter() - begun) * 1000


if __name__ == "__main__":
    main()
