"""Losses at the edges: finite; 0 with a graph where no tuple is valid; NaN only for NaN."""

from itertools import product

import pytest
import torch

from dmlviz import losses
from dmlviz.errors import UserError
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.terms import Terms
from dmlviz.miners.tuples import Triplets
from dmlviz.ops.labeled_batch import LabeledBatch

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _points(classes):
    return torch.randn(len(classes), 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def _coincident(same):
    labels = [0, 0, 0, 1, 1, 2, 2]
    x = _points(labels)
    x[1 if same else 3] = x[0]
    return x, labels


def _with_row(row, labels=(0, 0, 1, 1, 2, 2)):
    x = _points(labels)
    x[1] = row
    return x, list(labels)


def _of_norm(norm):
    labels = [0, 0, 1, 1, 2, 2]
    return torch.nn.functional.normalize(_points(labels)) * norm, labels


# name: (embeddings, labels)
CASES = {
    "empty batch": (torch.zeros(0, 4), []),
    "one image": (_points([0]), [0]),
    "one class": (_points([0] * 5), [0] * 5),
    "all classes distinct": (_points(range(5)), list(range(5))),
    "one image without partner": (_points([0, 0, 1]), [0, 0, 1]),
    "coincident positives": _coincident(same=True),
    "coincident negatives": _coincident(same=False),
    "all points equal": (torch.ones(6, 4), [0, 0, 1, 1, 2, 2]),
    "zero vectors": (torch.zeros(6, 4), [0, 0, 1, 1, 2, 2]),
    "one zero vector": _with_row(0.0),
    "norms 1e-20": _of_norm(1e-20),
    "norms 1e20": _of_norm(1e20),
    "one norm of 1e20": _with_row(1e20),
    "one NaN row": _with_row(torch.nan),
}

LABELS = {
    "int64": lambda c: c,
    "int32": lambda c: c.int(),
    "int16": lambda c: c.short(),
    "uint8": lambda c: c.byte(),
    "bool": lambda c: c % 2 == 1,
    "floats holding integers": lambda c: c.float(),
    "non-contiguous": lambda c: torch.stack([c, c + 1], dim=1)[:, 0],
    "negative": lambda c: c - 3,
    "huge": lambda c: c * 2**60 - 2**62,
}
OUTSIDE = ("negative", "huge")  # what no class weight can stand for
WITH_CLASSES = [name for name, loss in losses.LOSSES.items() if loss.needs_classes]
# What embeddings and labels are made of is looked at once, before any formula: one loss without weights, one with.
OF_ANY_TYPE = ("triplet", "arcface")


def _embeddings(x, dtype):
    largest = min(torch.finfo(dtype).max / 100, 1e30)
    return x.double().clamp(-largest, largest).to(dtype).requires_grad_()


def _assert_sound(loss, name, case, dtype=torch.float32, labels=LABELS["int64"]):
    x, classes = CASES[case]
    embeddings = _embeddings(x, dtype)
    value = loss(embeddings, labels(torch.tensor(classes, dtype=torch.int64)))
    where = f"{case}, {dtype}"
    assert value.shape == (), where
    assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32), where
    if case == "one NaN row":
        assert value.isnan(), where
        return
    assert value.isfinite(), where
    (gradient,) = torch.autograd.grad(value, embeddings)
    assert gradient.dtype == dtype, where
    assert gradient.isfinite().all(), where
    assert 0 <= loss.active <= 1, where
    if len(classes) < 2 and name not in WITH_CLASSES:
        assert value == 0, where


def test_finite_at_the_edges(loss_name):
    loss = losses.build(loss_name, embedding_dim=4, num_classes=8)
    for case in CASES:
        for dtype in (torch.float16, torch.float32):
            _assert_sound(loss, loss_name, case, dtype)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", OF_ANY_TYPE)
def test_embeddings_and_labels_of_every_type_are_taken(name, case):
    loss = losses.build(name, embedding_dim=4, num_classes=8)
    for dtype in DTYPES:
        _assert_sound(loss, name, case, dtype)
    for kind, labels in LABELS.items():
        if kind not in OUTSIDE or name not in WITH_CLASSES:
            _assert_sound(loss, name, case, labels=labels)


@pytest.mark.parametrize("name", WITH_CLASSES)
def test_labels_without_a_class_weight_are_named(name):
    loss = losses.build(name, embedding_dim=4, num_classes=3)
    for kind in OUTSIDE:
        with pytest.raises(UserError, match="3"):
            loss(_points(range(3)), LABELS[kind](torch.arange(3)))


def test_no_gradient_and_autocast_change_nothing(loss_name):
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    x = _points(labels).float()
    loss = losses.build(loss_name, embedding_dim=4, num_classes=3)
    expected = loss(x, labels)
    with torch.no_grad():
        assert torch.equal(loss(x, labels), expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(loss(x, labels), expected)
    with torch.inference_mode():
        assert torch.equal(loss(x, labels), expected)


def test_broken_rules_are_said_in_a_sentence(loss_name):
    loss = losses.build(loss_name, embedding_dim=4, num_classes=3)
    x, labels = torch.randn(6, 4), torch.tensor([0, 0, 1, 1, 2, 2])
    for embeddings, classes, said in (
        (x[0], labels, r"n images × d dimensions; got shape \(4,\)"),
        (x[None], labels, r"got shape \(1, 6, 4\)"),
        (x, labels[:5], r"labels of shape \(5,\) for 6 embeddings"),
        (x, labels[:, None].expand(6, 2), r"labels of shape \(6, 2\)"),
        (x, labels + 0.5, "whole numbers or texts; got 0.5"),
        (x.long(), labels, "floating-point numbers; got torch.int64"),
    ):
        with pytest.raises(UserError, match=said):
            loss(embeddings, classes)
    with pytest.raises(UserError, match="takes"):
        loss(x, labels, "pairs")


def test_a_mean_times_the_number_of_its_terms_is_their_sum(loss_name, random_case):
    declared = losses.LOSSES[loss_name].parameters
    if not any(parameter.name == "reduction" for parameter in declared):
        return
    case = random_case()
    switches = [parameter.name for parameter in declared if parameter.kind is bool]
    ways = [{}, *({name: on} for name in switches for on in (True, False))]
    for reduction, switched in product(("mean", "nonzero"), ways):
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
