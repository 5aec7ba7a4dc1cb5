"""A small training's events without a training, and the run that holds them."""

import numpy as np
import pytest

from dmlviz.config import TrainConfig
from dmlviz.data import stratified_subset
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run_recorder import RunRecorder
from dmlviz.runs.store import Runs
from dmlviz.training.events import Finished, Snapshot, Started, Step, Stopped

CONFIG = TrainConfig(dataset="digits", net="mlp", embedding_dim=16, steps=4, eval_subset_size=20)
LABELS = np.arange(50) % 10


def told(config=CONFIG, last=Finished, spread=1.0):
    """The events of a small training, as `train` gives them."""
    random, tracked = np.random.default_rng(0), stratified_subset(LABELS, config.eval_subset_size)
    d = config.embedding_dim
    embeddings = (random.normal(size=(len(LABELS), d)) * spread + LABELS[:, None]).astype(np.float32)
    yield Started(steps=4, tracked_indices=tracked, train_images=100, test_images=len(LABELS), device="cpu", threads=1)
    yield Snapshot(step=0, embeddings=embeddings[tracked] * 0.1, metrics={"precision_at_1": 0.25})
    for step in range(1, 5):
        yield Step(
            step=step,
            loss=1 / step,
            active=0.5,
            positive_distance=0.1,
            negative_distance=0.9,
            images_per_second=1e3,
            cpu_seconds=0.1 * step,
        )
        yield Snapshot(step=step, embeddings=embeddings[tracked] * step / 4, metrics={"precision_at_1": 0.5})
    yield last(
        step=4,
        embeddings=embeddings,
        metrics={"precision_at_1": 0.75},
        net_weights={"layer.weight": np.ones((2, 3), np.float32)},
        cpu_seconds=0.4,
        seconds=0.5,
        reason="asked to" if last is Stopped else "",
    )


def write(runs, config=CONFIG, events=None):
    """A run with these events, by default those of a small training."""
    run = runs.create(config)
    with RecordWriter(run) as writer:
        recorder = RunRecorder(writer, run, LABELS)
        for event in told(config) if events is None else events:
            recorder.write(event)
    return runs.get(run.id)


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path / "runs", bundled=tmp_path / "bundled")


@pytest.fixture(scope="session")
def small():
    """The config of that training."""
    return CONFIG


@pytest.fixture(scope="session", name="told")
def teller():
    return told


@pytest.fixture(scope="session", name="write")
def writer():
    return write


@pytest.fixture
def labels():
    """The classes of its test images."""
    return LABELS
