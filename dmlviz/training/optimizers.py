"""Adam and SGD: torch's own fused kernels, without the class around them, whose first step imports the compiler.

That import is 2 seconds of processor at the start of every training, and nothing here is ever compiled.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from dmlviz.config import TrainConfig


@dataclass
class Group:
    """Parameters that are moved alike, with what Adam or SGD remembers of each."""

    parameters: list[Tensor]
    learning_rate: float
    weight_decay: float = 0.0
    steps: dict[Tensor, Tensor] = field(default_factory=dict)
    first: dict[Tensor, Any] = field(default_factory=dict)  # moments, or SGD's momentum
    second: dict[Tensor, Any] = field(default_factory=dict)


class Optimizer:
    """Moves parameters by their gradients, exactly as `torch.optim.Adam` and `SGD` (fused, their defaults) do."""

    def __init__(self, groups: list[Group], method: str = "adam", momentum: float = 0.9) -> None:
        self.groups = groups
        self.method = method
        self.momentum = momentum

    @classmethod
    def of(cls, config: TrainConfig, net: torch.nn.Module, loss: torch.nn.Module) -> "Optimizer":
        """The one that the config asks for; a loss that learns too has a rate of its own, and no weight decay."""
        groups = [Group(list(net.parameters()), config.learning_rate, config.weight_decay)]
        own: list[Tensor] = list(loss.parameters())
        if own:
            groups.append(Group(own, config.loss_learning_rate or config.learning_rate))
        return cls(groups, config.optimizer, config.momentum)

    def clear(self) -> None:
        """Forget the gradients."""
        for group in self.groups:
            for parameter in group.parameters:
                parameter.grad = None

    @torch.no_grad()
    def step(self, factor: float = 1.0) -> None:
        """Move every parameter that has a gradient, at `factor` times its learning rate."""
        for group in self.groups:
            moved = [parameter for parameter in group.parameters if parameter.grad is not None]
            if moved:
                (self._adam if self.method == "adam" else self._sgd)(group, moved, group.learning_rate * factor)

    @staticmethod
    def _adam(group: Group, moved: list[Tensor], rate: float) -> None:
        for parameter in moved:
            if parameter not in group.steps:
                group.steps[parameter] = torch.zeros((), device=parameter.device)
                group.first[parameter] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
                group.second[parameter] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        adam(
            moved,
            [parameter.grad for parameter in moved if parameter.grad is not None],
            [group.first[parameter] for parameter in moved],
            [group.second[parameter] for parameter in moved],
            [],
            [group.steps[parameter] for parameter in moved],
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=rate,
            weight_decay=group.weight_decay,
            eps=1e-8,
            maximize=False,
        )

    def _sgd(self, group: Group, moved: list[Tensor], rate: float) -> None:
        buffers = [group.first.get(parameter) for parameter in moved]  # torch puts those in that are missing
        sgd(
            moved,
            [parameter.grad for parameter in moved if parameter.grad is not None],
            buffers,
            fused=True,
            weight_decay=group.weight_decay,
            momentum=self.momentum,
            lr=rate,
            dampening=0.0,
            nesterov=False,
            maximize=False,
        )
        group.first.update(
            (parameter, buffer) for parameter, buffer in zip(moved, buffers, strict=True) if buffer is not None
        )
