"""What leaves a loss unchanged: order of the batch, names of classes, rotation, translation, scaling."""

import torch

from dmlviz import losses


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
