"""A gradient penalty, a function of the loss's gradient, has the oracle's gradient: no second derivative is lost."""

import pytest
import torch

from dmlviz import losses
from dmlviz.miners.tuples import AnchoredPairs, Triplets

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


def _assert_equal(oracle, case):
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
    _assert_equal(oracle, random_case())


@pytest.mark.slow
@pytest.mark.sample(30)
def test_a_gradient_penalty_over_mined_tuples_has_the_oracles_gradient(oracle, random_case):
    accepted = oracle.build().declaration.tuple_kinds
    case = random_case()
    same = case.labels[:, None] == case.labels
    chosen = torch.rand(same.shape, generator=torch.Generator().manual_seed(0)) < 0.6
    if "pairs" in accepted:
        positive = (same & chosen).fill_diagonal_(False).nonzero(as_tuple=True)
        _assert_equal(oracle, random_case(0, AnchoredPairs(*positive, *(~same & chosen).nonzero(as_tuple=True))))
    if "triplets" in accepted:
        every = torch.tensor(case.triplets)
        picked = every[torch.rand(len(every), generator=torch.Generator().manual_seed(0)) < 0.4]
        _assert_equal(oracle, random_case(0, Triplets(*picked.T)))


def test_where_points_coincide_the_penalty_stays_finite(loss_name):
    """Two points in one place, one at 0, one far away: what a distance and a direction have no slope at."""
    x = torch.randn(10, 4, generator=torch.Generator().manual_seed(0))
    x[1], x[4], x[7], x[8] = x[0], x[3], 0.0, 1e4 * x[8]
    loss = losses.build(loss_name, embedding_dim=4, num_classes=4)
    leaves = [x.requires_grad_(), *loss.parameters()]
    gradients = _gradients(_penalty(loss(x, torch.arange(10) // 3), leaves), leaves)
    assert all(gradient.isfinite().all() for gradient in gradients)
