"""The terms that the page computes equal those of the library, for the same batch and loss."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from app.payloads.batches import to_json
from dmlviz import losses, miners
from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.miners.tuples import Pairs
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.pairwise import l2_normalize
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.batch_recorder import BatchRecorder

CASES: dict[str, dict[str, Any]] = {
    name: {"loss": name} for name in LOSSES if name not in ("weighted_sum", "hinge_pair")
} | {
    "contrastive, all pairs": {"loss": "contrastive", "miner": None},
    "contrastive, classical": {"loss": "contrastive", "sampler": "random_pairs"},
    "margin, triplets": {"loss": "margin", "miner": "batch_hard"},
    "margin, of each class": {"loss": "margin", "loss_params": {"per_class": True}, "miner": "all_pairs"},
    "multi_similarity, mined": {"loss": "multi_similarity", "miner": "multi_similarity"},
    "lifted, mined": {"loss": "lifted", "miner": "hard_negative_pairs"},
    "nt_xent, mined": {"loss": "nt_xent", "miner": "multi_similarity"},
    "nt_xent, without a negative": {"loss": "nt_xent", "miner": "hard_negative_pairs"},
    "angular, mined": {"loss": "angular", "miner": "hardest_negative"},
    "batch_hard, soft": {"loss": "batch_hard", "loss_params": {"margin": "soft"}},
    "arcface, without class 3": {"loss": "arcface", "held_out_classes": (3,)},
    "triplet, cosine": {"loss": "triplet", "loss_params": {"distance": "cosine"}, "miner": "hardest_negative"},
}


def batch_of(config: TrainConfig) -> BatchRecord:
    """What the loss sees of images that lie around the centers of their classes, too near each other."""
    random = torch.Generator().manual_seed(1)
    labels, classes = torch.arange(5).repeat_interleave(4), torch.tensor(config.train_classes)
    x = 0.8 * torch.randn(5, 8, generator=random)[labels] + torch.randn(20, 8, generator=random)
    x = (l2_normalize(x) if config.normalize else x).requires_grad_()
    loss = losses.build(config.loss, embedding_dim=8, num_classes=len(classes), seed=1, **config.loss_params)
    with torch.no_grad():
        for weight in loss.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=random)
    tuples = miners.build(config.miner, **config.miner_params)(x, labels) if config.miner else None
    if config.sampler == "random_pairs":
        tuples = Pairs(*(torch.tensor(part) for part in ([0, 4], [1, 5], [2, 6], [8, 12])))
    value = loss(x, labels, tuples)
    witness = BatchRecorder(torch.arange(20), labels, x, tuples, loss)
    value.backward()
    batch = witness.finish(1, value.item(), 1.0, torch.nn.Identity(), x)
    assert batch is not None
    return replace(batch, labels=classes[labels].numpy())


@pytest.fixture(scope="module")
def page(page_script: Callable[..., Any]) -> Any:
    batches = {}
    for name, fields in CASES.items():
        config = TrainConfig(dataset="digits", embedding_dim=8, **fields)
        batch = batch_of(config)
        batches[name] = to_json(batch, config, LinearProjection.pca(batch.embeddings_before))
    given = {"batches": batches, "formulas": [entry.formula for entry in LOSSES.values()]}
    answer = page_script("terms", given)
    return {name: found | {"right": batches[name]["loss"]} for name, found in answer.items()}


@pytest.mark.parametrize("name", list(CASES))
def test_the_terms_of_a_batch_make_its_loss(page: Any, name: str) -> None:
    found = page[name]
    assert found["loss"] == pytest.approx(found["right"], rel=2e-4, abs=2e-5)
    assert bool(found["terms"]) == found["known"]
    assert all(math.isfinite(value) for value in found["terms"])


def test_the_losses_of_the_lessons_have_terms(page: Any) -> None:
    wanted = {"contrastive", "triplet", "batch_hard", "margin", "nt_xent", "multi_similarity", "lifted", "softmax"}
    assert all(page[name]["known"] for name in wanted | {"arcface", "cosface", "proxy_nca"})
