"""Every loss equals its oracle, value and gradient, in float64, also with a miner's tuples."""

import pytest
import torch

from dmlviz import losses, miners
from dmlviz.losses import _implementations
from dmlviz.miners.tuples import AnchoredPairs, Pairs, Triplets


def _value_and_gradients(value, x, weights):
    leaves = [x, *weights]
    gradients = torch.autograd.grad(value, leaves, allow_unused=True)
    return [
        value.detach(),
        *(torch.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, gradients, strict=True)),
    ]


def _assert_equal(oracle, case):
    loss = oracle.build()
    weights = list(loss.parameters())
    ours = _value_and_gradients(loss(case.x, case.labels, case.tuples), case.x, weights)
    theirs = _value_and_gradients(oracle.peer(case, loss), case.x, weights)
    assert any(gradient.abs().max() > 0 for gradient in theirs[1:]), "a case without a gradient shows nothing"
    for mine, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, expected, rtol=oracle.tolerance, atol=oracle.tolerance)


def test_every_loss_has_code_and_a_row(oracles):
    assert set(_implementations()) == set(losses.LOSSES)
    assert {row.name for row in oracles} == set(losses.LOSSES)


def test_the_whole_batch_equals_the_oracle(oracle, random_case):
    for seed in range(2):
        _assert_equal(oracle, random_case(seed))


def test_selected_tuples_equal_the_oracle(oracle, random_case):
    accepted = oracle.build().declaration.tuple_kinds
    case = random_case()
    keep = torch.Generator().manual_seed(0)
    n = len(case.labels)
    same = case.labels[:, None] == case.labels
    off = ~torch.eye(n, dtype=torch.bool)
    chosen = torch.rand(n, n, generator=keep) < 0.6
    a, p = (same & off & chosen).nonzero(as_tuple=True)
    b, m = (~same & chosen).nonzero(as_tuple=True)
    if "pairs" in accepted:
        _assert_equal(oracle, random_case(0, AnchoredPairs(a, p, b, m)))
        i, j = (same & chosen).triu(1).nonzero(as_tuple=True)
        q, r = (~same & chosen).triu(1).nonzero(as_tuple=True)
        _assert_equal(oracle, random_case(0, Pairs(i, j, q, r)))
    if "triplets" in accepted:
        every = torch.tensor(case.triplets)
        picked = every[torch.rand(len(every), generator=keep) < 0.4]
        _assert_equal(oracle, random_case(0, Triplets(*picked.T)))


# n_pairs takes one pair per class of those listed.
OF_PAIRS = [name for name, loss in losses.LOSSES.items() if "pairs" in loss.tuple_kinds and name != "n_pairs"]


@pytest.mark.parametrize("name", OF_PAIRS)
def test_all_pairs_listed_are_all_pairs(name, random_case):
    case = random_case()
    loss = losses.build(name, embedding_dim=6, num_classes=5).double()
    listed = miners.build("all_pairs")(case.x, case.labels)
    torch.testing.assert_close(loss(case.x, case.labels, listed), loss(case.x, case.labels), rtol=1e-12, atol=1e-12)


def _batch(oracle):
    generator = torch.Generator().manual_seed(len(oracle.id))
    classes = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2, 3])
    x = 0.4 * torch.randn(10, 6, generator=generator, dtype=torch.float64)
    return oracle.build(), x.requires_grad_(), classes, generator


def _close(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-9)


def test_the_order_of_the_batch_does_not_matter(permutable):
    loss, x, labels, generator = _batch(permutable)
    order = torch.randperm(len(x), generator=generator)
    _close(loss(x[order], labels[order]), loss(x, labels))


def test_the_names_of_the_classes_do_not_matter(weightless):
    loss, x, labels, generator = _batch(weightless)
    names = torch.randint(-(2**62), 2**62, (4,), generator=generator)
    _close(loss(x, names[labels]), loss(x, labels))


def test_turning_the_space_does_not_matter(turnable):
    loss, x, labels, generator = _batch(turnable)
    turn = torch.linalg.qr(torch.randn(6, 6, generator=generator, dtype=torch.float64)).Q
    _close(loss(x @ turn, labels), loss(x, labels))


def test_moving_the_space_does_not_matter_and_forces_balance(movable):
    loss, x, labels, _ = _batch(movable)
    value = loss(x, labels)
    for by in (-50, 0.3, 7):
        _close(loss(x + by, labels), value)
    (gradient,) = torch.autograd.grad(value, x)
    _close(gradient.sum(dim=0), torch.zeros(6, dtype=torch.float64))


def test_stretching_does_not_matter_and_forces_stay_on_the_sphere(stretchable):
    loss, x, labels, generator = _batch(stretchable)
    value = loss(x, labels)
    lengths = 0.5 + torch.rand(len(x), 1, generator=generator, dtype=torch.float64)
    for factor in (1e-3, 1, 1e3):
        _close(loss(x * factor * lengths, labels), value)
    (gradient,) = torch.autograd.grad(value, x)
    _close((gradient * x).sum(dim=1), torch.zeros(10, dtype=torch.float64))


def test_directions_only_is_declared_where_it_is_true(at_its_own_distance):
    row = at_its_own_distance
    assert losses.LOSSES[row.name].on_sphere == ("scaling" in row.unchanged_by)
