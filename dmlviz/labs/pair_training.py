"""Common code of trials of nets for pairs: batches of given pairs, the training loop, embedding in chunks."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from dmlviz.errors import UserError
from dmlviz.studies.trial import TrialContext, TrialStoppedError
from dmlviz.training.optimizers import eager

CHUNK = 500  # images that are embedded at once
REPORT_EVERY = 10  # steps


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's random numbers inside, and leave them alone outside."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def normalize(images: np.ndarray, mean: float, std: float) -> Tensor:
    """Return gray images (uint8, n × h × w) as a normalized tensor, n × 1 × h × w."""
    return (torch.from_numpy(np.ascontiguousarray(images)).float().div_(255).sub_(mean).div_(std))[:, None]


def pair_batches(groups: np.ndarray, size: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Draw batches of given pairs, endlessly: half of them match, half are made by rolling the second images.

    Args:
        groups: Indices of images that show the same, groups × views.
        size: Pairs in a batch; half of them match.
        seed: Seed of the random numbers.

    Yields:
        Indices of the first images, of the second images, and +1 for a match or −1.
    """
    rng = np.random.default_rng(seed)
    views, half = groups.shape[1], size // 2
    sign = np.repeat([1.0, -1.0], half).astype(np.float32)
    while True:
        order = rng.permutation(len(groups))
        for start in range(0, max(1, len(order) - half + 1), half):
            batch = groups[order[start : start + half]]
            target = sign if len(batch) == half else np.repeat([1.0, -1.0], len(batch)).astype(np.float32)
            first = rng.integers(views, size=len(batch))
            second = (first + rng.integers(1, views, size=len(batch))) % views
            a, b = batch[np.arange(len(batch)), first], batch[np.arange(len(batch)), second]
            yield np.concatenate([a, a]), np.concatenate([b, np.roll(b, 1)]), target


def train_steps(
    net: nn.Module,
    steps: int,
    step_loss: Callable[[int], Tensor],
    context: TrialContext,
    *,
    lr: float = 1e-3,
    weight_decay: float = 0.0,
    share: float = 1.0,
) -> float:
    """Train with Adam.

    Args:
        net: Net to train.
        steps: Number of steps.
        step_loss: The loss of a step, by its number.
        context: Context for reports of the trial and for stopping it.
        lr: Learning rate; the last third of the steps has a tenth of it.
        weight_decay: Weight decay.
        share: Share of the trial's work that this training is.

    Returns:
        Processor seconds that it took.

    Raises:
        TrialStoppedError: If asked to stop.
        UserError: If the loss is not finite any more.
    """
    optimizer = eager(torch.optim.Adam)(net.parameters(), lr, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [max(1, steps * 2 // 3)])
    start = time.process_time()
    net.train()
    for step in range(steps):
        loss = step_loss(step)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % REPORT_EVERY == 0:
            if context.stop():
                raise TrialStoppedError
            if not torch.isfinite(loss):
                raise UserError(f"The loss was not finite any more at step {step:,}: the training diverged.")
            context.report(share * step / steps)
    net.eval()
    return time.process_time() - start


def in_chunks(function: Callable[..., Tensor], *inputs: Tensor) -> np.ndarray:
    """Apply a net to many images without gradients, a few at a time."""
    with torch.inference_mode():
        parts = [
            function(*(values[start : start + CHUNK] for values in inputs)) for start in range(0, len(inputs[0]), CHUNK)
        ]
        return torch.cat(parts).numpy()
