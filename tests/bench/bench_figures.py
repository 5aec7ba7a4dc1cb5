"""Figures of 10,000 × 64 embeddings: from the click to what Plotly gets, and against scikit-learn and SciPy.

`python tests/bench/bench_figures.py` prints medians of processor time; the clock's is half of it on two idle cores.
"""

import numpy as np
import plotly.io
from bench_metrics import embeddings
from interleaved import medians
from scipy.spatial.distance import pdist
from sklearn.neighbors import NearestNeighbors

from dmlviz import metrics
from dmlviz.figures.data import MEASURES, Measured
from dmlviz.figures.drawing import draw
from dmlviz.metrics import curves
from dmlviz.metrics.distance_histograms import distance_histogram

ROUNDS = 5
MOST = 300  # milliseconds that a click may take


def main() -> None:
    """Assert equal values, then time; fail where a peer is faster."""
    points, labels = embeddings()

    def neighbors() -> np.ndarray:
        found = NearestNeighbors(n_neighbors=101, algorithm="brute").fit(points).kneighbors(return_distance=False)
        return np.maximum.accumulate(labels[found[:, :100]] == labels[:, None], axis=1).mean(axis=0)

    def histogram() -> np.ndarray:
        return np.histogram(pdist(points), bins=80, range=(0, 2))[0]

    ours = curves.recall_at_k(points, labels, most=100).recall
    assert np.abs(ours - neighbors()).max() <= 1e-3  # ties fall otherwise
    counted = distance_histogram(points, labels)
    assert counted.same.sum() + counted.different.sum() == histogram().sum()

    measured = {name: Measured(measure(points, labels), (), "") for name, measure in MEASURES.items()}
    for name, measure in MEASURES.items():

        def draws(name: str = name) -> str:
            return plotly.io.to_json(draw(name, measured[name]), validate=False)

        times = medians({"measured": lambda measure=measure: measure(points, labels), "drawn": draws}, ROUNDS)
        whole = sum(times.values())
        print(
            f"{name:20} {times['measured']:6.0f} ms measured, {times['drawn']:4.0f} ms drawn, {len(draws()):7,} bytes"
        )
        assert whole < MOST, f"{name} takes {whole:.0f} ms of processor time"

    peers = {
        "recall@k": (lambda: curves.recall_at_k(points, labels), neighbors),
        "distances": (lambda: distance_histogram(points, labels), histogram),
        "confusion": (
            lambda: metrics.confusion(points, labels),
            lambda: NearestNeighbors(n_neighbors=1, algorithm="brute").fit(points).kneighbors(return_distance=False),
        ),
    }
    for name, (own, peer) in peers.items():
        times = medians({"own": own, "peer": peer}, 3)
        print(f"{name:20} {times['peer'] / times['own']:.1f} times as fast as the peer")
        assert times["own"] < times["peer"], name


if __name__ == "__main__":
    main()
