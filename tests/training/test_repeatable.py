"""Equal configs give equal numbers, whatever else the process does."""

import subprocess
import sys
from itertools import islice

import numpy as np
import pytest
import torch

from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.config.race import MOST, left_out, racer, usual_losses
from dmlviz.data import Dataset
from dmlviz.nets.fine_tuned import CHUNK
from dmlviz.ops.squared_distances import use_threads
from dmlviz.runs.training_run import warm_up
from dmlviz.training.events import Event
from dmlviz.training.loop import train
from dmlviz.training.trainer import Trainer


def equal(a: Event, b: Event) -> bool:
    """Whether all that is not a time is the same, bit for bit."""
    times = {"images_per_second", "cpu_seconds", "seconds"}
    for name in vars(a).keys() - times:
        one, other = getattr(a, name), getattr(b, name)
        if isinstance(one, dict):
            if one.keys() != other.keys() or not all(
                np.array_equal(one[key], other[key], equal_nan=True) for key in one
            ):
                return False
        elif not np.array_equal(one, other):
            return False
    return type(a) is type(b)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {"loss": "triplet", "miner": "random_hard_negative"},
        {"loss": "softmax", "embedding_dim": 2, "optimizer": "sgd"},
        {"loss": "nt_xent", "net": "protonet"},
        {"loss": "contrastive", "miner": "balanced_pairs", "schedule": "linear", "weight_decay": 1e-4},
    ],
)
def test_equal_configs_give_bit_identical_results(digits: Dataset, fields: dict, quick) -> None:
    first, again = (list(train(quick(**fields), data=digits)) for _ in range(2))
    assert len(first) == len(again)
    assert all(equal(a, b) for a, b in zip(first, again, strict=True))
    other = list(train(quick(**fields, seed=1), data=digits))
    assert not np.array_equal(first[-1].embeddings, other[-1].embeddings)


@pytest.mark.slow
def test_interleaved_trainings_do_not_affect_each_other(digits: Dataset, quick) -> None:
    alone = [list(train(quick(seed=seed), data=digits)) for seed in (0, 1)]
    together = list(zip(*(train(quick(seed=seed), data=digits) for seed in (0, 1)), strict=True))
    assert all(equal(a, pair[0]) and equal(b, pair[1]) for a, b, pair in zip(*alone, together, strict=True))


@pytest.mark.slow
def test_a_worker_that_waits_has_imported_what_a_training_and_a_map_need(tmp_path) -> None:
    code = """
import sys
from pathlib import Path
from dmlviz.workers.job_worker import warm_up_steps
for step in warm_up_steps():
    step()
from dmlviz import TrainConfig
from dmlviz.config import ProjectionConfig
from dmlviz.data import load
from dmlviz.jobs.order import projection, training
from dmlviz.runs.store import Runs
from dmlviz.workers.kinds import Work, project, train
runs, digits = Runs(Path(sys.argv[1])), load("digits")
warm = set(sys.modules)
order = training(runs, TrainConfig(dataset="digits", net="mlp", steps=5, num_snapshots=2, eval_subset_size=100))
list(train(Work(order.begin().path, datasets={"digits": digits})))
for method in ("pca", "tsne", "umap", "pacmap"):
    for follow in (False, True):
        config = ProjectionConfig(method=method, follow=follow)
        project(Work(projection(runs, order.run, config).begin().path))
assert set(sys.modules) == warm, set(sys.modules) - warm
assert "torch._dynamo" not in sys.modules, "the compiler costs each process that trains 1.3 s and 66 MB"
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_warm_up_has_no_side_effects() -> None:
    before = torch.random.get_rng_state()
    warm_up()
    assert torch.equal(before, torch.random.get_rng_state())


def test_embeddings_do_not_depend_on_the_number_of_threads(digits: Dataset, quick) -> None:
    """After Stop, the test images are embedded by several threads."""
    trainer = Trainer(quick(net="small"), digits, torch.device("cpu"))
    assert len(trainer.test_images) > 2 * CHUNK
    expected = trainer.embed(trainer.test_images)
    with use_threads(3):
        assert np.array_equal(trainer.embed(trainer.test_images), expected)


@pytest.mark.slow
def test_a_race_begins_with_one_net_on_one_batch(digits: Dataset) -> None:
    base = TrainConfig(dataset="digits", net="mlp", steps=2, num_snapshots=1, eval_subset_size=50)
    losses = usual_losses(base)
    assert len(losses) == MOST
    assert not set(losses) & {name for name, spec in LOSSES.items() if spec.title in left_out(base, losses).split("; ")}
    configs = [racer(base, loss) for loss in losses]
    begun = [[*islice(train(config, data=digits), 4)] for config in configs]
    for _, snapshot, _, batch in begun[1:]:
        np.testing.assert_array_equal(snapshot.embeddings, begun[0][1].embeddings)
        np.testing.assert_array_equal(batch.images, begun[0][3].images)
