"""The optimizer, the learning rate schedule and the precision of a training, as torch has them."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer, RMSprop
from torch.optim.lr_scheduler import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    LinearLR,
    LRScheduler,
    PolynomialLR,
    StepLR,
)

from dmlviz.config import TrainConfig
from dmlviz.ops.pairwise import gradients_may_overflow
from dmlviz.storage.run_schema.validation import Precision as Name

_SCHEDULES: dict[str, Callable[[Optimizer, TrainConfig, int], LRScheduler]] = {
    "constant": lambda optimizer, config, images: ConstantLR(optimizer, factor=1.0),
    "cosine": lambda optimizer, config, images: CosineAnnealingLR(optimizer, T_max=config.steps),
    "linear": lambda optimizer, config, images: PolynomialLR(optimizer, total_iters=config.steps, power=1.0),
    "step": lambda optimizer, config, images: StepLR(optimizer, config.plateau(images), gamma=config.decay_factor),
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


def build_schedule(config: TrainConfig, optimizer: Optimizer, train_images: int) -> LRScheduler:
    """Return the learning-rate schedule of a config for so many training images; step it once per batch."""
    schedule = _SCHEDULES[config.schedule](optimizer, config, train_images)
    if not config.warmup_steps:
        return schedule
    first = 1 / (config.warmup_steps + 1)
    return ChainedScheduler([LinearLR(optimizer, first, total_iters=config.warmup_steps), schedule])


FIRST_SCALE = 1024.0  # torch begins with 65,536, which the first gradients of a loss of embeddings often exceed


class Precision:
    """The precision of a net's forward pass, and the update that goes with it; weights and losses have 32 bits.

    Args:
        device: The net's device.
        mixed: Whether the net computes with 16-bit numbers where that is exact enough.
        half: The 16-bit type; by default bfloat16 where the device computes with it, else float16.
    """

    def __init__(self, device: torch.device, mixed: bool, half: torch.dtype | None = None) -> None:
        self._device = device
        self._type = (half or _half_type(device)) if mixed else torch.float32
        # Gradients too small for float16 are scaled on their way; bfloat16 has the range of float32.
        self._scaler = (
            torch.amp.GradScaler(device.type, init_scale=FIRST_SCALE) if self._type == torch.float16 else None
        )

    @property
    def name(self) -> Name:
        """The type of the net's numbers: float32, bfloat16 or float16."""
        return cast(Name, str(self._type).removeprefix("torch."))

    def autocast(self) -> AbstractContextManager[object]:
        """Return the context for a forward pass."""
        if self._type == torch.float32:
            return nullcontext()
        return self._half()

    @contextmanager
    def _half(self) -> Iterator[None]:
        overflow = nullcontext() if self._scaler is None else gradients_may_overflow()
        with torch.autocast(self._device.type, dtype=self._type), overflow:
            yield

    @property
    def gradient_scale(self) -> float:
        """Return the factor on the gradients of the next update."""
        return 1.0 if self._scaler is None else float(self._scaler.get_scale())

    def update(self, loss: Tensor, optimizer: Optimizer) -> bool:
        """Compute the gradients of a loss and let the optimizer take a step.

        Returns:
            Whether it was taken: not where gradients were too large for float16; the next ones are scaled less.
        """
        optimizer.zero_grad()
        if self._scaler is None:
            loss.backward()
            optimizer.step()
            return True
        self._scaler.scale(loss).backward()
        before = self._scaler.get_scale()
        self._scaler.step(optimizer)
        self._scaler.update()
        return self._scaler.get_scale() >= before


def _half_type(device: torch.device) -> torch.dtype:
    if device.type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return torch.float16
