"""The optimizer and its schedule are torch's, with the groups and the rates that the config asks for."""

import math

import pytest
import torch
from torch import nn

from dmlviz.config import TrainConfig
from dmlviz.training.optimizers import build_optimizer, build_schedule, eager
from dmlviz.training.trainer import StepStats, Trainer

STEPS = 30
RATES = {
    "constant": lambda step: 1.0,
    "cosine": lambda step: 0.5 * (1 + math.cos(math.pi * step / STEPS)),
    "linear": lambda step: 1 - step / STEPS,
    "step": lambda step: 0.1 ** (step // 10),
    "epochs": lambda step: 0.5 ** (step // 8),  # twice 4 batches of 160 of 700 images
}


def config(**fields):
    return TrainConfig(dataset="digits", steps=STEPS, **fields)


@pytest.mark.parametrize("warmup", [0, 1, 12])
@pytest.mark.parametrize("schedule", RATES)
def test_the_learning_rate_follows_the_schedule_after_a_warm_up(schedule, warmup):
    more = (
        {"schedule": "step", "decay_epochs": 2, "decay_factor": 0.5} if schedule == "epochs" else {"schedule": schedule}
    )
    settings = config(**more, optimizer="sgd", learning_rate=0.5, warmup_steps=warmup)
    optimizer = build_optimizer(settings, nn.Linear(2, 2), nn.Module())
    learning_rate = build_schedule(settings, optimizer, 700)
    rates = []
    for _ in range(STEPS):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        learning_rate.step()
    rising = [min(1.0, (step + 1) / (warmup + 1)) for step in range(STEPS)]
    assert rates == pytest.approx([0.5 * RATES[schedule](step) * rising[step] for step in range(STEPS)], abs=1e-9)


@pytest.mark.parametrize(("name", "kind"), [("adam", "Adam"), ("sgd", "SGD"), ("rmsprop", "RMSprop")])
def test_loss_parameters_have_their_own_learning_rate_and_no_weight_decay(name, kind):
    settings = config(optimizer=name, learning_rate=0.1, loss_learning_rate=0.3, weight_decay=0.01, momentum=0.8)
    optimizer = build_optimizer(settings, nn.Linear(3, 2), nn.Linear(2, 5))
    assert type(optimizer).__name__ == kind
    net, loss = optimizer.param_groups
    assert (net["lr"], net["weight_decay"]) == (0.1, 0.01)
    assert (loss["lr"], loss["weight_decay"]) == (0.3, 0.0)
    assert net.get("momentum", 0) == (0.8 if name == "sgd" else 0)


@pytest.mark.parametrize("frozen", [True, False])
def test_frozen_batch_norm_stays_bit_for_bit_while_all_else_learns(digits, frozen):
    settings = config(net="protonet", frozen_batch_norm=frozen, classes_per_batch=4, images_per_class=4)
    trainer = Trainer(settings, digits, torch.device("cpu"))
    before = {name: value.clone() for name, value in trainer.net.state_dict().items()}
    for step in range(1, 4):
        trainer.train_step(step, record=True)
        assert trainer.record_batch(step, StepStats(0, 0, 0, 0, 1, 1)) is not None
    of_batch_norm = {
        f"{layer}.{name}"
        for layer, module in trainer.net.named_modules()
        if isinstance(module, nn.BatchNorm2d)
        for name in module.state_dict()
    }
    moved = {name for name, value in trainer.net.state_dict().items() if not torch.equal(before[name], value)}
    assert len(of_batch_norm) == 4 * 5
    assert moved == set(before) - of_batch_norm if frozen else moved == set(before)


@pytest.mark.parametrize("name", ["adam", "sgd", "rmsprop"])
def test_every_optimizer_decreases_a_convex_loss(name):
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    optimizer = build_optimizer(config(optimizer=name, learning_rate=0.05), net, nn.Module())
    x, y = torch.randn(64, 4), torch.randn(64, 1)
    first = last = (net(x) - y).square().mean().item()
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = (net(x) - y).square().mean()
        value.backward()
        optimizer.step()
        last = value.item()
    assert last < 0.8 * first


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SGD, torch.optim.RMSprop])
def test_the_steps_are_those_of_torch_bit_for_bit(kind):
    weights = []
    for optimizer_class in (kind, eager(kind)):
        torch.manual_seed(0)
        net = nn.Linear(4, 3)
        optimizer = optimizer_class(net.parameters(), lr=0.01, weight_decay=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).square().sum().backward()
            optimizer.step()
        weights.append(net.weight)
    assert torch.equal(*weights)
