"""Live maps of a net that learns: `python tests/bench/bench_live.py [--dataset mnist] [--loss nt_xent] [--settle]`.

Every snapshot of a training updates a t-SNE and a UMAP (`--methods`) of the tracked images, on one thread. Printed are
processor milliseconds of a frame and of its quality, the median movement in spreads of the map, and the neighbors kept
beside those of a whole map; with `--settle` also the layout of all test images beside one from scratch. With `--arrays`
nothing is trained: a quarter of arrays of several kinds is followed, and settles with the others.
"""

import argparse
import os
import time
import warnings
from statistics import mean, median
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_swiss_roll

os.environ.setdefault("OMP_NUM_THREADS", "1")

EVERY = 10  # snapshots, between the whole maps
N = 4000  # points of an array


def _uneven(rng: np.random.Generator) -> np.ndarray:
    sizes, spreads = np.array([0.5, 0.2, 0.15, 0.08, 0.05, 0.02]), np.array([2, 0.3, 1, 0.1, 1, 0.5])
    of = rng.choice(6, N, p=sizes)
    return 6 * rng.standard_normal((6, 16))[of] + spreads[of, None] * rng.standard_normal((N, 16))


def _spheres(rng: np.random.Generator) -> np.ndarray:
    rows = rng.standard_normal((N, 16))
    return rng.choice([1, 3, 9, 27], (N, 1)) * rows / np.linalg.norm(rows, axis=1, keepdims=True)


ARRAYS = {
    "clusters": lambda rng: 4 * rng.standard_normal((10, 32))[rng.integers(0, 10, N)] + rng.standard_normal((N, 32)),
    "uneven clusters": _uneven,
    "line": lambda rng: 10 * rng.random((N, 1)) * np.eye(1, 8) + 0.05 * rng.standard_normal((N, 8)),
    "swiss roll": lambda rng: make_swiss_roll(N, random_state=0)[0],
    "digits": lambda rng: rng.permutation(load_digits().data),
    "nested spheres": _spheres,
    "heavy tails": lambda rng: rng.standard_t(2, (N, 16)),
    "noise": lambda rng: rng.standard_normal((N, 16)),
}


def settle_arrays(methods: list[str]) -> None:
    """Print how far the known quarter moves when all points settle, and how good their map is."""
    from dmlviz.config import ProjectionConfig
    from dmlviz.projection import LiveProjection, project

    for method in methods:
        config = ProjectionConfig(method=method)
        for name, make in ARRAYS.items():
            rows = make(np.random.default_rng(0)).astype(np.float32)
            live, known = LiveProjection(config), rows[: len(rows) // 4]
            for _ in range(3):
                before = live.update(known).coordinates
            settled, scratch = live.settle(rows), project(rows, config)
            print(f"{method}, {name}: {_settled(before, settled, slice(len(known)), scratch)}", flush=True)


def _settled(before: np.ndarray, settled: Any, known: Any, scratch: Any) -> str:
    from dmlviz.projection import align

    a, b = ((y - y.mean(0)) / y.std() for y in (before, settled.coordinates[known]))
    far = np.linalg.norm(align([a, b])[1] - a, axis=1) / np.linalg.norm(np.ptp(a, axis=0))
    kept, whole = (10 * map_.quality.overall["neighbors_kept"] for map_ in (settled, scratch))
    more = "" if scratch.error is None else f"; KL {settled.error:.3f} and {scratch.error:.3f}"
    return f"moved {np.median(far):.3f} of the map{more}; kept {kept:.2f} and {whole:.2f} from scratch"


def main() -> None:
    """Train, follow, print."""
    from dmlviz import TrainConfig, train
    from dmlviz.config import ProjectionConfig
    from dmlviz.projection import LiveProjection, project
    from dmlviz.training.events import Finished, Snapshot, Started

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--loss", default="nt_xent")
    parser.add_argument("--miner")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--settle", action="store_true")
    parser.add_argument("--arrays", action="store_true")
    parser.add_argument("--methods", default="tsne,umap")
    chosen = parser.parse_args()
    if chosen.arrays:
        warnings.simplefilter("ignore")
        return settle_arrays(chosen.methods.split(","))
    events = list(train(TrainConfig(dataset=chosen.dataset, loss=chosen.loss, miner=chosen.miner, steps=chosen.steps)))
    snapshots = [event for event in events if isinstance(event, Snapshot)]
    tracked = next(event.tracked_indices for event in events if isinstance(event, Started))
    embeddings = next(event.embeddings for event in events if isinstance(event, Finished))
    warnings.simplefilter("ignore")
    for method in chosen.methods.split(","):
        config = ProjectionConfig(method=method)
        live, before, rows = LiveProjection(config), None, []
        live.update(np.random.default_rng(0).standard_normal((1500, 8)))  # compiles
        live = LiveProjection(config)
        for number, snapshot in enumerate(snapshots):
            begun = time.process_time()
            frame = live.update(snapshot.embeddings, ids=tracked)
            drawn = time.process_time()
            kept = 10 * frame.quality.overall["neighbors_kept"]
            measured, y = time.process_time(), frame.coordinates
            moved = np.nan if before is None else np.median(np.linalg.norm(y - before, axis=1)) / y.std()
            before, whole = y, np.nan
            if number % EVERY == EVERY - 1:
                whole = 10 * project(snapshot.embeddings, config).quality.overall["neighbors_kept"]
            rows.append((snapshot.step, 1e3 * (drawn - begun), 1e3 * (measured - drawn), moved, kept, whole))
            if not np.isnan(whole):
                print(
                    f"{method} step {snapshot.step}: kept {kept:.2f}, whole {whole:.2f}, moved {moved:.3f}", flush=True
                )
        later = [row for row in rows if row[0] >= 50] or rows
        first, frame_ms, quality_ms = rows[0][1], median(row[1] for row in rows[1:]), median(row[2] for row in rows[1:])
        print(
            f"{method}, {len(before):,} images, {len(rows)} frames: first {first:.0f} ms, then {frame_ms:.0f} ms and "
            f"quality {quality_ms:.0f} ms; from step 50 on moved {median(row[3] for row in later):.3f}, "
            f"kept {mean(row[4] for row in later):.2f}"
        )
        if chosen.settle:
            begun = time.process_time()
            settled = live.settle(embeddings)
            seconds = time.process_time() - begun
            beside = _settled(before, settled, tracked, project(embeddings, config))
            print(f"settled {len(embeddings):,} images in {seconds:.1f} s: {beside}")


if __name__ == "__main__":
    main()
