"""Torch is loaded where it computes; its global state is the caller's: nothing reads it, nothing changes it."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from dmlviz import TrainConfig, losses, metrics, miners, nets, train
from dmlviz.catalog.datasets import SAMPLERS
from dmlviz.config import ProjectionConfig
from dmlviz.projection import project
from dmlviz.sklearn import MetricLearner
from dmlviz.training import sampling

GENERATOR = torch.Generator().manual_seed(0)
X, Y = torch.randn(24, 8, generator=GENERATOR), torch.arange(24) % 6
IMAGES = torch.rand(2, 3, 32, 32, generator=GENERATOR)
POINTS = np.random.default_rng(0).normal(size=(60, 6)) + 9 * (np.arange(60) % 3)[:, None]
CONFIG = {"dataset": "digits", "net": "mlp", "steps": 3, "num_snapshots": 1, "max_train_images": 200}


def _state() -> tuple[object, ...]:
    # Python's own numbers are left out: the checks of types draw from them in tests.
    random_numbers = torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()
    modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()
    rest = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    return *random_numbers, *modes, *rest, torch.get_default_dtype(), torch.get_default_device()


@contextmanager
def _another_state(graph: bool) -> Iterator[None]:
    """Every default of torch is another one; on the device "meta" a tensor has no values. `graph`: gradients stay."""
    threads, old = torch.get_num_threads(), torch.get_rng_state()
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(3 - min(threads, 2))
    torch.default_generator.manual_seed(99)
    try:
        with torch.set_grad_enabled(graph), torch.autograd.set_detect_anomaly(True):
            yield
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(False)
        torch.set_num_threads(threads)
        torch.set_rng_state(old)


def _loss(name: str) -> Any:
    loss, x = losses.build(name, embedding_dim=8, num_classes=6), X.clone().requires_grad_()
    value = loss(x, Y)
    value.backward()
    return [value.detach(), loss.active, loss.num_terms, x.grad, *(weight.detach() for weight in loss.parameters())]


def _net(name: str) -> Any:
    return nets.build(name, embedding_dim=8, channels=3, size=32, seed=0).eval()(IMAGES)


def _train(**settings: Any) -> Any:
    events = [*train(TrainConfig(**CONFIG | settings))]
    return [events[-1].embeddings, events[-1].metrics["precision_at_1"], len(events)]


def _sampler(name: str) -> Any:
    tuples = {"random_pairs": "contrastive", "random_triplets": "triplet"}.get(name)
    config = TrainConfig(**CONFIG, sampler=name, **({"loss": tuples, "miner": None} if tuples else {}))
    batches = sampling.build(config, np.arange(300) % 10, 0)
    if hasattr(batches, "refresh"):
        batches.refresh(torch.cat([X, -X]), torch.from_numpy(np.arange(48) % 10))
    return [next(batches) for _ in range(3)]


def _learner() -> Any:
    return MetricLearner(max_iter=5, random_state=0).fit(POINTS, np.arange(60) % 3).transform(POINTS)


def _map(method: str, **params: Any) -> Any:
    drawn = project(POINTS, ProjectionConfig(method=method, params=params), labels=np.arange(60) % 3)
    return [drawn.coordinates, drawn.place(POINTS[:3] + 0.1), drawn.quality.overall["trustworthiness"]]


PARTS: dict[str, tuple[Callable[[], Any], bool]] = {  # and whether it needs the caller's graph
    **{f"loss {name}": (lambda name=name: _loss(name), True) for name in losses.LOSSES},
    **{f"miner {name}": (lambda name=name: [*miners.build(name)(X, Y)], False) for name in miners.MINERS},
    **{f"net {name}": (lambda name=name: _net(name).detach(), False) for name in nets.NETS},
    **{f"sampler {name}": (lambda name=name: _sampler(name), False) for name in SAMPLERS},
    "metrics": (lambda: [*metrics.evaluate(X, Y).values()], False),
    "train": (lambda: _train(augmentation={"shift": 0.1}, projection_dim=8, optimizer="sgd"), False),
    "train offline": (lambda: _train(loss="triplet", miner="offline_hard"), False),
    "estimator": (_learner, False),
    "pca": (lambda: _map("pca"), False),
    "tsne": (lambda: _map("tsne", perplexity=5, iterations=60), False),
    "umap": (lambda: _map("umap", iterations=20), False),
}


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, torch.Tensor):
        return a.device == b.device and a.dtype == b.dtype and _equal(a.numpy(), b.numpy())
    return np.shape(a) == np.shape(b) and np.allclose(a, b, atol=1e-5, equal_nan=True)  # threads add in another order


@pytest.mark.parametrize("part", PARTS)
def test_the_callers_defaults_of_torch_are_neither_read_nor_changed(part: str) -> None:
    compute, graph = PARTS[part]
    expected = compute()
    with _another_state(graph):
        before = _state()
        got = compute()
        assert _state() == before
    assert _equal(got, expected)


LIGHT = {  # in this order, and what each may not load besides
    "dmlviz.projection": "numba faiss",
    "dmlviz.runs, dmlviz.jobs, dmlviz.runs.training_run, dmlviz.workers.job_worker": "numba faiss",
    "dmlviz.miners as m; m.MINERS['batch_hard']": "numba faiss",
    "dmlviz.data as d; d.load('digits')": "numba",
    "dmlviz.ops.nearest_neighbors": "numba",
    "dmlviz.projection as p; p.check, p.place_on, p.projection_quality, p.align, p.Projection": "numba",
    "dmlviz.metrics as m; m.evaluate([[0], [1], [2]], [0, 0, 1])": "",
}


@pytest.mark.slow
def test_what_shows_reads_queues_and_scores_loads_no_torch() -> None:
    lines = [
        f"import {one}\nassert not {{*'torch sklearn umap {heavy}'.split()}} & {{*sys.modules}}, {one!r}"
        for one, heavy in LIGHT.items()
    ]
    subprocess.run([sys.executable, "-c", "\n".join(["import sys", *lines])], check=True)
