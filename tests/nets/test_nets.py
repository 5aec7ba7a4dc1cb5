"""Properties of every embedding net."""

import sys

import pytest
import torch
from torch import nn

from dmlviz.catalog.backbones import BACKBONES
from dmlviz.errors import UserError
from dmlviz.integrations import prepare_import
from dmlviz.nets import NETS, backbones, build
from dmlviz.nets.models import PooledPReLU, registry

QUICK = [name for name in NETS if name != "resnet18"]


def test_every_declared_net_is_implemented_and_no_other() -> None:
    assert set(registry) == set(NETS)


SHAPES = [
    (name, channels, size, normalize)
    for name in QUICK
    for channels, size in [(1, 8), (1, 15), (1, 16), (1, 28), (3, 32), (3, 64)]
    for normalize in (True, False)
]


@pytest.mark.parametrize(
    ("name", "channels", "size", "normalize"), [*SHAPES, ("resnet18", 1, 8, True), ("resnet18", 3, 64, False)]
)
def test_any_image_gives_an_embedding_of_the_asked_dimension(
    name: str, channels: int, size: int, normalize: bool
) -> None:
    net = build(name, embedding_dim=5, normalize=normalize, channels=channels, size=size, seed=0)
    images = torch.randn(4, channels, size, size, generator=torch.Generator().manual_seed(0))
    embeddings = net(images)
    assert embeddings.shape == (4, 5)
    lengths = embeddings.norm(dim=1)
    assert torch.allclose(lengths, torch.ones(4), atol=1e-6) == normalize
    embeddings.sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


@pytest.mark.parametrize("name", QUICK)
def test_one_image_embeds_as_it_does_among_others(name: str) -> None:
    net = build(name, seed=0).eval()
    images = torch.randn(3, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert torch.allclose(net(images)[1:2], net(images[1:2]), atol=1e-5)
        assert net(images[:0]).shape == (0, 64)


@pytest.mark.parametrize("name", QUICK)
def test_the_seed_decides_the_first_weights_and_leaves_torchs_alone(name: str) -> None:
    before = torch.random.get_rng_state()
    first, again, other = (build(name, seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


def test_without_a_seed_torchs_own_state_decides() -> None:
    torch.manual_seed(3)
    first = build("mlp").state_dict()
    torch.manual_seed(3)
    again = build("mlp").state_dict()
    assert all(torch.equal(first[key], again[key]) for key in first)


def test_an_embedding_of_zero_stays_zero_and_has_a_finite_gradient() -> None:
    net = build("small", seed=0)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
    embeddings = net(torch.zeros(2, 1, 28, 28))
    assert torch.equal(embeddings, torch.zeros(2, 64))
    embeddings.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in net.parameters() if parameter.grad is not None)


def test_small_is_small() -> None:
    count = sum(parameter.numel() for parameter in build("small").parameters())
    assert 150_000 < count < 160_000


def test_lenet_is_the_classical_net() -> None:
    shapes = [tuple(parameter.shape) for parameter in build("lenet").parameters() if parameter.ndim > 1]
    assert shapes == [(32, 1, 5, 5), (64, 32, 5, 5), (256, 1024), (256, 256), (64, 256)]


@pytest.mark.parametrize("slope", [0.25, 0.0, -0.3])
def test_pooling_before_prelu_gives_the_value_and_gradient_of_pooling_after_it(slope: float) -> None:
    ours, plain = PooledPReLU(), nn.Sequential(nn.PReLU(), nn.MaxPool2d(2))
    nn.init.constant_(ours.weight, slope)
    nn.init.constant_(plain[0].weight, slope)
    x = torch.randn(3, 4, 9, 9, generator=torch.Generator().manual_seed(0))
    results = []
    for layer, weight in ((ours, ours.weight), (plain, plain[0].weight)):
        inputs = x.clone().requires_grad_()
        outputs = layer(inputs)
        results.append((outputs, *torch.autograd.grad(outputs.square().sum(), (inputs, weight))))
    for mine, theirs in zip(*results, strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-5)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"size": 7}, "8 × 8 pixels or more.*got 1 channels, 7 × 7 pixels"),
        ({"channels": 2}, "1 or 3 channels.*got 2 channels"),
        ({"embedding_dim": 0}, "got 1 channels, 28 × 28 pixels, 0 dimensions"),
    ],
)
def test_a_net_that_cannot_be_is_one_clear_sentence(wrong: dict[str, int], says: str) -> None:
    with pytest.raises(UserError, match=says):
        build("small", **wrong)


def test_an_unknown_net_is_answered_with_a_near_one() -> None:
    with pytest.raises(UserError, match="did you mean 'lenet'"):
        build("lnet")


def test_images_of_another_size_are_refused_with_both_sizes() -> None:
    with pytest.raises(UserError, match=r"This mlp takes images of 1 × 28 × 28 .*; got 1 × 8 × 8"):
        build("mlp")(torch.zeros(2, 1, 8, 8))


def test_torchvision_loads_beside_a_cpu_build_of_torch_and_twice_is_once() -> None:
    from dmlviz.nets.torchvision_operators import register_missing

    register_missing()
    register_missing()
    import torchvision.models

    assert torchvision.models.resnet18 is not None


BROKEN = {
    "is not installed": "raise ModuleNotFoundError(name='torchvision')",
    "does not fit torch": "import torch; torch.library.of_another_torch",
    "undefined symbol": "raise ImportError('_C.so: undefined symbol: _ZN3c10')",
    "nms does not exist": "raise RuntimeError('operator torchvision::nms does not exist')",
}


@pytest.mark.parametrize("says", BROKEN)
def test_without_a_torchvision_that_fits_only_what_is_its_own_is_refused(monkeypatch, tmp_path, says):
    (tmp_path / "torchvision.py").write_text(BROKEN[says])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("dmlviz.nets.torchvision_operators._library", None)
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        monkeypatch.delitem(sys.modules, name)
    assert build("small", embedding_dim=2)(torch.zeros(1, 1, 28, 28)).shape == (1, 2)
    for use in (lambda: build("resnet18", embedding_dim=2), lambda: backbones.download_weights(BACKBONES["resnet18"])):
        with pytest.raises(UserError, match=rf"{says}.*: pip install 'dmlviz\[torchvision\]'"):
            use()
    prepare_import("numpy")  # whoever imports torchvision only where it is there, is not in need of it
