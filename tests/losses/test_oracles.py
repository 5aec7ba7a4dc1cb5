"""Every loss equals its oracle, in value, gradient and gradient penalty, in float64, also with a miner's tuples."""

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
    _assert_equal(oracle, random_case(1))


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


def _close(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-9)


def test_what_a_row_names_leaves_the_loss_alone(oracle):
    generator = torch.Generator().manual_seed(len(oracle.id))
    labels = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2, 3])
    x = (0.4 * torch.randn(10, 6, generator=generator, dtype=torch.float64)).requires_grad_()
    loss, declared = oracle.build(), losses.LOSSES[oracle.name]
    value = loss(x, labels)
    (gradient,) = torch.autograd.grad(value, x)
    if "permutation" in oracle.unchanged_by:
        order = torch.randperm(len(x), generator=generator)
        _close(loss(x[order], labels[order]), value)
    if not [*loss.parameters()] and not declared.by_number:
        names = torch.randint(-(2**62), 2**62, (4,), generator=generator)
        _close(loss(x, names[labels]), value)
    if "rotation" in oracle.unchanged_by:
        turn = torch.linalg.qr(torch.randn(6, 6, generator=generator, dtype=torch.float64)).Q
        _close(loss(x @ turn, labels), value)
    if "translation" in oracle.unchanged_by:  # and forces balance
        for by in (-50, 0.3, 7):
            _close(loss(x + by, labels), value)
        _close(gradient.sum(dim=0), torch.zeros(6, dtype=torch.float64))
    if "scaling" in oracle.unchanged_by:  # and forces stay on the sphere
        lengths = 0.5 + torch.rand(len(x), 1, generator=generator, dtype=torch.float64)
        for factor in (1e-3, 1, 1e3):
            _close(loss(x * factor * lengths, labels), value)
        _close((gradient * x).sum(dim=1), torch.zeros(10, dtype=torch.float64))
    if "distance" not in oracle.params:
        assert declared.on_sphere == ("scaling" in oracle.unchanged_by)


STEP = 1e-5


def _penalty(value, leaves, graph=True):
    """Σ (∂L/∂x)², and the same of the loss's weights."""
    gradients = torch.autograd.grad(value, leaves, create_graph=graph, allow_unused=True)
    return sum(gradient.square().sum() for gradient in gradients if gradient is not None)


def _gradients(penalty, leaves):
    if not penalty.requires_grad:  # the gradient is constant
        return [torch.zeros_like(leaf) for leaf in leaves]
    gradients = torch.autograd.grad(penalty, leaves, allow_unused=True)
    return [torch.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, gradients, strict=True)]


def _slope(compute, leaves, directions):
    """How fast the penalty rises that way, by finite differences of first derivatives."""

    def at(distance):
        with torch.no_grad():
            for leaf, direction in zip(leaves, directions, strict=True):
                leaf += distance * direction
        found = _penalty(compute(), leaves, graph=False)
        with torch.no_grad():
            for leaf, direction in zip(leaves, directions, strict=True):
                leaf -= distance * direction
        return found

    return (at(STEP) - at(-STEP)) / (2 * STEP)


def _assert_penalties(oracle, case):
    loss = oracle.build()
    leaves = [case.x, *loss.parameters()]
    ours = _gradients(_penalty(loss(case.x, case.labels, case.tuples), leaves), leaves)
    try:
        theirs = _gradients(_penalty(oracle.peer(case, loss), leaves), leaves)
    except NotImplementedError:  # by a peer made with torch.cdist, which has first derivatives only
        directions = [torch.randn(leaf.shape, dtype=leaf.dtype) for leaf in leaves]
        theirs = [_slope(lambda: oracle.peer(case, loss), leaves, directions)]
        ours = [sum((a * b).sum() for a, b in zip(ours, directions, strict=True))]
    near = max(1e-6, oracle.tolerance)
    for mine, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, expected, rtol=near, atol=near)


@pytest.mark.sample(30)
def test_a_gradient_penalty_has_the_oracles_gradient(oracle, random_case):
    _assert_penalties(oracle, random_case())


@pytest.mark.slow
@pytest.mark.sample(30)
def test_a_gradient_penalty_over_mined_tuples_has_the_oracles_gradient(oracle, random_case):
    accepted = oracle.build().declaration.tuple_kinds
    case = random_case()
    same = case.labels[:, None] == case.labels
    chosen = torch.rand(same.shape, generator=torch.Generator().manual_seed(0)) < 0.6
    if "pairs" in accepted:
        positive = (same & chosen).fill_diagonal_(False).nonzero(as_tuple=True)
        _assert_penalties(oracle, random_case(0, AnchoredPairs(*positive, *(~same & chosen).nonzero(as_tuple=True))))
    if "triplets" in accepted:
        every = torch.tensor(case.triplets)
        picked = every[torch.rand(len(every), generator=torch.Generator().manual_seed(0)) < 0.4]
        _assert_penalties(oracle, random_case(0, Triplets(*picked.T)))


def test_where_points_coincide_the_penalty_stays_finite(loss_name):
    """Two points in one place, one at 0, one far away: what a distance and a direction have no slope at."""
    x = torch.randn(10, 4, generator=torch.Generator().manual_seed(0))
    x[1], x[4], x[7], x[8] = x[0], x[3], 0.0, 1e4 * x[8]
    loss = losses.build(loss_name, embedding_dim=4, num_classes=4)
    leaves = [x.requires_grad_(), *loss.parameters()]
    gradients = _gradients(_penalty(loss(x, torch.arange(10) // 3), leaves), leaves)
    assert all(gradient.isfinite().all() for gradient in gradients)
