"""The terms of a recorded batch average to its loss."""

from typing import Any

import numpy as np
import pytest
import torch

from dmlviz import losses, miners
from dmlviz.config import TrainConfig
from dmlviz.ops.pairwise import l2_normalize
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.batch_recorder import BatchRecorder
from dmlviz.training.batch_terms import batch_terms
from dmlviz.training.tuple_difficulty import classify_tuples

# Each lists all its terms: one a comparison.
ONE_EACH: dict[str, dict[str, Any]] = {
    "contrastive": {"loss": "contrastive", "miner": None},
    "contrastive, mined": {"loss": "contrastive", "miner": "hard_negative_pairs"},
    "triplet": {"loss": "triplet", "miner": "hardest_negative"},
    "triplet_soft": {"loss": "triplet_soft", "miner": "batch_hard"},
    "multi_similarity": {"loss": "multi_similarity", "miner": None},
    "softmax": {"loss": "softmax"},
    "arcface": {"loss": "arcface"},
}


def recorded(config: TrainConfig) -> BatchRecord:
    random = torch.Generator().manual_seed(1)
    labels, classes = torch.arange(5).repeat_interleave(4), torch.tensor(config.train_classes)
    x = 0.8 * torch.randn(5, 8, generator=random)[labels] + torch.randn(20, 8, generator=random)
    x = (l2_normalize(x) if config.normalize else x).requires_grad_()
    loss = losses.build(config.loss, embedding_dim=8, num_classes=len(classes), seed=1, **config.loss_params)
    tuples = miners.build(config.miner, **config.miner_params)(x, labels) if config.miner else None
    value = loss(x, labels, tuples)
    recorder = BatchRecorder(torch.arange(20), classes[labels], x, tuples, loss)
    value.backward()
    batch = recorder.finish(1, value.item(), 1.0, torch.nn.Identity(), x)
    assert batch is not None
    return batch


@pytest.mark.parametrize("case", ONE_EACH)
def test_the_terms_of_all_comparisons_make_the_loss(case: str) -> None:
    config = TrainConfig(dataset="digits", embedding_dim=8, **ONE_EACH[case])
    batch = recorded(config)
    terms = batch_terms(config, batch)
    assert all(len(values) == 1 for values in terms)
    assert np.mean(terms) == pytest.approx(batch.loss, rel=1e-5)


@pytest.mark.parametrize("name", ["triplet", "nt_xent", "lifted", "batch_hard", "margin", "angular"])
def test_a_comparison_has_the_term_that_it_takes_part_in(name: str) -> None:
    config = TrainConfig(dataset="digits", embedding_dim=8, loss=name, miner=None)
    batch = recorded(config)
    terms = batch_terms(config, batch)
    assert len(terms) == len(classify_tuples(config, batch).indices)
    assert any(terms)
    assert np.isfinite(np.concatenate(terms)).all()
