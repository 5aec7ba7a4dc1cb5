"""What "mean" and "nonzero" divide by."""

import pytest
import torch

from dmlviz import losses
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.terms import Terms
from dmlviz.miners.tuples import Triplets
from dmlviz.ops.labeled_batch import LabeledBatch


@pytest.mark.parametrize("reduction", ["mean", "nonzero"])
def test_a_mean_times_the_number_of_its_terms_is_their_sum(loss_name, reduction, random_case):
    declared = losses.LOSSES[loss_name].parameters
    if not any(parameter.name == "reduction" for parameter in declared):
        return
    case = random_case()
    switches = [parameter.name for parameter in declared if parameter.kind is bool]
    for switched in ({}, *({name: on} for name in switches for on in (True, False))):
        mean, total = (
            losses.build(loss_name, embedding_dim=6, num_classes=8, reduction=which, **switched).double()
            for which in (reduction, "sum")
        )
        batch = LossBatch(LabeledBatch(case.x, case.labels))
        parts = zip(*(_terms(loss.terms(batch)) for loss in (mean, total)), strict=True)
        for ours, whole in parts:
            torch.testing.assert_close(ours.reduce() * _count(ours, reduction), whole.reduce())


def _terms(parts):
    listed = parts if isinstance(parts, list) else [parts]
    return [part for part in listed if not isinstance(part, torch.Tensor)]


def _count(part, reduction):
    if not isinstance(part, Terms):
        return part.terms if reduction == "mean" or part.nonzero is not None else part.active
    mask = torch.ones_like(part.values, dtype=torch.bool) if part.mask is None else part.mask.expand_as(part.values)
    return mask.sum() if reduction == "mean" else (mask & (part.values != 0)).sum()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("size", [1.0, 10.0, 300.0])  # at 300 some terms are too small for a number
def test_soft_triplets_without_a_miner_have_the_mean_of_those_listed(dtype, size):
    x = size * torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=dtype)
    labels = torch.arange(20) % 4
    same = labels[:, None] == labels
    every = Triplets(
        *((same & ~torch.eye(20, dtype=torch.bool))[:, :, None] & ~same[:, None, :]).nonzero(as_tuple=True)
    )
    loss = losses.build("triplet_soft", reduction="nonzero")
    torch.testing.assert_close(loss(x, labels), loss(x, labels, every), rtol=1e-5, atol=0)
    assert loss(x, labels) >= losses.build("triplet_soft")(x, labels)
