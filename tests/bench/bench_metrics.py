"""Scores of 10,000 × 64 embeddings: ours against pytorch-metric-learning's AccuracyCalculator, one thread each.

`python tests/bench/bench_metrics.py` prints a table; the calculator at its defaults takes a minute.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import statistics
import time
import warnings

import faiss
import numpy as np
import torch
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

from dmlviz.metrics import evaluate

SAME = {
    "precision_at_1": "precision_at_1",
    "r_precision": "r_precision",
    "map_at_r": "mean_average_precision_at_r",
    "mrr": "mean_reciprocal_rank",
}


def embeddings(n: int = 10_000, d: int = 64, classes: int = 10, pull: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    """Points on the sphere about class centers, as a net in training leaves them: P@1 about 0.98."""
    rng = np.random.default_rng(0)
    labels = rng.integers(classes, size=n)
    points = rng.normal(size=(classes, d))[labels] * pull + rng.normal(size=(n, d))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32), labels


def main() -> None:
    """Assert equal values, then time; fail below the ratios that are promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--skip-defaults", action="store_true", help="leave out the peer's slow default setting")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    points, labels = embeddings(chosen.n)
    tensors = torch.from_numpy(points), torch.from_numpy(labels)

    def ours() -> dict[str, float]:
        return evaluate(points, labels)

    def ours_like_best() -> dict[str, float]:
        return evaluate(points, labels, full_ranking=False, verification=False)

    best = AccuracyCalculator(k="max_bin_count", device=torch.device("cpu"))
    defaults = AccuracyCalculator(device=torch.device("cpu"))

    def peer_best() -> dict[str, float]:
        return best.get_accuracy(*tensors)

    def peer_defaults() -> dict[str, float]:
        return defaults.get_accuracy(*tensors)

    got, expected = ours(), peer_best()
    for mine, theirs in SAME.items():
        assert abs(got[mine] - expected[theirs]) < 1e-5, (mine, got[mine], expected[theirs])
    times: dict[str, list[float]] = {}
    for _ in range(chosen.repeats):
        for name, call in (("everything", ours), ("as the best setting", ours_like_best), ("peer, best", peer_best)):
            times.setdefault(name, []).append(_cpu(call)[0])
    seconds = {name: statistics.median(values) for name, values in times.items()}
    rows = [("k = max_bin_count", seconds["as the best setting"], seconds["peer, best"], 3.0)]
    if not chosen.skip_defaults:
        spent, full = _cpu(peer_defaults)
        assert abs(got["map"] - full["mean_average_precision"]) < 1e-5, (got["map"], full["mean_average_precision"])
        rows.append(("defaults (full ranking)", seconds["everything"], spent, 10.0))
    print(f"{chosen.n:,} × 64, one thread, CPU seconds, median of {chosen.repeats}; equal to 1e-5")
    print(f"{'AccuracyCalculator':26}{'ours':>8}{'peer':>8}{'ratio':>8}{'asked':>8}")
    for name, own, other, asked in rows:
        print(f"{name:26}{own:8.2f}{other:8.2f}{other / own:8.1f}{asked:8.1f}")
    torch.set_num_threads(2)
    wall = min(_wall(ours_like_best) for _ in range(chosen.repeats))
    wall_all = min(_wall(ours) for _ in range(chosen.repeats))
    print(f"two threads, wall, the fastest: {wall:.2f} s (asked: under 2); with map and verification {wall_all:.2f} s")
    assert all(other / own >= asked for _, own, other, asked in rows)
    if chosen.n == 10_000:  # on one thread already, so that a busy machine cannot say otherwise
        assert seconds["as the best setting"] < 2


def _cpu(call):
    before = time.process_time()
    result = call()
    return time.process_time() - before, result


def _wall(call) -> float:
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


if __name__ == "__main__":
    main()
