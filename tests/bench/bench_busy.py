"""project() of 5,000 points on a quiet machine and beside a process that keeps a core busy, all at default threads.

`python tests/bench/bench_busy.py [--tries 6]`: beside the busy process the worst try must take at most twice the median
of the quiet ones. Times are the clock's, because waiting is the point, so that the machine should do nothing else;
processor seconds are told too: what threads burn while they wait for each other.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.pop(f"{library}_NUM_THREADS", None)

import numpy as np  # noqa: E402

MOST = 2.0


def main() -> None:
    """Draw in turn with and without a busy neighbor, print, and fail where that costs more than twice the time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=6)
    parser.add_argument("--points", type=int, default=5_000)
    chosen = parser.parse_args()
    points = clusters(chosen.points)
    ratios = {}
    for method in ("tsne", "umap"):
        ratios[method] = compare(method, points, chosen.tries)
    for method, ratio in ratios.items():
        assert ratio <= MOST, f"{method}: {ratio:.1f} × beside a busy process"


def compare(method: str, points: np.ndarray, tries: int) -> float:
    """How many times longer the worst try beside a busy process took than the median quiet one."""
    from dmlviz.config import ProjectionConfig
    from dmlviz.projection import project

    config = ProjectionConfig(method=method)
    project(points[:500], config)  # what is imported and tuned at first
    quiet, beside = [], []
    for _ in range(tries):
        quiet.append(seconds(lambda: project(points, config)))
        with a_busy_process():
            beside.append(seconds(lambda: project(points, config)))
    usual, usual_cpu = (median(column) for column in zip(*quiet, strict=True))
    now, now_cpu = (median(column) for column in zip(*beside, strict=True))
    worst = max(beside)[0]
    print(
        f"{method:5s} quiet {usual:6.2f} s ({usual_cpu:5.2f} of processor)   beside a busy process "
        f"{now:6.2f} s ({now_cpu:5.2f}), worst {worst:6.2f} s = {worst / usual:5.2f} ×",
        flush=True,
    )
    return worst / usual


@contextmanager
def a_busy_process() -> Iterator[None]:
    """A process that counts as fast as it can."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.2)
        yield
    finally:
        busy.kill()
        busy.wait()


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """By the clock, and of the processor."""
    began, burned = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - burned


def clusters(n: int) -> np.ndarray:
    """Ten clusters in 64 dimensions."""
    random = np.random.default_rng(0)
    middles = 2 * random.standard_normal((10, 64))
    return (middles[random.integers(10, size=n)] + random.standard_normal((n, 64))).astype(np.float32)


if __name__ == "__main__":
    main()
