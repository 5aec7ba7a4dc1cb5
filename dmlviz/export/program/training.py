"""A training step as programs: of the net, of loss and miner, and the update of their weights."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from dmlviz import losses, miners, nets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.parameters import Fields
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.export.program.operations import is_known
from dmlviz.export.program.trace import trace
from dmlviz.export.program.writer import Program, write_program
from dmlviz.losses.base import Loss
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.ops.spaces import PoincareBall
from dmlviz.training.optimizers import build_optimizer, build_schedule
from dmlviz.training.refresh import NeedsTrainEmbeddings
from dmlviz.training.trainer import batch_stats

EMBEDDED = 100  # images that the net of a page embeds at once
MAX_STEPS = 10_000  # of which a page keeps the learning rates
PLAIN: Fields = {"unfrozen_blocks": 0, "projection_dim": 0, "use_labels": True, "views": 1}
PLAIN |= {"second_labels": "", "label_noise": 0.0, "corrections": None, "mixed_precision": False}
PLAIN |= {"frozen_batch_norm": False, "memory": 0, "prefixes": (), "bn_neck": False}


@dataclass(frozen=True)
class TrainingProgram:
    """A training that a page can do: three programs, their weights, and what it needs to know beside them.

    Attributes:
        config: The settings.
        net: Weights and images to embeddings; then, from the embeddings' gradient, to the gradients of the weights.
        embed: Weights and images to embeddings, as they are after training.
        objective: Embeddings and weights of the loss to the loss, its statistics, and all gradients.
        net_weights: Initial weights and buffers of the net by name.
        loss_weights: Initial weights of the loss by name.
        described: Batches, optimizer and learning rates, as plain JSON types.
    """

    config: TrainConfig
    net: Program
    embed: Program
    objective: Program
    net_weights: dict[str, np.ndarray] = field(repr=False)
    loss_weights: dict[str, np.ndarray] = field(repr=False)
    described: Fields = field(repr=False)


def training_program(config: TrainConfig) -> TrainingProgram:
    """Return a training step of a config as programs, with the initial weights of its seed.

    Args:
        config: The settings; the batches have the same number of images of each class.

    Raises:
        UserError: If a page cannot do it, with the reason.

    Examples:
        >>> config = TrainConfig(dataset="digits", net="linear", embedding_dim=2, loss="triplet", miner="batch_hard")
        >>> program = training_program(config)
        >>> program.objective.described["outputs"].keys() >= {"loss", "gradient"}
        True
    """
    _check(config)
    net, embed, net_weights = net_programs(config)
    objective, loss_weights = objective_program(config)
    return TrainingProgram(config, net, embed, objective, net_weights, loss_weights, update(config))


def net_programs(config: TrainConfig) -> tuple[Program, Program, dict[str, np.ndarray]]:
    """Return the programs `net` and `embed` of a `TrainingProgram`, and the net's weights."""
    net = _net(config)
    spec = DATASETS[config.dataset]
    names = [name for name, _ in net.named_parameters()]

    def step(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        state = {name: inputs[name] for name in weights}
        trained = {name: state[name].detach().requires_grad_() for name in names}
        embeddings = functional_call(net, state | trained, (inputs["images"],))
        gradients = torch.autograd.grad(embeddings, [*trained.values()], inputs["gradient"], allow_unused=True)
        kept = {f"new.{name}": state[name] for name in weights if name not in names}
        found = {f"gradient.{name}": one for name, one in zip(names, gradients, strict=True) if one is not None}
        return {"embeddings": embeddings.detach(), **found, **kept}

    weights = {name: value.detach().clone() for name, value in net.state_dict().items()}
    images = torch.randn(config.effective_batch_size, spec.channels, spec.size, spec.size)
    gradient = torch.randn(len(images), config.embedding_dim)
    training = trace(step, {**_copies(weights), "images": images, "gradient": gradient}, is_known)
    embedding, _ = embedding_program(net.eval(), EMBEDDED, tuple(images.shape[1:]))
    arrays = {name: value.float().numpy() for name, value in weights.items()}  # a count of batches, too
    return write_program(training, until="gradient"), embedding, arrays


def embedding_program(net: nn.Module, images: int, shape: tuple[int, ...]) -> tuple[Program, dict[str, np.ndarray]]:
    """Return a program from a net's weights and so many images to embeddings, and the weights by name.

    Args:
        net: A net in evaluation mode.
        images: Number of images.
        shape: Shape of an image (channels, height, width).

    Raises:
        UserError: If it has a layer that a page cannot do.
    """

    @torch.no_grad()
    def embed(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"embeddings": functional_call(net, inputs, (inputs["images"],))}

    weights = {name: value.detach().clone() for name, value in net.state_dict().items() if value.is_floating_point()}
    try:
        written = write_program(trace(embed, {**_copies(weights), "images": torch.randn(images, *shape)}, is_known))
    except UserError as error:
        raise UserError(f"A page cannot do this net. {error}") from None
    return written, {name: value.numpy() for name, value in weights.items()}


def objective_program(config: TrainConfig) -> tuple[Program, dict[str, np.ndarray]]:
    """Return the program `objective` of a `TrainingProgram`, and the weights of the loss."""
    loss = _loss(config)
    miner = miners.build(config.miner, seed=config.seed, **config.miner_params) if config.miner else None
    if any(isinstance(part, NeedsTrainEmbeddings) for part in (miner, *loss.modules())):
        name = config.miner if isinstance(miner, NeedsTrainEmbeddings) else config.loss
        raise UserError(
            f"{name} looks at all training images between batches; a program sees one batch: choose another."
        )
    if [*loss.buffers()]:
        raise UserError(f"{config.loss} keeps numbers from batch to batch; a program sees one batch: choose another.")
    weights = {name: value.detach().clone() for name, value in loss.named_parameters()}
    labels = torch.arange(config.classes_per_batch).repeat_interleave(config.images_per_class)
    # With weights for each class the loss has to know the classes; for most others any numbers will do.
    any_numbers = not weights and not loss.declaration.by_number
    moving = {} if any_numbers or config.classes_per_batch == len(config.train_classes) else {"labels": labels}

    def step(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        embeddings = inputs["embeddings"].detach().requires_grad_()
        trained = {name: inputs[name].detach().requires_grad_() for name in weights}
        batch = LabeledBatch(embeddings, inputs.get("labels", labels), curvature=config.ball)
        tuples = miner.mine(batch) if miner is not None else None
        value = functional_call(_Computed(loss), {f"loss.{k}": v for k, v in trained.items()}, (batch, tuples))
        gradients = torch.autograd.grad(value, [embeddings, *trained.values()], allow_unused=True)
        found = zip(("gradient", *(f"gradient.{name}" for name in weights)), gradients, strict=True)
        stats = batch_stats(batch, value, loss)
        return {**stats, **{name: one for name, one in found if one is not None}}

    generator = torch.Generator().manual_seed(0)
    embeddings = torch.randn(len(labels), config.embedding_dim, generator=generator)
    if config.normalize:
        embeddings = nn.functional.normalize(embeddings)
    if config.ball:
        embeddings = PoincareBall(config.ball, config.clip_radius).drawn(embeddings)
    try:
        written = write_program(trace(step, {"embeddings": embeddings, **moving, **_copies(weights)}, is_known))
    except UserError as error:
        what = config.loss if config.miner is None else f"{config.loss} with {config.miner}"
        raise UserError(f"A page cannot train with {what}. {error}") from None
    return written, {name: value.numpy() for name, value in weights.items()}


def update(config: TrainConfig) -> Fields:
    """Return batches, optimizer and learning rates of a config, as plain JSON types."""
    optimizer = build_optimizer(config, _net(config), _loss(config))
    by_steps = config.replace(decay_epochs=0)  # epochs are counted by the page, which may have fewer images
    schedule, rates = build_schedule(by_steps, optimizer, 1), []
    for _ in range(config.steps):
        rates.append(float(f"{optimizer.param_groups[0]['lr'] / config.learning_rate:.7g}"))
        optimizer.step()
        schedule.step()
    if len({*rates}) == 1:
        rates = rates[:1]
    settings = ("betas", "eps", "alpha", "momentum", "weight_decay")
    groups = [{name: group[name] for name in settings if name in group} for group in optimizer.param_groups]
    return {
        "batch": {"classes": config.classes_per_batch, "images": config.images_per_class},
        "optimizer": config.optimizer,
        "net": groups[0],
        "loss": groups[-1],
        "learning_rate": config.learning_rate,
        "loss_learning_rate": config.loss_learning_rate,
        "rates": rates,
        "decay_factor": config.decay_factor,
    }


class _Computed(nn.Module):
    """The call of a loss that `functional_call` takes."""

    def __init__(self, loss: Loss) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, batch: LabeledBatch, tuples: Any) -> Tensor:
        return self.loss.compute(batch, tuples)


def _check(config: TrainConfig) -> None:
    """Raise UserError for settings that no page can follow."""
    changed = [name for name, plain in PLAIN.items() if getattr(config, name) != plain]
    if changed:
        raise UserError(f"A page trains with labels and images as they are; got {changed[0]}: leave it out.")
    if DATASETS[config.dataset].features is not None:
        raise UserError(f"A page has no backbone, whose features {config.dataset} needs: choose another data set.")
    usual = TrainConfig.model_fields["sampler"].default
    if config.sampler != usual:
        raise UserError(f"A page draws {usual} batches; got the sampler {config.sampler}: choose {usual}.")
    if config.steps > MAX_STEPS:
        raise UserError(f"A page trains at most {MAX_STEPS:,} steps; got {config.steps:,}: choose fewer.")


def _net(config: TrainConfig) -> nn.Module:
    spec = DATASETS[config.dataset]
    net = nets.build(
        config.net,
        **config.embedding,
        channels=spec.channels,
        size=spec.size,
        of_points=spec.of_points,
        seed=config.seed,
    )
    return net.train()


def _loss(config: TrainConfig) -> Loss:
    return losses.build(
        config.loss,
        embedding_dim=config.loss_dim,
        num_classes=len(config.train_classes),
        seed=config.seed,
        **config.loss_params,
    )


def _copies(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in weights.items()}
