"""Every loss is a module like another: it is saved, copied, moved, and transformed by torch.func."""

import copy
import io
import pickle
from itertools import product

import pytest
import torch
from torch.func import functional_call, grad, hessian, jvp, vmap

from dmlviz import losses, miners
from dmlviz.errors import UserError

X, Y = torch.randn(3, 12, 4, generator=torch.Generator().manual_seed(0)), torch.arange(12) % 4
every_loss = pytest.mark.parametrize("name", losses.LOSSES)
# What is the same of every loss, since it is done for all in one place: one without weights, one with.
ONE_OF_EACH = ("triplet", "arcface")


def build(name, **params):
    return losses.build(name, embedding_dim=4, num_classes=4, **params)


def gradient(loss, x, *rest):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(loss(x, *rest), x)[0]


def through_file(module):
    file = io.BytesIO()
    torch.save({"loss": module}, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=False)["loss"]


def pickled(loss):
    return pickle.loads(pickle.dumps(loss))


@pytest.mark.parametrize(
    ("name", "copied"),
    [*((name, pickled) for name in losses.LOSSES), *product(ONE_OF_EACH, (through_file, copy.deepcopy))],
)
def test_a_copy_gives_the_same_loss_before_and_after_a_call(name, copied):
    loss = build(name, seed=3)
    with torch.no_grad():
        for parameter in loss.parameters():
            parameter.add_(0.01)
    first = copied(loss)
    value = loss(X[0], Y)
    for other in (first, copied(loss)):
        assert torch.equal(other(X[0], Y), value)
        assert repr(other) == repr(loss)
        assert other.declaration == loss.declaration
        with pytest.raises(UserError):
            other(X[0], Y, "no tuples")


def with_tuples(name):
    kinds = losses.LOSSES[name].for_params(losses.LOSSES[name].with_defaults({})).tuple_kinds
    miner = {"pairs": "multi_similarity", "triplets": "hardest_negative"}
    return [(), *((miners.build(miner[kind])(X[0], Y),) for kind in sorted(kinds))]


CASES = [(name, tuples) for name in losses.LOSSES for tuples in with_tuples(name)]
every_case = pytest.mark.parametrize(
    ("name", "tuples"), CASES, ids=lambda each: each if isinstance(each, str) else len(each)
)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # of torch.func.jvp
@every_case
def test_transforms_give_the_gradient_of_backward(name, tuples):
    loss, x = build(name).double(), X.double()

    def call(q):
        return loss(q, Y, *tuples)

    expected = torch.stack([gradient(call, each) for each in x])
    close = {"rtol": 1e-6, "atol": 1e-8}
    torch.testing.assert_close(grad(call)(x[0]), expected[0], **close)
    torch.testing.assert_close(vmap(call)(x), torch.stack([call(each) for each in x]), **close)
    torch.testing.assert_close(vmap(grad(call))(x), expected, **close)
    torch.testing.assert_close(grad(lambda q: vmap(call)(q).sum())(x), expected, **close)
    along = jvp(call, (x[0],), (x[1],))[1]
    torch.testing.assert_close(along, (expected[0] * x[1]).sum(), **close)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
@every_loss
def test_the_hessian_is_that_of_backward_twice(name):
    loss, x = build(name).double(), X[0, :6].double()
    labels = Y[:6] % 2
    expected = torch.autograd.functional.hessian(lambda q: loss(q, labels), x)
    torch.testing.assert_close(hessian(lambda q: loss(q, labels))(x), expected, rtol=1e-5, atol=1e-5)


@every_loss
def test_tasks_with_labels_of_their_own_are_mapped(name):
    loss, labels = build(name), torch.stack([Y, Y.roll(1), Y.flip(0)])
    expected = torch.stack([gradient(loss, x, y) for x, y in zip(X, labels, strict=True)])
    torch.testing.assert_close(vmap(grad(loss))(X, labels), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in losses.LOSSES if [*build(name).parameters()]])
def test_weights_are_transformed(name):
    loss = build(name)
    weights = dict(loss.named_parameters())
    found = grad(lambda q: functional_call(loss, q, (X[0], Y)))(weights)
    expected = torch.autograd.grad(loss(X[0], Y), [*weights.values()])
    for one, other in zip(found.values(), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, torch.float16) for name in losses.LOSSES), *product(ONE_OF_EACH, (torch.bfloat16, torch.float64))],
)
def test_another_type_of_weights_gives_nearly_the_same(name, kind):
    expected = build(name)(X[0], Y)
    for loss, x in ((build(name).to(kind), X[0]), (build(name), X[0].to(kind)), (build(name).to(kind), X[0].to(kind))):
        value = loss(x, Y)
        assert value.dtype == (torch.float64 if x.dtype == kind == torch.float64 else torch.float32)
        torch.testing.assert_close(value.float(), expected.float(), rtol=0.05, atol=0.05)
        slope = gradient(loss, x, Y)
        assert slope.dtype == x.dtype
        torch.testing.assert_close(grad(loss)(x, Y), slope, rtol=0.05, atol=0.05)
