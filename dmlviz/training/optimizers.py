"""The optimizer and the learning rate schedule of a training, as torch has them."""

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import torch
from torch import nn
from torch.optim import SGD, Adam, Optimizer, RMSprop
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LRScheduler, PolynomialLR, StepLR

from dmlviz.config import TrainConfig

NUM_PLATEAUS = 3  # equal parts of the training with a constant rate in schedule "step"
DROP_FACTOR = 0.1

_SCHEDULES: dict[str, Callable[[Optimizer, int], LRScheduler]] = {
    "constant": lambda optimizer, steps: ConstantLR(optimizer, factor=1.0),
    "cosine": lambda optimizer, steps: CosineAnnealingLR(optimizer, T_max=steps),
    "linear": lambda optimizer, steps: PolynomialLR(optimizer, total_iters=steps, power=1.0),
    "step": lambda optimizer, steps: StepLR(optimizer, step_size=max(1, -(-steps // NUM_PLATEAUS)), gamma=DROP_FACTOR),
}


@cache
def eager(kind: type[Optimizer]) -> type[Any]:
    """Return the same optimizer without torch's preparations for `torch.compile`.

    torch wraps the methods of its optimizers, and the first call of one imports its compiler: 1.3 s of processor time
    and 66 MB in every process that trains. The methods themselves compute the same.

    Args:
        kind: A class of `torch.optim`.
    """
    methods = {name: inspect.unwrap(getattr(kind, name)) for name in ("add_param_group", "zero_grad", "step")}
    methods["step"] = torch.no_grad()(methods["step"])
    return type(kind.__name__, (kind,), methods)


def build_optimizer(
    config: TrainConfig, net: nn.Module, loss: nn.Module, unfrozen: Sequence[nn.Parameter] = ()
) -> Optimizer:
    """Return the optimizer of a config.

    Parameters of the loss have their own learning rate and no weight decay.

    Args:
        config: The settings.
        net: The embedding net; parameters that need no gradient stay as they are.
        loss: The loss, with or without parameters.
        unfrozen: Those of the net that belong to a pretrained backbone, and have a rate of their own.
    """
    apart = {id(parameter) for parameter in unfrozen}
    own = [parameter for parameter in net.parameters() if parameter.requires_grad and id(parameter) not in apart]
    groups: list[dict[str, Any]] = [
        {"params": own, "lr": config.learning_rate, "weight_decay": config.weight_decay},
    ]
    if unfrozen:
        rate = config.backbone_rate * config.learning_rate
        groups.append({"params": list(unfrozen), "lr": rate, "weight_decay": config.weight_decay})
    if loss_parameters := list(loss.parameters()):
        groups.append(
            {"params": loss_parameters, "lr": config.loss_learning_rate or config.learning_rate, "weight_decay": 0.0}
        )
    if config.optimizer == "adam":
        return cast(Optimizer, eager(Adam)(groups, fused=True))
    if config.optimizer == "sgd":
        return cast(Optimizer, eager(SGD)(groups, momentum=config.momentum, fused=True))
    return cast(Optimizer, eager(RMSprop)(groups))


def build_schedule(config: TrainConfig, optimizer: Optimizer) -> LRScheduler:
    """Return the learning-rate schedule of a config; step it once per batch."""
    return _SCHEDULES[config.schedule](optimizer, config.steps)
