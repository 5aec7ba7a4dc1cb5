"""Losses and miners in the Poincaré ball: each trains by its distances, safe at the rim, or is refused."""

import pytest
import torch

from dmlviz import losses, miners
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.ops.spaces import PoincareBall

BALL = PoincareBall(1.0, 4.0)
LABELS = torch.arange(4).repeat_interleave(4)


def config(**settings):
    return TrainConfig(dataset="digits", space="poincare", embedding_dim=2, **settings)


def config_of(name):
    if LOSSES[name].in_ball:
        return config(loss=name, miner=None)
    with pytest.raises(UserError, match=r"needs angles.*Poincaré ball"):
        config(loss=name, miner=None)
    return None


def rows(dtype):
    """Rows before the exponential map: at the center, equal ones, and far beyond the clip radius."""
    x = torch.randn(16, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x[0], x[5], x[6], x[9] = 0, 1e4, 1e4, x[8]
    return x.to(dtype).requires_grad_()


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_finite_up_to_the_rim_with_both_derivatives_or_refused(name):
    settings = config_of(name)
    if settings is None:
        return
    loss = losses.build(name, embedding_dim=2, num_classes=4, **settings.loss_params)
    loss.curvature = settings.ball
    x = rows(torch.float32)
    value = loss(BALL.drawn(x), LABELS)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (second,) = torch.autograd.grad(slope.square().sum(), x, allow_unused=True)
    assert value.isfinite()
    assert slope.isfinite().all()
    assert second is None or second.isfinite().all()


@pytest.mark.parametrize("name", [name for name, spec in LOSSES.items() if spec.in_ball])
def test_a_loss_sees_distances_of_the_ball_alone(name):
    settings = config_of(name)
    loss = losses.build(name, embedding_dim=2, num_classes=4, **settings.loss_params).double()
    loss.curvature = settings.ball
    z = BALL.drawn(torch.randn(16, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    a = torch.tensor([0.5, -0.3], dtype=torch.float64)
    az, aa, zz = (z @ a)[:, None], a @ a, z.square().sum(1, keepdim=True)
    moved = ((1 + 2 * az + zz) * a + (1 - aa) * z) / (1 + 2 * az + aa * zz)
    assert loss(moved, LABELS).item() == pytest.approx(loss(z, LABELS).item(), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", MINERS)
def test_a_miner_takes_the_distances_or_is_refused(name):
    takers = [one for one, spec in LOSSES.items() if spec.in_ball and MINERS[name].tuple_kind in spec.tuple_kinds]
    if not MINERS[name].in_ball:
        with pytest.raises(UserError, match=f"{name} needs angles.*Poincaré ball.*another miner"):
            config(loss=takers[0], miner=name)
        return
    assert config(loss=takers[0], miner=name).ball == 1
    tuples = miners.build(name).mine(LabeledBatch(BALL.drawn(rows(torch.float32)), LABELS, curvature=1.0))
    assert all(len(part) for part in tuples)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"loss": "arcface"}, "arcface needs angles.*Poincaré ball has distances: choose another loss"),
        ({"loss": "triplet", "loss_params": {"distance": "cosine"}}, "triplet takes its distance"),
        ({"loss": "custom_pair", "loss_params": {"formula": "relu(1 - s) * y"}}, "custom_pair needs angles"),
        ({"loss": "weighted_sum", "loss_params": {"a": "triplet", "b": "softmax"}}, "softmax needs angles"),
        ({"normalize": True}, "normalize = true"),
        ({"projection_dim": 8}, "projection head"),
        ({"sampler": "anchor_neighbor", "loss": "triplet"}, "anchor_neighbor compares means"),
        ({"clip_radius": 5.0}, "at most 4 with a curvature of 1"),
    ],
)
def test_what_does_not_go_with_the_ball_is_said(settings, said):
    with pytest.raises(UserError, match=said):
        config(**settings)


def test_the_settings_of_the_ball_are_its_alone_and_give_way():
    with pytest.raises(UserError, match="of the Poincaré ball; got space = euclidean"):
        TrainConfig(dataset="digits", curvature=2.0)
    there = TrainConfig(dataset="digits").replace(space="poincare", curvature=2.0)
    assert (there.normalize, there.ball) == (False, 2.0)
    back = there.replace(space="euclidean", normalize=True)
    assert (back.curvature, back.id) == (1.0, TrainConfig(dataset="digits").id)
    assert not {"space", "curvature", "clip_radius"} & back.to_dict().keys()
