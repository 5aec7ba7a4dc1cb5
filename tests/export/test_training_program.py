"""The programs of a training step, which pages run: what they compute is what torch computes."""

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dmlviz import losses, nets
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.export.program.training import net_programs, objective_program, training_program
from dmlviz.export.program.writer import Program

STEPS = 20
DETERMINISTIC = ("hardest_negative", "semihard_nearest", "batch_hard", "easy_positive", "all_pairs", "hard_negative_pairs")


def config_of(loss: str, miner: str | None = None, **settings: Any) -> TrainConfig:
    """Return settings for small batches of digits."""
    chosen = {"dataset": "digits", "net": "mlp", "embedding_dim": 16, "images_per_class": 8} | settings
    return TrainConfig(loss=loss, miner=miner, **chosen)


def text(tensor: Tensor) -> str:
    return base64.b64encode(tensor.detach().float().contiguous().numpy().tobytes()).decode()


def packed(program: Program, runs: list[dict[str, Tensor]], plain: bool = False) -> dict[str, Any]:
    """Return what frontend/test/scripts/programs.js takes."""
    return {
        "program": program.described,
        "constants": [base64.b64encode(array.tobytes()).decode() for array in program.constants],
        "runs": [{name: text(value) for name, value in run.items()} for run in runs],
        "plain": plain,
    }


def training(config: TrainConfig) -> list[tuple[dict[str, Tensor], dict[str, Tensor]]]:
    """Train a net for some steps; return the inputs of its objective at each, and what torch makes of them."""
    torch.manual_seed(0)
    net = nets.build(config.net, embedding_dim=16, channels=1, size=8, seed=0)
    loss = losses.build(config.loss, embedding_dim=16, num_classes=10, **config.loss_params)
    from dmlviz import miners

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
        value = loss(embeddings, labels, mine(embeddings.detach(), labels) if mine else None)
        optimizer.zero_grad()
        value.backward()
        found = {"loss": value.detach(), "gradient": embeddings.grad}
        found |= {f"gradient.{k}": v.grad.clone() for k, v in loss.named_parameters() if v.grad is not None}
        steps.append(({"embeddings": embeddings.detach().clone(), **weights}, found))
        optimizer.step()
    return steps


def assert_equal(expected: list[dict[str, Tensor]], got: list[dict[str, str]], tolerance: float = 1e-5) -> None:
    for step, (right, given) in enumerate(zip(expected, got, strict=True)):
        for name, value in right.items():
            found = np.frombuffer(base64.b64decode(given[name]), np.float32)
            wanted = value.numpy().ravel()
            difference = np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-6)
            assert difference <= tolerance, f"{name} of step {step} differs by {difference:.1e} of its length"


EXPORTABLE = [name for name in LOSSES if name != "hierarchical_triplet"]


@pytest.mark.slow
@pytest.mark.parametrize("losses_at_once", [EXPORTABLE[i::4] for i in range(4)], ids=lambda names: names[0])
def test_a_page_computes_each_loss_and_its_gradients_as_torch_does(
    losses_at_once: list[str], page_script: Callable[..., Any]
) -> None:
    trained = {name: training(config_of(name)) for name in losses_at_once}
    given = [
        packed(objective_program(config_of(name))[0], [inputs for inputs, _ in steps])
        for name, steps in trained.items()
    ]
    for (name, steps), got in zip(trained.items(), page_script("programs", given), strict=True):
        try:
            assert_equal([found for _, found in steps], got)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None
