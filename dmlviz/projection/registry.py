"""Binds the implementation of each projection to its spec. No torch: an implementation is imported when it is used."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dmlviz.catalog.parameters import Registry
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig
from dmlviz.ops.neighbor_index import NeighborTable
from dmlviz.projection.progress import ProgressReporter

Place = Callable[[np.ndarray], np.ndarray]  # new embeddings (m × d) to positions (m × dims)


@dataclass(frozen=True)
class Layout:
    """The result of an implementation.

    Attributes:
        coordinates: n × dims, float32.
        error: KL(P ‖ Q), for t-SNE.
        iterations: Number of iterations done.
        explained: Each axis's share of the variance, for a linear map.
        momentum: What a stopped layout needs beside its positions to go on exactly, if anything.
        neighbors: The nearest others of every point, where they were found, for the quality of the map.
        place: The method's own way to place new points, where it has one that needs the fitted model.
    """

    coordinates: np.ndarray
    error: float | None = None
    iterations: int = 1
    explained: tuple[float, ...] | None = None
    momentum: np.ndarray | None = None
    neighbors: NeighborTable | None = None
    place: Place | None = None


@dataclass(frozen=True)
class Request:
    """The input of an implementation, beside the embeddings.

    Attributes:
        config: Settings, parameters included.
        frames: Progress callbacks.
        labels: Class numbers (n), for a projection that uses them.
        fitted_to: Epochs (each m × d) to fit a linear map to; the embeddings themselves if None.
        start: Initial positions, n × dims.
        begun: Iterations already done by the layout that `start` comes from.
        momentum: That layout's `Layout.momentum`.
        device: Torch device.
    """

    config: ProjectionConfig
    frames: ProgressReporter
    labels: np.ndarray | None = None
    fitted_to: Sequence[np.ndarray] | None = None
    start: np.ndarray | None = None
    begun: int = 0
    momentum: np.ndarray | None = None
    device: str = "cpu"


class Method(ABC):
    """The implementation of one projection.

    `updates` are the iterations of the first update of a live map and of the later ones, of a method that can `follow`.
    """

    updates: tuple[int, int] = (0, 0)

    @abstractmethod
    def fit(self, rows: np.ndarray, request: Request) -> Layout:
        """Return the map of embeddings (n × d, float32); raise CancelledError if stopped before there is one."""

    def follow(
        self,
        rows: np.ndarray,
        config: ProjectionConfig,
        begun: Layout | None,
        frames: Iterable[Iterator[float]],
        labels: np.ndarray | None,
        device: str,
    ) -> Iterator[Layout]:
        """Yield maps of embeddings (n × d) that have changed, for a method that can go on from where it stands.

        Args:
            rows: Embeddings.
            config: Settings.
            begun: The layout so far, whose neighbors are those of the embeddings before; None at first.
            frames: For each map, what share of the work is done, before each iteration.
            labels: Class numbers (n), for a map that uses them.
            device: Torch device.
        """
        raise NotImplementedError


REGISTRY = Registry(PROJECTIONS)
REFERENCE_REGISTRY = Registry(PROJECTIONS)  # the same methods, as the reference engine computes them
TORCHDR_REGISTRY = Registry(PROJECTIONS)
