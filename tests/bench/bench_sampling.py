"""One balanced epoch of 60,000 images against pytorch-metric-learning: `python tests/bench/bench_sampling.py`."""

from time import process_time

import numpy as np
from pytorch_metric_learning.samplers import MPerClassSampler

from dmlviz.training.sampling import balanced_epoch

P, K, IMAGES = 10, 16, 60_000
AT_LEAST = 20.0


def main() -> None:
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(IMAGES) % 10)
    members = [np.flatnonzero(labels == label) for label in range(10)]
    peer = MPerClassSampler(labels, m=K, batch_size=P * K, length_before_new_iter=IMAGES)

    epoch = balanced_epoch(members, P, K, rng)
    theirs = np.array(list(peer)).reshape(-1, P * K)
    for batches in (epoch, theirs):
        assert (np.bincount(labels[batches[0]]) == K).all()
    assert len(epoch) == len(theirs)
    assert len(np.unique(epoch)) == IMAGES, "every image visited"

    spent: dict[str, list[float]] = {"ours": [], "pytorch-metric-learning": []}
    for _ in range(9):
        for name, work in (
            ("ours", lambda: balanced_epoch(members, P, K, rng)),
            ("pytorch-metric-learning", lambda: list(peer)),
        ):
            start = process_time()
            work()
            spent[name].append(process_time() - start)
    cost = {name: float(np.median(seconds)) for name, seconds in spent.items()}
    ratio = cost["pytorch-metric-learning"] / cost["ours"]
    seen = len(np.unique(theirs)) / IMAGES
    print(f"one epoch of {IMAGES:,} images, {P} × {K}, medians of 9")
    print(f"ours {1e3 * cost['ours']:.1f} ms, all images visited")
    print(f"pytorch-metric-learning {1e3 * cost['pytorch-metric-learning']:.1f} ms, {100 * seen:.1f} % visited")
    print(f"{ratio:.0f}× as fast")
    assert ratio >= AT_LEAST


if __name__ == "__main__":
    main()
