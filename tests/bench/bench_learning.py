"""How well an embedding retrieves after so many processor seconds of training: the figures behind the defaults.

`python tests/bench/bench_learning.py [--budgets 5 10 20 60] [--only NAME ...] [--seeds 0]`: P@1 among MNIST's 10,000
test images. Every cell is a training of its own, as long as its budget, so that its learning rate has come down.
"""

import argparse
from collections.abc import Sequence

import numpy as np
import torch

from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, load
from dmlviz.runs.training_run import warm_up
from dmlviz.training.events import Finished, Step
from dmlviz.training.loop import train

PLANE = {"embedding_dim": 2, "normalize": False}
SPHERE = {"embedding_dim": 64, "normalize": True}
CANDIDATES: dict[str, dict] = {
    "64-d sphere, nt_xent": {"loss": "nt_xent", **SPHERE},
    "64-d sphere, triplet": {"loss": "triplet", **SPHERE},
    "64-d sphere, contrastive": {"loss": "contrastive", **SPHERE},
    "64-d sphere, arcface": {"loss": "arcface", **SPHERE},
    "64-d sphere, batch_hard": {"loss": "batch_hard", **SPHERE},
    "3-d sphere, nt_xent": {"loss": "nt_xent", "embedding_dim": 3, "normalize": True},
    "plane, contrastive": {"loss": "contrastive", **PLANE},
    "plane, triplet": {"loss": "triplet", "loss_params": {"margin": 1.0}, **PLANE},
    "plane, batch_hard": {"loss": "batch_hard", **PLANE},
    "plane, softmax": {"loss": "softmax", **PLANE},
    "plane, nt_xent": {"loss": "nt_xent", **PLANE},
    "circle, nt_xent": {"loss": "nt_xent", "embedding_dim": 2, "normalize": True},
}
AT_LEAST = {5: 0.0, 10: 0.97, 60: 0.985}  # for 64 dimensions with the default loss


def cost_of_a_step(config: TrainConfig, data: Dataset) -> float:
    """Processor seconds, the least of three stretches: what disturbs a measurement only ever adds."""
    marks = [
        event.cpu_seconds
        for event in train(config.replace(steps=61, num_snapshots=1), data=data)
        if type(event) is Step
    ]
    return min(np.diff(marks[::20])) / 20


def trained(config: TrainConfig, data: Dataset) -> tuple[Finished, float]:
    """Return the end and the processor seconds of the training itself, the final scoring left out."""
    spent, event = 0.0, None
    for event in train(config, data=data):
        spent = event.cpu_seconds if type(event) is Step else spent
    assert type(event) is Finished, event
    return event, spent


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budgets", type=float, nargs="+", default=[5, 10, 20, 60])
    parser.add_argument("--only", nargs="+", default=list(CANDIDATES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warm_up()
    data = load("mnist")
    print(f"{'P@1 after CPU seconds':26s}" + "".join(f"{budget:>16g}" for budget in chosen.budgets))
    for name in chosen.only:
        row = f"{name:26s}"
        config = TrainConfig(dataset="mnist", num_snapshots=1, **CANDIDATES[name])
        cost = cost_of_a_step(config, data)
        for budget in chosen.budgets:
            ends = [trained(config.replace(steps=round(budget / cost), seed=seed), data) for seed in chosen.seeds]
            scores = [end.metrics["precision_at_1"] for end, _ in ends]
            spent = np.mean([seconds for _, seconds in ends])
            row += f"{np.mean(scores):8.4f} ({spent:4.1f}s)"
            if name == "64-d sphere, nt_xent":
                assert min(scores) >= AT_LEAST.get(budget, 0), f"{name}: {scores} after {budget} CPU seconds"
        print(f"{row}   {1e3 * cost:.1f} ms a step", flush=True)


if __name__ == "__main__":
    main()
