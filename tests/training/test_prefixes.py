"""A training with prefixes: the loss of each counts alike, and an embedding that is cut still finds its class."""

import numpy as np
import pytest
import torch

from dmlviz import losses, metrics
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.events import Embedded
from dmlviz.training.loop import train

QUICK = {"dataset": "digits", "net": "mlp", "embedding_dim": 16, "num_snapshots": 1, "validation_fraction": 0.0}


@pytest.mark.parametrize("normalize", [True, False])
def test_the_gradient_is_that_of_the_mean_of_all_lengths(normalize):
    config = TrainConfig(**QUICK, loss="contrastive", miner=None, steps=1, prefixes=(2, 5), normalize=normalize)
    record = next(event for event in train(config) if isinstance(event, BatchRecord))
    x = torch.from_numpy(record.embeddings_before).double().requires_grad_()
    value = torch.zeros((), dtype=torch.float64)
    for length in (16, 2, 5):
        short = x[:, :length]
        if normalize and length < 16:
            short = short / short.norm(dim=1, keepdim=True)
        value = value + losses.build("contrastive")(short, torch.from_numpy(record.labels)) / 3
    (gradient,) = torch.autograd.grad(value, x)
    assert record.loss == pytest.approx(value.item(), rel=1e-5)
    np.testing.assert_allclose(record.gradient, gradient.numpy(), rtol=1e-3, atol=1e-7)


def test_an_embedding_that_is_cut_still_finds_its_class():
    labels, scores = load("digits").test.labels, []
    for prefixes in ((), (2,)):
        config = TrainConfig(**QUICK, steps=80, prefixes=prefixes)
        end = next(event for event in train(config) if isinstance(event, Embedded))
        short = end.embeddings[:, :2] / np.linalg.norm(end.embeddings[:, :2], axis=1, keepdims=True)
        scores.append(metrics.evaluate(short, labels, clustering=False, verification=False)["precision_at_1"])
    assert scores[1] > scores[0] + 0.1  # .53, and .66 with the prefix
