"""The picture of a net is that net: torch's shapes and numbers of weights, and what is shared."""

from itertools import combinations

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, relu
from torch.nn.utils.parametrizations import weight_norm

from dmlviz.catalog.losses import LOSSES
from dmlviz.errors import UserError
from dmlviz.labs import patches, two_domains
from dmlviz.labs.architectures import _FLOWS, CLASSES, DIM, SIZE, Episode, find, loss_flow
from dmlviz.losses import build as build_loss
from dmlviz.nets import NETS, PairNet, SiameseNet, TripletNet, build, describe
from dmlviz.plugins import net as plugged

QUICK = [name for name in NETS if name != "resnet18"]


def images(*shape, n=2):
    return torch.rand(n, *shape, generator=torch.Generator().manual_seed(0))


def count(net):
    return sum(parameter.numel() for parameter in net.parameters())


def in_order(net, *inputs):
    """The output shapes and weights of torch's own layers, as torch's hooks see them."""
    seen = []
    layers = [layer for layer in net.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    hooks = [
        layer.register_forward_hook(lambda layer, _, result: seen.append((result.shape[1:], count(layer))))
        for layer in layers
    ]
    net(*inputs)
    for hook in hooks:
        hook.remove()
    return seen


def check(found, net):
    """What holds for any architecture."""
    assert found.weights == count(net)
    assert sum(layer.new for layer in found.layers) == found.weights
    picture = found.picture()
    assert len(picture["boxes"]) == len(picture["text"]) == len(found.layers)
    for one, other in combinations(picture["boxes"], 2):
        apart = abs(one["x"] - other["x"]) >= picture["box"]
        upper, lower = sorted((one, other), key=lambda box: box["y"])
        assert apart or upper["y"] + upper["height"] < lower["y"]
    assert all(0 <= box["x"] <= picture["width"] - picture["box"] for box in picture["boxes"])
    assert all(layer.words[0] in line for layer, line in zip(found.layers, picture["text"], strict=True))
    assert found._repr_svg_().count("<rect") == len(found.layers)


@pytest.mark.parametrize(
    ("name", "channels", "size"),
    [
        *((name, *each) for name in QUICK for each in [(1, 8), (1, 28), (3, 32)]),
        ("resnet18", 1, 28),
        ("resnet18", 3, 64),
    ],
)
def test_every_net_of_the_catalog_is_drawn_as_torch_counts_it(name, channels, size):
    net = build(name, embedding_dim=7, channels=channels, size=size, seed=0)
    x = images(channels, size, size)
    found = describe(net, x, names=["image"])
    check(found, net)
    assert found.layers[0].shape == (channels, size, size)
    assert found.layers[-1].shape == (7,)
    assert found.layers[-1].words[-1] == "length 1"
    assert [layer.words for layer in describe(net, 0 * x, names=["image"]).layers] == [
        layer.words for layer in found.layers
    ]
    if name == "resnet18":  # by its blocks
        assert sum("BasicBlock" in layer.words[0] for layer in found.layers) == 8
        return
    expected = in_order(net, x)
    drawn = [layer for layer in found.layers if layer.weights]
    assert len(drawn) == len(expected)
    for layer, (shape, weights) in zip(drawn, expected, strict=True):
        assert layer.weights >= weights  # with those of a PReLU or of batch normalization
        assert layer.shape == tuple(shape) or "pooling" in ", ".join(layer.words)
        assert str(shape[0]) in layer.words[0]


@pytest.mark.parametrize("shared", ["all", "first", "last", "none"])
def test_what_two_towers_share_is_found_by_the_identity_of_their_weights(shared):
    net = PairNet(build("small", size=16, seed=0), build("small", size=16, seed=1), shared)
    found = describe(net, images(1, 16, 16), images(1, 16, 16))
    check(found, net)
    drawn = [layer for layer in found.layers if layer.weights]
    expected = [shared in ("all", "first")] * 2 + [shared in ("all", "last")] * 2
    assert [found.layers[other.same] is one for one, other in zip(drawn[:4], drawn[4:], strict=True)] == expected
    assert [other.new == 0 for other in drawn[4:]] == expected
    assert len(found.picture()["ties"]) == sum(expected)
    assert ("the same weights as" in str(found)) == (shared != "none")


def test_equal_weights_are_not_shared_and_a_copy_is_its_own():
    net = PairNet(build("mlp", size=16, seed=0), build("mlp", size=16, seed=0), "none")
    assert describe(net, images(1, 16, 16), images(1, 16, 16)).picture()["ties"] == []


def test_a_siamese_and_a_triplet_net_count_their_weights_once():
    net = build("lenet", seed=0)
    for many, number in ((SiameseNet(net), 2), (TripletNet(net), 3)):
        found = describe(many, *[images(1, 28, 28)] * number)
        check(found, many)
        assert sum(layer.weights for layer in found.layers) == number * found.weights
        assert {layer.shape for layer in found.layers if not layer.inputs} == {(1, 28, 28)}


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), weight_norm(nn.Linear(6, 6))
        self.scale, self.unused = nn.Parameter(torch.ones(6)), nn.Parameter(torch.ones(3))
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(x + relu(self.second(self.act(self.first(x))))) * self.scale


def test_any_module_of_torch_is_described_functions_raw_weights_and_what_is_unused_included():
    net = Residual()
    found = describe(net, images(6))
    assert found.weights == count(net) == sum(layer.new for layer in found.layers) + 3
    assert "3 of them are not used here" in found.summary
    words = [", ".join(layer.words) for layer in found.layers]
    assert words == ["input", "linear, 6, ReLU", "linear, 6, ReLU", "sum, ReLU", "output"]
    assert [layer.inputs for layer in found.layers] == [(), (0,), (1,), (0, 2), (3,)]
    assert found.layers[-1].weights == 6
    assert net.training
    assert not net.first._forward_hooks


@pytest.mark.parametrize(
    ("net", "shape"),
    [
        (nn.Linear(4, 2), (4,)),
        (nn.LSTM(4, 8, batch_first=True), (5, 4)),
        (
            nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, norm_first=True), 2, enable_nested_tensor=False),
            (5, 8),
        ),
        (nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(40)]), (4,)),
        (nn.Identity(), (4,)),
    ],
    ids=["one layer", "recurrent", "transformer", "forty blocks", "nothing"],
)
def test_nets_of_other_kinds_are_described(net, shape):
    check(describe(net, images(*shape)), net)


def test_a_net_that_cannot_be_run_is_one_sentence_and_stays_as_it_was():
    net = nn.Sequential(nn.Linear(4, 2), nn.Linear(3, 2))
    with pytest.raises(UserError, match=r"running it; Sequential fails with 2 × 4: .* Call it with inputs"):
        describe(net, images(4))
    assert net.training
    assert not any(layer._forward_hooks for layer in net)


def test_a_net_of_a_plug_in_is_drawn_as_one_of_the_catalog():
    @plugged(title="Own", summary="A body of one's own.")
    def drawn_net(channels, size, embedding_dim):
        return nn.Sequential(nn.Flatten(), nn.Linear(channels * size**2, embedding_dim))

    try:
        found = find("net", "drawn_net", embedding_dim=5, size=12, channels=3)
        assert found.title == "Own"
        assert [layer.shape for layer in found.layers] == [(3, 12, 12), (5,)]
        assert found.weights == 3 * 144 * 5 + 5
    finally:
        NETS.remove("drawn_net")


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_has_a_flow_with_its_own_weights(name):
    flow, names = loss_flow(name)
    found = find("loss", name)
    check(found, flow)
    assert [layer.words[0] for layer in found.layers if not layer.inputs] == list(names)
    assert found.layers[-1].shape == ()


@pytest.mark.parametrize("name", sorted(set(_FLOWS) - {"softmax"}))
def test_the_steps_of_a_flow_give_the_loss_of_dmlviz(name):
    flow, names = loss_flow(name)
    n = 2 * len(names)
    x = torch.nn.functional.normalize(torch.randn(n, DIM, generator=torch.Generator().manual_seed(1)))
    loss = build_loss(name, embedding_dim=DIM, num_classes=CLASSES)
    labels = torch.arange(n) if len(names) == 1 else torch.arange(2).repeat(2)
    if len(names) == 2:
        loss = build_loss(name, support=1)
    value = flow.end(*x.chunk(len(names)))
    torch.testing.assert_close(value, loss(x, labels).to(value.dtype), rtol=1e-5, atol=1e-6)


def test_softmax_is_drawn_with_the_layers_of_lectures():
    flow, _ = loss_flow("softmax")
    found = [", ".join(layer.words) for layer in find("loss", "softmax").layers[-3:]]
    assert found == ["linear, 2, PReLU", "linear, 10", "softmax, cross-entropy"]
    x = flow.net(images(1, SIZE, SIZE))
    expected = cross_entropy(flow.end[1](flow.end[0](x)), torch.arange(2))
    assert torch.equal(flow.end(x), expected)


@pytest.mark.parametrize("name", patches.NETS[1:])
def test_each_net_for_patches_is_drawn_with_what_it_shares(name):
    found = find("patches", name)
    ties = len(found.picture()["ties"])
    assert ties == {"siam": 4, "siam-l2": 4, "first-shared": 2, "siam-2stream": 8, "siam-2stream-l2": 8}.get(name, 0)
    assert sum(layer.new for layer in found.layers) == found.weights


def test_each_variant_of_two_towers_is_drawn_with_what_it_shares():
    ties = {name: len(find("two-domains", name).picture()["ties"]) for name in [*two_domains.VARIANTS][1:]}
    shared = {"all": 4, "first": 2, "last": 2}
    assert ties == {name: shared.get(two_domains.VARIANTS[name].shared, 0) for name in ties}


def test_the_nets_of_papers_have_the_sizes_that_they_print():
    siamfc = find("paper", "siamfc")
    assert siamfc.layers[-1].shape == (1, 17, 17)
    assert {(256, 6, 6), (256, 22, 22)} <= {layer.shape for layer in siamfc.layers}
    inception = find("paper", "inception-l2")
    assert inception.layers[-1].shape == (256, 28, 28)
    assert any("L2 pooling" in layer.words[0] for layer in inception.layers)
    assert isinstance(loss_flow("prototypical")[0].end, Episode)


def test_an_unknown_architecture_is_one_clear_sentence():
    with pytest.raises(UserError, match="An architecture is of a net, loss, patches, two-domains, paper; got 'x'"):
        find("x", "y")
    with pytest.raises(UserError, match="There is no architecture called 'siam2'"):
        find("patches", "siam2")
