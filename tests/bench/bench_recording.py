"""What a recording costs the training: a snapshot of 10,000 × 128, by wall clock and by CPU time of its process.

A loop of matrix products stands for the training; between two snapshots it works for half a second. Run with
`python tests/bench/bench_recording.py`.
"""

import tempfile
import time
from statistics import median

import numpy as np
import torch

from dmlviz.recording import record

SNAPSHOTS = 20
PAUSE_S = 0.5


def main() -> None:
    """Print medians and the worst."""
    labels = np.arange(10_000) % 10
    centers, weights = torch.randn(10, 128), torch.randn(512, 512)
    walls, cpus = [], []
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        recording = record("benchmark", labels=labels, runs=folder)
        print(f"begin {1e3 * (time.perf_counter() - began):.0f} ms")
        for step in range(SNAPSHOTS):
            embeddings = centers[labels] * step / SNAPSHOTS + torch.randn(10_000, 128)
            wall, cpu = time.perf_counter(), time.thread_time()
            recording.snapshot(step, embeddings, loss=1.0)
            walls.append(1e3 * (time.perf_counter() - wall))
            cpus.append(1e3 * (time.thread_time() - cpu))
            end = time.perf_counter() + PAUSE_S
            while time.perf_counter() < end:
                weights @ weights
        print(
            f"snapshot: wall median {median(walls):.1f} ms, worst {max(walls):.1f} ms; CPU median {median(cpus):.1f} ms"
        )
        began = time.perf_counter()
        recording.close()
        run = recording.run
        scored = sum(bool(event.get("metrics")) for event in run.events() if event["event"] == "snapshot")
        print(
            f"close {time.perf_counter() - began:.1f} s; {len(run.snapshot_steps)} snapshots, {scored} of them scored"
        )


if __name__ == "__main__":
    main()
