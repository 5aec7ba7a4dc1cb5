"""Nets for pairs: which weights two towers have in common, what a score sees; what a linear net has learned."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import dmlviz.nets
from dmlviz.errors import UserError
from dmlviz.nets import (
    CentralSurroundNet,
    DecisionNet,
    PairNet,
    SiameseNet,
    TripletNet,
    TwoChannelNet,
    TwoStreams,
    build,
    mahalanobis_matrix,
    templates,
)
from dmlviz.nets.pair_nets import central_half, half_resolution

IMAGES = torch.randn(4, 1, 16, 16, generator=torch.Generator().manual_seed(0))
LAYERS = ["0", "2", "5", "7"]  # those of `small` that have weights


def towers(shared: str) -> PairNet:
    return PairNet(build("small", size=16, seed=0), build("small", size=16, seed=1), shared)


@pytest.mark.parametrize(
    ("shared", "common"), [("all", LAYERS), ("first", LAYERS[:2]), ("last", LAYERS[2:]), ("none", [])]
)
def test_the_towers_share_the_layers_that_they_say(shared: str, common: list[str]) -> None:
    net = towers(shared)
    layers = [(name, net.a.body.get_submodule(name), net.b.body.get_submodule(name)) for name in LAYERS]
    assert [name for name, a, b in layers if a.weight is b.weight] == common
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    a, b = net(IMAGES, IMAGES.flip(0))
    (a * b.detach() + a.detach() * b.square()).sum().backward()
    optimizer.step()
    after = [name for name, a, b in layers if torch.equal(a.weight, b.weight)]
    assert after == common


def test_a_second_tower_is_a_copy_where_none_is_given() -> None:
    net = PairNet(build("small", size=16, seed=0), shared="none")
    a, b = net(IMAGES, IMAGES)
    assert torch.equal(a, b)
    assert not {id(weight) for weight in net.a.parameters()} & {id(weight) for weight in net.b.parameters()}


def test_siamese_and_triplet_nets_embed_every_image_by_one_net() -> None:
    net = build("mlp", size=16, seed=0)
    assert all(torch.equal(mine, net(IMAGES)) for mine in SiameseNet(net)(IMAGES, IMAGES))
    anchor, positive, negative = TripletNet(net)(IMAGES, IMAGES.flip(0), -IMAGES)
    assert torch.equal(anchor, net(IMAGES))
    assert torch.equal(positive, net(IMAGES.flip(0)))
    assert torch.equal(negative, net(-IMAGES))
    assert len(list(SiameseNet(net).parameters())) == len(list(net.parameters()))


def test_a_score_of_two_channels_is_that_of_the_stacked_images() -> None:
    body = nn.Sequential(nn.Flatten(), nn.Linear(2 * 256, 1))
    scores = TwoChannelNet(body)(IMAGES, IMAGES.flip(0))
    stacked = torch.stack([IMAGES[:, 0], IMAGES.flip(0)[:, 0]], dim=1)
    assert torch.equal(scores, body(stacked)[:, 0])


def test_the_streams_see_the_middle_and_the_whole() -> None:
    ramp = torch.arange(64.0).reshape(1, 1, 8, 8)
    assert torch.equal(central_half(ramp)[0, 0], ramp[0, 0, 2:6, 2:6])
    assert half_resolution(ramp)[0, 0, 0, 0] == ramp[0, 0, :2, :2].mean()
    stream = nn.Sequential(nn.Flatten(), nn.Linear(2 * 64, 3))
    assert CentralSurroundNet(stream, stream, 6)(IMAGES, IMAGES).shape == (4,)
    middle, whole = nn.Flatten(), nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
    joined = TwoStreams(middle, whole)(IMAGES)
    assert torch.equal(joined[:, :64], IMAGES[:, :, 4:12, 4:12].flatten(1))
    assert torch.equal(joined[:, 64:], whole(half_resolution(IMAGES)))
    descriptors = TwoStreams(middle, whole, normalize=True)(IMAGES)
    assert torch.allclose(descriptors, joined / joined.norm(dim=1, keepdim=True), atol=1e-6)


def test_a_decision_net_scores_pairs_and_not_images() -> None:
    net = DecisionNet(SiameseNet(build("mlp", embedding_dim=8, size=16, seed=0)), 8)
    scores = net(IMAGES, IMAGES.flip(0))
    assert scores.shape == (4,)
    assert torch.allclose(scores[:1], net(IMAGES[:1], IMAGES[3:]), atol=1e-6)


def test_towers_that_cannot_share_are_one_clear_sentence() -> None:
    with pytest.raises(UserError, match="all, first, last, none of their weights; got 'some'"):
        PairNet(build("mlp"), shared="some")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="built alike; got 4 layers with weights and 3"):
        PairNet(build("small"), build("mlp"), shared="last")


def test_a_linear_net_is_a_mahalanobis_distance_and_its_rows_are_pictures() -> None:
    net = build("linear", embedding_dim=5, normalize=False, size=16, seed=0)
    x, y = IMAGES.flatten(1)[0].numpy(), IMAGES.flatten(1)[1].numpy()
    with torch.inference_mode():
        a, b = net(IMAGES[:2])
    expected = (x - y) @ mahalanobis_matrix(net) @ (x - y)
    assert np.isclose(float((a - b).square().sum()), expected, rtol=1e-4)
    pictures = templates(net)
    assert pictures.shape == (5, 1, 16, 16)
    assert np.allclose((pictures[2, 0] * IMAGES[0, 0].numpy()).sum(), float(a[2]), atol=1e-5)


def test_only_one_matrix_has_templates() -> None:
    with pytest.raises(UserError, match="mlp has 3 layers"):
        templates(build("mlp"))
    with pytest.raises(UserError, match="this net's are normalized"):
        mahalanobis_matrix(build("linear", normalize=True))


@pytest.mark.slow
def test_the_names_are_listed_and_load_torch_only_when_asked_for() -> None:
    assert all(getattr(dmlviz.nets, name) is not None for name in dmlviz.nets.__all__)
    code = "import sys, dmlviz.nets; assert 'torch' not in sys.modules; dmlviz.nets.PairNet"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    with pytest.raises(AttributeError):
        dmlviz.nets.QuadrupletNet  # noqa: B018
