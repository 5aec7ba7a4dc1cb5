"""Lays a tree of numbers out in a space, or trains a net there, and measures what is left of the tree."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from dmlviz import nets
from dmlviz.data import load
from dmlviz.labs.hierarchy import LEVELS
from dmlviz.labs.kept_arrays import MAP
from dmlviz.labs.training import embed
from dmlviz.ops.reductions import masked_logsumexp
from dmlviz.ops.spaces import Space, space
from dmlviz.studies.trial import Trial, TrialContext, TrialStoppedError

RATE, SPREAD = 0.05, 0.1  # learning rate of Adam at the start, and length of the first rows
ALONG = 16  # points of a drawn line
CHECK_EVERY = 50  # steps
NET_RATE, BATCH, TESTED = 2e-3, 160, 2000  # learning rate of the net, images of a batch, test images


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Do a trial: the layout of a tree, or with a `net` its training on images of numbers.

    Returns:
        Of a tree `neighbors`, the MAP of each point's parent and children, and `distortion`, the mean relative error.
        Of a net `number` and `tens`, the MAP of test images of the same number, and of the same first digit.

    Raises:
        TrialStoppedError: If the trial was asked to stop.
    """
    given = space(trial.settings["space"])
    return (_train if "net" in trial.settings else _lay_out)(given, trial, context)


def _lay_out(given: Space, trial: Trial, context: TrialContext) -> dict[str, float]:
    """Move the points of a tree until their distances are as far as possible those in the tree."""
    parents, level = tree(trial.settings["digits"], LEVELS)
    steps = tree_distances(parents)
    i, j = np.triu_indices(len(parents), 1)
    target = torch.from_numpy(steps[i, j]).float()
    random = torch.Generator().manual_seed(trial.settings["seed"])
    rows = (SPREAD * torch.randn(len(parents), 2, generator=random)).requires_grad_()
    scale = torch.zeros(1, requires_grad=True)  # logarithm of how many steps of the tree a unit of the space is
    adam = torch.optim.Adam([rows, scale], RATE)
    for step in _steps(trial, context, adam):
        error = given.distances(rows)[i, j] * scale.exp() / target - 1
        step(error.square().mean())
    with torch.no_grad():
        found = given.distances(rows).double().numpy()
        if trial.settings["seed"] == 0:
            ways = [given.drawn(given.line(rows[parents[k]], rows[k], ALONG)) for k in range(1, len(rows))]
            places, lines = given.drawn(rows).numpy(), torch.stack(ways).numpy()
            np.savez_compressed(
                context.folder / MAP, places=places, lines=lines.astype(np.float16), level=level.astype(np.int8)
            )
    return {"neighbors": related_first(found, steps == 1), "distortion": distortion(found[i, j], steps[i, j])}


def _train(given: Space, trial: Trial, context: TrialContext) -> dict[str, float]:
    """Train a net whose embeddings are rows of the space: images of a number, or of its tens, are to be near."""
    data, seed = load(trial.dataset, context.data_root), trial.settings["seed"]
    numbers = np.array([int(name) for name in data.classes])
    net = nets.build(
        trial.settings["net"], embedding_dim=2, normalize=False, size=data.train.images.shape[1], seed=seed
    )
    scale = torch.zeros(1, requires_grad=True)  # logarithm of 1 / temperature
    adam = torch.optim.Adam([*net.parameters(), scale], NET_RATE)
    random = np.random.default_rng(seed)
    for step in _steps(trial, context, adam):
        rows = random.choice(len(data.train.labels), BATCH, replace=False)
        pixels = torch.from_numpy(data.train.images[rows]).float()[:, None]
        near = -scale.exp() * given.distances(net((pixels / 255 - data.mean) / data.std))
        labels = torch.from_numpy(numbers[data.train.labels[rows]])
        step(nt_xent(near, labels) + nt_xent(near, labels // 10))
    items = random.permutation(len(data.test.labels))[:TESTED]
    labels = numbers[data.test.labels[items]]
    with torch.no_grad():
        found = given.distances(torch.from_numpy(embed(net.eval(), data.test.images[items], data))).numpy()
    return {
        name: related_first(found, classes[:, None] == classes)
        for name, classes in (("number", labels), ("tens", labels // 10))
    }


def _steps(trial: Trial, context: TrialContext, adam: torch.optim.Adam) -> Iterator[Callable[[Tensor], None]]:
    """Yield for each step what takes its loss, with a learning rate that falls to 0."""
    count, rate = trial.settings["steps"], adam.param_groups[0]["lr"]

    def step(loss: Tensor) -> None:
        adam.zero_grad()
        loss.backward()
        adam.step()

    for number in range(count):
        if number % CHECK_EVERY == 0:
            if context.stop():
                raise TrialStoppedError
            context.report(number / count)
        adam.param_groups[0]["lr"] = rate * (1 - number / count)
        yield step


def nt_xent(near: Tensor, labels: Tensor) -> Tensor:
    """Return log(1 + Σ_N e^(near_an − near_ap)), mean over the ordered positive pairs of a batch."""
    same = labels[:, None] == labels
    positive = same & ~torch.eye(len(labels), dtype=torch.bool)
    return softplus(masked_logsumexp(near, ~same)[:, None] - near)[positive].mean()


def tree(children: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the parent of each node (−1 for the first), parents before children, and on which level it is."""
    level = np.repeat(np.arange(levels + 1), [children**depth for depth in range(levels + 1)])
    return np.array([-1, *((np.arange(1, len(level)) - 1) // children)]), level


def tree_distances(parents: np.ndarray) -> np.ndarray:
    """Return how many steps it is from each node to each other (n × n)."""
    steps = np.zeros((len(parents), len(parents)))
    for node in range(1, len(parents)):
        steps[node, :node] = steps[:node, node] = steps[parents[node], :node] + 1
    return steps


def related_first(distances: np.ndarray, related: np.ndarray) -> float:
    """Return the MAP of those related to each point, when all others are ranked by their distance (n × n both)."""
    scores = []
    for query, row in enumerate(distances):
        order = np.argsort(row, kind="stable")
        hits = related[query, order[order != query]]
        if hits.any():
            scores.append((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())
    return float(np.mean(scores))


def distortion(found: np.ndarray, steps: np.ndarray) -> float:
    """Return by which share distances differ from the steps on average; the scale has the median right."""
    ratio = found / steps
    return float(np.abs(ratio / np.median(ratio) - 1).mean())
