"""The programs of a training step, which pages run: what they compute is what torch computes."""

import base64
import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dmlviz import losses, miners, nets
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.export import training_program
from dmlviz.export.playground import objectives, pack_objectives
from dmlviz.export.program.operations import is_known
from dmlviz.export.program.trace import trace
from dmlviz.export.program.training import embedding_program, net_programs, objective_program, update
from dmlviz.export.program.writer import Program, write_program
from dmlviz.miners.base import Miner, MinerBatch
from dmlviz.miners.tuples import FixedTriplets, Pairs, Triplets
from dmlviz.ops.fixed_path import fixed_path
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.training.optimizers import build_optimizer, build_schedule

STEPS = 8
TRIPLET_MINERS = ("hardest_negative", "semihard_nearest", "batch_hard", "easy_positive")
PAIR_MINERS = ("all_pairs", "hard_negative_pairs")
# Miners whose number of tuples depends on values: a program marks those that are selected.
MASKED = [("triplet", "random_hard_negative"), ("triplet_soft", "semihard_random"), ("angular", "distance_weighted")]
MASKED += [("triplet_ratio", "distance_weighted"), ("contrastive", "multi_similarity"), ("lifted", "multi_similarity")]
MASKED += [("multi_similarity", "multi_similarity")]


def config_of(loss: str, miner: str | None = None, **settings: Any) -> TrainConfig:
    """Return settings for small batches of digits."""
    chosen = {"dataset": "digits", "net": "mlp", "embedding_dim": 16, "images_per_class": 8} | settings
    return TrainConfig(loss=loss, miner=miner, **chosen)


def as_text(tensor: Tensor) -> str:
    return base64.b64encode(tensor.detach().float().contiguous().numpy().tobytes()).decode()


def packed(
    program: Program, runs: list[dict[str, Tensor]], plain: bool = False, random: list[float] | None = None
) -> dict[str, Any]:
    """Return what frontend/test/scripts/programs.js takes."""
    return {
        "program": program.described,
        "constants": [base64.b64encode(array.tobytes()).decode() for array in program.constants],
        "runs": [{name: as_text(value) for name, value in run.items()} for run in runs],
        "plain": plain,
        "random": random,
    }


def mined(mine: Miner, embeddings: Tensor, labels: Tensor) -> Pairs | Triplets:
    """Return the tuples of a miner, by the random numbers that a program draws for all that might be selected."""
    tuples = mine(embeddings, labels)
    if mine.name not in {miner for _, miner in MASKED} or isinstance(tuples, Pairs):
        return tuples
    with fixed_path():
        fixed = mine(embeddings, labels)
    assert isinstance(fixed, FixedTriplets)
    a, p, n = (each[fixed.kept] for each in fixed)
    assert torch.equal(a, tuples.a)
    assert torch.equal(p, tuples.p)
    return Triplets(a, p, n)


def steps_of(config: TrainConfig) -> list[tuple[dict[str, Tensor], dict[str, Tensor]]]:
    """Train a net for some steps; return the inputs of its objective at each, and what torch makes of them."""
    torch.manual_seed(0)
    net = nets.build(config.net, embedding_dim=16, channels=1, size=8, seed=0)
    loss = losses.build(config.loss, embedding_dim=16, num_classes=10, **config.loss_params)
    mine = miners.build(config.miner) if config.miner else None
    split = load("digits").train
    labels = torch.arange(10).repeat_interleave(8)
    optimizer = torch.optim.Adam([*net.parameters(), *loss.parameters()], lr=2e-3)
    members = [np.flatnonzero(split.labels == label) for label in range(10)]
    steps = []
    rng = np.random.default_rng(0)
    for _ in range(STEPS):
        rows = np.concatenate([rng.choice(images, 8, replace=False) for images in members])
        embeddings = net(torch.from_numpy(split.images[rows]).float()[:, None] / 255)
        embeddings.retain_grad()
        weights = {name: value.detach().clone() for name, value in loss.named_parameters()}
        value = loss(embeddings, labels, mined(mine, embeddings.detach(), labels) if mine else None)
        optimizer.zero_grad()
        value.backward()
        found = {"loss": value.detach(), "gradient": embeddings.grad}
        found |= {f"gradient.{k}": v.grad.clone() for k, v in loss.named_parameters() if v.grad is not None}
        steps.append(({"embeddings": embeddings.detach().clone(), **weights}, found))
        optimizer.step()
    return steps


def assert_equal(what: str, expected: list[dict[str, Tensor]], got: list[dict[str, str]]) -> None:
    """Compare to 1e-5 of a result's length, and to the rounding of float32 numbers near 1, of which losses are sums."""
    # Where terms lie within rounding of their hinge, values are right and either gradient is: by tuple_hinge embeddings
    # come so near (cosines of .9998) that two negatives tie within 1e-8, which float32 cannot tell apart.
    kinks = 0
    for step, (right, given) in enumerate(zip(expected, got, strict=True)):
        for name, value in right.items():
            found, wanted = np.frombuffer(base64.b64decode(given[name]), np.float32), value.numpy().ravel()
            difference, length = np.linalg.norm(found - wanted), np.linalg.norm(wanted)
            if difference > 1e-5 * length + 1e-7:
                kinks += 1
                assert (name, kinks <= 2) == ("gradient", True), (what, name, step, difference, length)
                assert difference <= 0.03 * length, (what, name, step, difference, length)


EXPORTABLE = [name for name in LOSSES if name not in ("hierarchical_triplet", "adaface", "sigreg")]


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [EXPORTABLE[i::4] for i in range(4)], ids=lambda names: names[0])
def test_a_page_computes_each_loss_and_its_gradients_as_torch_does(
    at_once: list[str], page_script: Callable[..., Any]
) -> None:
    trained = {name: steps_of(config_of(name)) for name in at_once}
    given = [packed(objective_program(config_of(name))[0], [each[0] for each in trained[name]]) for name in at_once]
    for (name, steps), got in zip(trained.items(), page_script("programs", given), strict=True):
        assert_equal(name, [found for _, found in steps], got)


@pytest.mark.slow
def test_a_page_selects_what_the_miners_select(page_script: Callable[..., Any]) -> None:
    chosen = [("triplet", miner) for miner in TRIPLET_MINERS] + [("contrastive", miner) for miner in PAIR_MINERS]
    trained = {pair: steps_of(config_of(*pair)) for pair in chosen}
    given = [packed(objective_program(config_of(*pair))[0], [each[0] for each in trained[pair]]) for pair in chosen]
    for (pair, steps), got in zip(trained.items(), page_script("programs", given), strict=True):
        assert_equal(" with ".join(pair), [found for _, found in steps], got)


@pytest.mark.slow
def test_a_page_marks_as_many_tuples_as_the_miners_select(
    page_script: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.random.default_rng(0).random(10 * 8 * 7)  # one for each positive pair
    monkeypatch.setattr(MinerBatch, "rand", lambda self, count: torch.from_numpy(numbers[:count]))
    trained = {pair: steps_of(config_of(*pair)) for pair in MASKED}
    given = [
        packed(objective_program(config_of(*pair))[0], [each[0] for each in steps], random=numbers.tolist())
        for pair, steps in trained.items()
    ]
    for (pair, steps), got in zip(trained.items(), page_script("programs", given), strict=True):
        assert_equal(" with ".join(pair), [found for _, found in steps], got)


def test_a_loss_that_takes_tuples_one_by_one_refuses_those_that_may_not_be_selected() -> None:
    with pytest.raises(UserError, match="It takes tuples one by one whose number"):
        objective_program(config_of("n_pairs", "multi_similarity"))


@pytest.mark.slow
@pytest.mark.parametrize("plain", [False, True], ids=["vector instructions", "plain code"])
def test_a_page_embeds_and_differentiates_as_the_net_does(plain: bool, page_script: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    given, right = [], []
    kinds = [("mlp", "digits", 8), ("small", "digits", 8), ("lenet", "digits", 8), ("linear", "digits", 8)]
    for name, dataset, side in [*kinds, ("mlp", "blobs", 28)]:
        config = config_of("nt_xent", net=name, dataset=dataset)
        program, _, weights = net_programs(config)
        net = nets.build(name, embedding_dim=16, channels=1, size=side, seed=0, of_points=side == 28)
        images = torch.rand(config.effective_batch_size, 1, side, side)
        gradient = torch.randn(len(images), 16)
        embeddings = net(images)
        embeddings.backward(gradient)
        found = {"embeddings": embeddings.detach()}
        found |= {f"gradient.{key}": value.grad for key, value in net.named_parameters() if value.grad is not None}
        inputs = {key: torch.from_numpy(value) for key, value in weights.items()}
        given.append(packed(program, [inputs | {"images": images, "gradient": gradient}], plain))
        right.append((name, [found]))
    for (name, steps), got in zip(right, page_script("programs", given), strict=True):
        assert_equal(name, steps, got)


@pytest.mark.slow
def test_a_page_trains_in_a_poincare_ball_as_torch_does(page_script: Callable[..., Any]) -> None:
    config = config_of("triplet", embedding_dim=2, space="poincare")
    step, _, weights = net_programs(config)
    objective, _ = objective_program(config)
    ball = {"normalize": False, "curvature": 1.0, "clip_radius": config.clip_radius}
    net = nets.build("mlp", embedding_dim=2, channels=1, size=8, seed=0, **ball)
    images = 9 * torch.rand(config.effective_batch_size, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    embeddings = net(images)
    embeddings.retain_grad()
    labels = torch.arange(10).repeat_interleave(8)
    loss = losses.build("triplet", embedding_dim=2, num_classes=10)
    value = loss.compute(LabeledBatch(embeddings, labels, curvature=1.0), None)
    value.backward()
    gradient = embeddings.grad
    assert gradient is not None
    found = {"embeddings": embeddings.detach()} | {f"gradient.{k}": v.grad for k, v in net.named_parameters()}
    inputs = {key: torch.from_numpy(one) for key, one in weights.items()} | {"images": images, "gradient": gradient}
    given = [packed(step, [inputs]), packed(objective, [{"embeddings": embeddings}])]
    of_net, of_loss = page_script("programs", given)
    assert_equal("net", [found], of_net)
    assert_equal("loss", [{"loss": value.detach(), "gradient": gradient}], of_loss)


@pytest.mark.slow
def test_batch_norm_keeps_its_statistics_as_torch_does(page_script: Callable[..., Any]) -> None:
    program, _, weights = net_programs(config_of("nt_xent", dataset="mnist", net="protonet", images_per_class=2))
    net = nets.build("protonet", embedding_dim=16, channels=1, size=28, seed=0).train()
    images, gradient = torch.rand(20, 1, 28, 28), torch.randn(20, 16)
    embeddings = net(images)
    embeddings.backward(gradient)
    found = {"embeddings": embeddings.detach()}
    found |= {f"new.{key}": value for key, value in net.named_buffers() if value.is_floating_point()}
    found |= {f"gradient.{key}": value.grad for key, value in net.named_parameters() if value.grad is not None}
    inputs = {key: torch.from_numpy(value) for key, value in weights.items()}
    given = [packed(program, [inputs | {"images": images, "gradient": gradient}])]
    got = page_script("programs", given)[0][0]
    longest = max(float(right.norm()) for right in found.values())
    for name, right in found.items():
        value = np.frombuffer(base64.b64decode(got[name]), np.float32)
        near = 1e-4 * float(right.norm()) + 1e-5 * longest  # a bias before batch norm has no gradient but for rounding
        assert np.linalg.norm(value - right.numpy().ravel()) <= near, name
    assert got["new.body.1.num_batches_tracked"] == as_text(torch.ones(()))


@pytest.mark.slow
def test_a_page_embeds_with_every_layer_as_torch_does(page_script: Callable[..., Any]) -> None:
    given, right = [], []
    for name, size in (("lenet", 28), ("protonet", 16), ("mlp", 8), ("resnet18", 8)):
        net = nets.build(name, embedding_dim=8, size=size, seed=0)
        if name == "resnet18":  # its own 45 MB would take minutes; the same blocks, an eighth as wide
            net.body = torch.nn.Sequential(*_narrow_resnet())
        for buffer in net.buffers():
            if buffer.dtype.is_floating_point:
                buffer.uniform_(0.5, 1.5)
        program, weights = embedding_program(net.eval(), 1, net.image)
        image = torch.rand(1, 1, size, size, generator=torch.Generator().manual_seed(1))
        inputs = {key: torch.from_numpy(one) for key, one in weights.items()}
        given.append(packed(program, [inputs | {"images": image}]))
        with torch.inference_mode():
            right.append((name, [{"embeddings": net(image)}]))
    for (name, steps), got in zip(right, page_script("programs", given), strict=True):
        assert_equal(name, steps, got)


def _narrow_resnet() -> list[torch.nn.Module]:
    from torchvision.models.resnet import BasicBlock

    halved = torch.nn.Sequential(torch.nn.Conv2d(8, 16, 1, 2, bias=False), torch.nn.BatchNorm2d(16))
    return [
        torch.nn.Conv2d(1, 8, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        BasicBlock(8, 8),
        BasicBlock(8, 16, 2, halved),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(16, 8),
    ]


@pytest.mark.slow
def test_a_page_can_train_with_most_of_the_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # no program waits until torch's compiler is imported
    programs = [*objectives(config_of("nt_xent"))]
    can = {(config.loss, config.miner) for config, _, _ in programs}
    assert len(pack_objectives(config_of("nt_xent"), programs)) < 400_000
    assert {loss for loss, _ in can} == set(EXPORTABLE)
    assert len(EXPORTABLE) >= 38
    assert {miner for _, miner in can if miner} == {miner for miner in MINERS if miner != "offline_hard"}
    assert len(MINERS) == 13


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"loss": "hierarchical_triplet"}, "looks at all training images between batches"),
        (
            {"loss": "adaface", "sampler": "balanced"},
            "adaface keeps numbers from batch to batch; a program sees one batch",
        ),
        ({"loss": "triplet", "miner": "offline_hard"}, "offline_hard looks at all training images"),
        ({"loss": "nt_xent", "sampler": "shuffled"}, "draws balanced batches; got the sampler shuffled"),
        ({"loss": "nt_xent", "label_noise": 0.1}, "got label_noise: leave it out"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_a_page_cannot_do_is_refused_with_the_reason(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError) as refusal:
        training_program(config_of(**settings))
    assert reason in str(refusal.value)


def test_a_plug_in_that_takes_values_out_of_torch_is_refused() -> None:
    def looks(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"sum": inputs["x"] * float(inputs["x"].numpy().sum())}

    def branches(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"sum": inputs["x"] if inputs["x"].sum() > 0 else -inputs["x"]}

    for function in (looks, branches):
        with pytest.raises(UserError, match="looks at values"):
            trace(function, {"x": torch.ones(3)}, is_known)


def test_a_plug_in_whose_number_of_tuples_depends_on_values_is_refused() -> None:
    with pytest.raises(UserError, match="depends on values; the arrays of a program have fixed sizes"):
        trace(lambda inputs: {"chosen": inputs["x"][inputs["x"] > 0]}, {"x": torch.ones(3)}, is_known)


def test_torch_has_the_private_names_by_which_a_step_is_traced() -> None:
    moved = "torch {} has no {} any more: find what took its place, and use it in dmlviz/export/program/trace.py"
    for module, name in (
        ("torch._decomp", "decomposition_table"),
        ("torch.utils._python_dispatch", "TorchDispatchMode"),
    ):
        found = importlib.util.find_spec(module) and hasattr(importlib.import_module(module), name)
        assert found, moved.format(torch.__version__, f"{module}.{name}")
    table = importlib.import_module("torch._decomp").decomposition_table
    needed = (torch.ops.aten._log_softmax.default, torch.ops.aten.threshold_backward.default)
    assert all(one in table for one in needed), moved.format(torch.__version__, "decomposition of softmax")


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_weights_follow_their_gradients_as_torchs_optimizers_have_them(
    schedule: str, page_script: Callable[..., Any]
) -> None:
    start, gradients = torch.randn(30), torch.randn(STEPS, 30)
    given, right = [], []
    for settings in ({}, {"weight_decay": 0.01}, {"optimizer": "sgd"}, {"optimizer": "sgd", "momentum": 0.9},
                     {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.1}, {"optimizer": "rmsprop"},
                     {"optimizer": "rmsprop", "weight_decay": 0.1}):  # fmt: skip
        config = config_of("nt_xent", learning_rate=0.02, steps=STEPS, schedule=schedule, **settings)
        net = torch.nn.ParameterDict({"weights": torch.nn.Parameter(start.clone())})
        optimizer = build_optimizer(config, net, torch.nn.Identity())
        rates, weights = build_schedule(config, optimizer, 1), []
        for gradient in gradients:
            net["weights"].grad = gradient.clone()
            optimizer.step()
            rates.step()
            weights.append(net["weights"].detach().numpy().copy())
        described = update(config)
        shares = described["rates"] * (STEPS if len(described["rates"]) == 1 else 1)
        given.append(
            {
                "optimizer": described["optimizer"],
                "settings": described["net"],
                "weights": start.tolist(),
                "gradients": gradients.tolist(),
                "rates": [config.learning_rate * share for share in shares],
            }
        )
        right.append(weights)
    for one, wanted, got in zip(given, right, page_script("optimizers", given), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6, err_msg=str(one["settings"]))


def test_a_program_leaves_out_what_no_result_needs_and_uses_memory_twice() -> None:
    def chain(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        _ = inputs["x"].exp()
        y = inputs["x"]
        for _ in range(10):
            y = y * 1.5 + 1
        return {"y": y}

    described = write_program(trace(chain, {"x": torch.ones(1000)}, is_known)).described
    assert [one["op"] for one in described["instructions"]] == ["mul", "add"] * 10
    assert described["size"] <= 3 * 4000 + 48


def test_the_update_of_a_program_has_the_rates_of_torchs_schedule() -> None:
    described = update(config_of("softmax", steps=4, schedule="linear", learning_rate=0.5, loss_learning_rate=0.1))
    assert described["rates"] == [1.0, 0.75, 0.5, 0.25]
    assert described["optimizer"] == "adam"
    assert described["net"]["betas"] == (0.9, 0.999)
    assert update(config_of("softmax", schedule="constant"))["rates"] == [1.0]
