"""Known failures fail with an alarm, and known good settings learn, on the digits."""

import numpy as np
import pytest
import torch

from dmlviz import metrics
from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.miners.offline import OfflineHard
from dmlviz.training.loop import train

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def digits():
    return load("digits")


def learned(data, **fields):
    """The scores at the end of a short training."""
    torch.set_num_threads(1)
    *_, end = train(
        TrainConfig(**{"dataset": "digits", "steps": 60, "num_snapshots": 1, "eval_subset_size": 100} | fields),
        data=data,
    )
    return end.metrics


@pytest.fixture(scope="module")
def raw_pixels(digits):
    return metrics.evaluate(digits.test.images.reshape(len(digits.test), -1), digits.test.labels)


def test_without_a_margin_the_embeddings_collapse_to_a_line_and_an_alarm_is_raised(digits, raw_pixels):
    scores = learned(digits, loss="contrastive_no_margin", net="mlp", steps=150)
    assert LOSSES["contrastive_no_margin"].caveat
    assert scores["collapsed"] == 1
    assert scores["effective_rank"] < 1.1
    assert scores["precision_at_1"] < raw_pixels["precision_at_1"] - 0.3


def test_batch_hard_with_its_defaults_does_not_collapse(digits):
    scores = learned(digits, loss="batch_hard")
    assert scores["collapsed"] == 0
    assert scores["precision_at_1"] > 0.95


def test_offline_hard_embeds_the_training_set_every_epoch_and_learns_digits(digits, monkeypatch):
    seen, completed = [], []
    refresh, complete = OfflineHard.refresh, OfflineHard.extend_batch
    monkeypatch.setattr(
        OfflineHard, "refresh", lambda self, *given: (seen.append(len(given[1])), refresh(self, *given))[1]
    )

    def tracked(self, batch):
        result = complete(self, batch)
        completed.append(np.setdiff1d(result, batch))
        return result

    monkeypatch.setattr(OfflineHard, "extend_batch", tracked)
    scores = learned(digits, loss="triplet", miner="offline_hard", miner_params={"every": 2}, steps=40)
    images = len(digits.train) - 120  # the rest is held out for validation
    epoch = images // 160
    assert seen == [images] * (1 + (40 - 1) // (2 * epoch))
    assert np.mean([len(new) for new in completed]) > 10  # negatives from outside the batch
    assert scores["precision_at_1"] > 0.95
