"""The oracle table, gathered from every `oracles_*.py` here. A new loss is tested by a new row in one of them."""

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dmlviz import losses
from dmlviz.lessons.code import losses as lesson
from dmlviz.miners.tuples import AnchoredPairs, Pairs, Triplets

torch.set_num_threads(1)


class Case:
    """One batch in float64, in the words of the papers, for oracles that are plain loops."""

    def __init__(self, x: Tensor, labels: Tensor, tuples: Pairs | Triplets | None = None) -> None:
        self.x, self.labels, self.tuples = x, labels, tuples

    def d(self, i: int, j: int) -> Tensor:
        return (self.x[i] - self.x[j]).square().sum().sqrt()

    def s(self, i: int, j: int) -> Tensor:
        return (self.x[i] @ self.x[j]) / (self.x[i].norm() * self.x[j].norm())

    def measure(self, kind: str) -> Callable[[int, int], Tensor]:
        return {
            "euclidean": self.d,
            "sqeuclidean": lambda i, j: self.d(i, j) ** 2,
            "cosine": lambda i, j: 1 - self.s(i, j),
        }[kind]

    @cached_property
    def P(self) -> list[tuple[int, int]]:
        """Unordered positive pairs, or those that the miner listed, as it listed them."""
        return self._pairs(same=True)

    @cached_property
    def N(self) -> list[tuple[int, int]]:
        return self._pairs(same=False)

    def _pairs(self, same: bool) -> list[tuple[int, int]]:
        if isinstance(self.tuples, Pairs):
            first, second = self.tuples[:2] if same else self.tuples[2:]
            return list(zip(first.tolist(), second.tolist(), strict=True))
        n = len(self.labels)
        return [(i, j) for i in range(n) for j in range(i + 1, n) if bool(self.labels[i] == self.labels[j]) == same]

    def positives(self, anchor: int) -> list[int]:
        """P(a): partners of an anchor; of anchored pairs only those where it comes first."""
        return self._partners(anchor, self.P)

    def negatives(self, anchor: int) -> list[int]:
        return self._partners(anchor, self.N)

    def _partners(self, anchor: int, pairs: list[tuple[int, int]]) -> list[int]:
        partners = {j for i, j in pairs if i == anchor}
        if not isinstance(self.tuples, AnchoredPairs):
            partners |= {i for i, j in pairs if j == anchor}
        return sorted(partners)

    @property
    def anchors(self) -> range:
        return range(len(self.labels))

    @property
    def triplets(self) -> list[tuple[int, int, int]]:
        """Every triplet, or those that the miner listed."""
        if isinstance(self.tuples, Triplets):
            return list(zip(*(index.tolist() for index in self.tuples), strict=True))
        return [(a, p, n) for a in self.anchors for p in self.positives(a) for n in self.negatives(a)]


@dataclass(frozen=True)
class Oracle:
    """One row of ORACLES: loss `name` with `params` equals `peer(case, loss)`, in value and gradient.

    Weights of the loss count too. In the files a row is a plain tuple of these fields. A loss that takes no tuples may
    have None as its peer: it then equals the code that Learn shows, `dmlviz.lessons.code.losses`.

    `unchanged_by` names what leaves the value alone: any of "permutation", "rotation", "translation", "scaling".
    """

    name: str
    params: dict[str, Any]
    peer: Callable[[Case, Any], Tensor]
    unchanged_by: tuple[str, ...] = ("permutation", "rotation", "translation")
    tolerance: float = 1e-8

    @property
    def id(self) -> str:
        return "-".join([self.name, *(f"{name}={value}" for name, value in self.params.items())])

    def build(self, embedding_dim: int = 6, num_classes: int = 8) -> Any:
        torch.manual_seed(0)
        loss = losses.build(self.name, embedding_dim=embedding_dim, num_classes=num_classes, **self.params)
        return loss.double()


def gather() -> list[Oracle]:
    rows: list[Oracle] = []
    for path in sorted(Path(__file__).parent.glob("oracles_*.py")):
        for name, params, peer, *more in runpy.run_path(str(path))["ORACLES"]:
            rows.append(Oracle(name, params, peer or partial(lesson_code, getattr(lesson, name), params), *more))
    return rows


def lesson_code(function: Callable[..., Tensor], params: dict[str, Any], case: Case, loss: Any) -> Tensor:
    """The loss as Learn shows it: written from the paper, for whole batches."""
    return function(case.x, case.labels, **dict(loss.named_parameters()), **params)


def _takes_whole_batches(row: Oracle) -> bool:
    """Whether another library's loss, which compares every image of its input with every other, is the oracle."""
    return row.peer.__qualname__.startswith("peer.") or "pml" in row.peer.__code__.co_names


ORACLES = gather()
# Which rows a test with an argument of this name runs over.
ROWS: dict[str, Callable[[Oracle], bool]] = {
    "oracle": lambda row: True,
    "remembering": lambda row: (
        losses.LOSSES[row.name].memory and row.name != "weighted_sum" and not _takes_whole_batches(row)
    ),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for fixture, belongs in ROWS.items():
        if fixture in metafunc.fixturenames:
            rows = [row for row in ORACLES if belongs(row)]
            metafunc.parametrize(fixture, rows, ids=[row.id for row in rows])
    if "loss_name" in metafunc.fixturenames:
        metafunc.parametrize("loss_name", list(losses.LOSSES))


@pytest.fixture
def oracles() -> list[Oracle]:
    return ORACLES


@pytest.fixture
def random_case() -> Callable[..., Case]:
    """`random_case(seed, tuples=None)`: 12 points in 6-d, classes of 4, 3, 3, 1 and 1."""

    classes = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4])

    def make(seed: int = 0, tuples: Any = None) -> Case:
        generator = torch.Generator().manual_seed(seed)
        labels = classes[torch.randperm(12, generator=generator)]
        x = 0.4 * torch.randn(12, 6, generator=generator, dtype=torch.float64)
        return Case(x.requires_grad_(), labels, tuples)

    return make
