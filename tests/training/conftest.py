"""Trainings of the digits that come with the program: seconds, not minutes."""

from collections.abc import Iterator

import pytest
import torch

from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, load


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def quick():
    """`quick(**fields)`: the config of a short training."""
    return lambda **fields: TrainConfig(
        **{"dataset": "digits", "net": "mlp", "steps": 12, "num_snapshots": 4, "eval_subset_size": 100} | fields
    )


@pytest.fixture(scope="session")
def of():
    """`of(kind, events)`: the events of one kind."""
    return lambda kind, events: [event for event in events if type(event) is kind]
