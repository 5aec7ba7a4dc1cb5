"""Losses with class weights: whose weights, how they start, what margins do to an angle."""

import copy
import math
import pickle

import pytest
import torch

from dmlviz import losses
from dmlviz.errors import UserError
from dmlviz.losses.class_weights import cos_with_margin
from dmlviz.ops.labeled_batch import LabeledBatch

NAMES = [name for name, entry in losses.LOSSES.items() if entry.family == "proxies" and entry.needs_classes]
LABELS = torch.tensor([0, 1, 2, 0])


def build(name, seed=0, **params):
    return losses.build(name, embedding_dim=5, num_classes=3, seed=seed, **params)


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_with_weights_asks_for_their_number_and_size(name):
    with pytest.raises(UserError, match="num_classes"):
        losses.build(name, embedding_dim=5)
    with pytest.raises(UserError, match="embedding_dim"):
        losses.build(name, num_classes=3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("label", [3, -1])
def test_a_label_without_weights_is_refused_by_number(name, label):
    with pytest.raises(UserError, match=f"0 to 2; got .*{label}.*num_classes"):
        build(name)(torch.randn(4, 5), torch.tensor([0, 1, label, 2]))


@pytest.mark.parametrize("name", NAMES)
def test_embeddings_of_another_size_are_refused(name):
    with pytest.raises(UserError, match="5-dimensional embeddings; got 6"):
        build(name)(torch.randn(4, 6), LABELS)


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_alone_decides_the_first_weights(name):
    torch.manual_seed(1)
    first, state = build(name, seed=7), torch.random.get_rng_state()
    torch.manual_seed(2)
    second = build(name, seed=7)
    assert not torch.equal(state, torch.random.get_rng_state())  # the global state differed and did not matter
    for one, two in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, two)
    assert not torch.equal(first.weight, build(name, seed=8).weight)


@pytest.mark.parametrize("name", NAMES)
def test_all_weights_learn_and_are_saved(name):
    loss = build(name)
    loss(torch.randn(4, 5, generator=torch.Generator().manual_seed(0)), LABELS).backward()
    parameters = dict(loss.named_parameters())
    assert all(parameter.grad.abs().max() > 0 for parameter in parameters.values())
    assert set(loss.state_dict()) == {*parameters, *dict(loss.named_buffers())}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", NAMES)
def test_a_point_on_or_opposite_its_weight_has_a_finite_gradient(name, sign):
    loss = build(name)
    points = (sign * loss.weight.detach()[:3]).clone().requires_grad_()
    value = loss(points, torch.arange(3) if name != "soft_triple" else torch.zeros(3, dtype=torch.int64))
    value.backward()
    assert value.isfinite()
    assert points.grad.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in loss.parameters())


@pytest.mark.parametrize("m1", [*map(float, range(1, 9)), 1.5, 2.7, 3.999])
@pytest.mark.parametrize("m2", [0.0, 0.3, 1.5])
def test_a_margin_makes_a_score_lower_and_it_falls_with_the_angle(m1, m2):
    theta = torch.linspace(0.001, math.pi - 0.001, 4001, dtype=torch.float64)
    score = cos_with_margin(theta.cos(), m1, m2, 0.0)
    assert (score <= theta.cos() + 1e-12).all()
    falls = score.diff() < 0
    if m1 == 1 and m2:  # ArcFace's continuation jumps up by 1 − … where it begins; see its paper's code
        falls[(theta[1:] - (math.pi - m2)).abs() < 0.002] = True
    assert falls.all()
    before_pi = m1 * theta + m2 < math.pi
    torch.testing.assert_close(score[before_pi], (m1 * theta + m2).cos()[before_pi])
    if m1 > 1:
        assert score.diff().abs().max() < 0.002 * m1  # continuous


def test_adaface_keeps_moving_averages_of_lengths_between_steps():
    x = 3 * torch.randn(40, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    loss, labels = build("adaface", momentum=0.1).double(), torch.arange(10) % 3
    batches = [(k + 1) * part for k, part in enumerate(x.split(10))]
    mean, deviation = batches[0].norm(dim=1).mean(), batches[0].norm(dim=1).std()
    alone = loss(batches[1], labels)
    for batch in batches[:3]:
        mean, deviation = (
            0.1 * new + 0.9 * old
            for new, old in ((batch.norm(dim=1).mean(), mean), (batch.norm(dim=1).std(), deviation))
        )
        loss(batch, labels)
        loss.after_step(LabeledBatch(batch, labels))
    torch.testing.assert_close(loss.statistics, torch.stack([mean, deviation, torch.ones_like(mean)]))
    assert loss(batches[1], labels) != alone
    other = build("adaface", momentum=0.1).double()
    other.load_state_dict(loss.state_dict())
    for copied in (other, pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss)):
        assert torch.equal(copied(batches[3], labels), loss(batches[3], labels))
    both = losses.build("weighted_sum", a="triplet", b="adaface", embedding_dim=5, num_classes=3)
    both.after_step(LabeledBatch(batches[0], labels))
    assert both.b.statistics[2] == 1


@pytest.mark.parametrize(
    "name", [name for name, one in losses.LOSSES.items() if "label_smoothing" in {each.name for each in one.parameters}]
)
def test_smoothed_labels_share_the_entropy_of_a_loss_among_all_classes(name):
    torch.manual_seed(3)
    x, moved = torch.randn(4, 5, dtype=torch.float64).requires_grad_(), 0.0
    plain, smooth = build(name).double(), build(name, label_smoothing=0.3).double()
    for weight in plain.parameters():  # biases and centers, too, begin with 0
        weight.data += 0.1 * torch.randn_like(weight)
    smooth.load_state_dict(plain.state_dict())
    for scores, label in zip(plain.scores(plain.batch(x, LABELS)), LABELS.tolist(), strict=True):
        logs = [score - sum(other.exp() for other in scores).log() for score in scores]
        moved = moved + 0.3 * (logs[label] - sum(logs) / 3) / 4  # from -log p of its class to the mean of all
    expected, value = plain(x, LABELS) + moved, smooth(x, LABELS)
    torch.testing.assert_close(value, expected)
    gradients = torch.autograd.grad(expected, [x, *plain.parameters()])
    torch.testing.assert_close(torch.autograd.grad(value, [x, *smooth.parameters()]), gradients)
    assert moved.abs() > 1e-3
