"""`project`: embeddings to a map, by any method."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.ops.ball import curvature_of
from dmlviz.ops.neighbor_index import NeighborTable
from dmlviz.projection.implementation import implementation
from dmlviz.projection.out_of_sample import alike, place_on
from dmlviz.projection.progress import CancelledError, OnFrame, OnPhase, ProgressReporter
from dmlviz.projection.quality import MAX_POINTS, ProjectionQuality, projection_quality
from dmlviz.projection.registry import Layout, Request
from dmlviz.projection.validation import check, check_embeddings, check_labels, lowered


@dataclass(frozen=True)
class Projection:
    """A map of n embeddings.

    Attributes:
        config: Its settings.
        embeddings: Embeddings (n × d).
        coordinates: Positions, n × 2 or n × 3, float32.
        explained: Each axis's share of the variance, for a linear map.
        error: KL divergence, for t-SNE.
        iterations: Number of iterations done.
        stopped: Whether it was stopped early.
        momentum: With `coordinates` and `iterations`, what a stopped layout needs to go on as if it never was.
        neighbors: Nearest others of every embedding, where the method has found them.
        placing: The library's own out-of-sample method, if any.
        note: What a person should know of this map, in a sentence.
        measured: Number of points from which on `quality` measures a sample.

    Examples:
        >>> drawn = project(np.eye(4), ProjectionConfig(method="pca"))
        >>> drawn.coordinates.shape, drawn.place(np.ones((1, 4))).shape
        ((4, 2), (1, 2))
    """

    config: ProjectionConfig
    embeddings: np.ndarray = field(repr=False)
    coordinates: np.ndarray = field(repr=False)
    explained: tuple[float, ...] | None = None
    error: float | None = None
    iterations: int = 0
    stopped: bool = False
    momentum: np.ndarray | None = field(default=None, repr=False, compare=False)
    neighbors: NeighborTable | None = field(default=None, repr=False, compare=False)
    placing: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False, compare=False)
    note: str = ""
    measured: int = MAX_POINTS

    @classmethod
    def from_layout(
        cls, config: ProjectionConfig, embeddings: np.ndarray, layout: Layout, *, stopped: bool = False
    ) -> "Projection":
        """Return the map that an implementation computed."""
        return cls(
            config,
            embeddings,
            layout.coordinates,
            explained=layout.explained,
            error=layout.error,
            iterations=layout.iterations,
            stopped=stopped,
            momentum=layout.momentum,
            neighbors=layout.neighbors,
            placing=layout.place,
        )

    def place(self, new: Any) -> np.ndarray:
        """Return positions (m × dims) of new embeddings (m × d) on this map; see `place_on`.

        A UMAP by umap-learn (except densMAP) uses the library's own `transform`.

        Args:
            new: m × d.
        """
        if self.placing is not None:
            return self.placing(alike(new, self.embeddings.shape[1]))
        return place_on(self.config, self.embeddings, self.coordinates, new)

    @cached_property
    def quality(self) -> ProjectionQuality:
        """The quality of the map, by the metric it was computed with."""
        metric = self.config.params.get("metric", "euclidean")
        return projection_quality(
            self.embeddings, self.coordinates, metric=metric, largest=self.measured, neighbors=self.neighbors
        )


def project(
    embeddings: Any,
    config: ProjectionConfig | None = None,
    on_frame: OnFrame | None = None,
    *,
    labels: Any = None,
    fitted_to: Sequence[Any] | None = None,
    start: Any = None,
    begun: int = 0,
    momentum: Any = None,
    stop: Callable[[], bool] | None = None,
    on_phase: OnPhase | None = None,
    device: str = "cpu",
) -> Projection:
    """Return a map of embeddings, in 2 or 3 dimensions.

    Equal calls give equal maps on a CPU, on any number of threads: see `use_threads`. Torch computes on one thread, so
    that it stays fast beside a busy process; the caller's number of threads is restored. The engine "reference" reports
    its first and last positions only, and cannot resume. `config.step`, `follow` and `subset` are ignored here:
    they need a run.

    Args:
        embeddings: Embeddings (n × d), finite; NumPy or torch.
        config: Method and parameters; PCA by default.
        on_frame: Called as `on_frame(iteration, of, error, coordinates)` several times a second, from iteration 0 on;
            a true result stops the layout.
        labels: Classes (n), for the class fan and supervised UMAP; -1, None, NaN and an empty text say that a point's
            class is unknown.
        fitted_to: Epochs (each m × d) to fit a PCA to; the embeddings by default.
        start: Initial positions, n × dims: another map's, or with `begun` those of the same layout.
        begun: Iterations already done by the layout that `start` comes from.
        momentum: The `momentum` of that layout.
        stop: Polled often; a true result stops the layout.
        on_phase: Called as `on_phase(words, iteration, of)` by the engine "reference", to describe its progress.
        device: Torch device, for t-SNE.

    Returns:
        The map; unfinished if it was stopped.

    Raises:
        UserError: For input that this method cannot project. Perplexity and neighbors that are too many for n points
            are lowered, with a warning.

    Examples:
        >>> points = np.random.default_rng(0).standard_normal((50, 8))
        >>> project(points).coordinates.shape
        (50, 2)
    """
    config = config or ProjectionConfig()
    rows = check_embeddings(embeddings)
    check(config, *rows.shape, labels=labels is not None)
    config, note = lowered(config, *rows.shape)
    if note:
        warnings.warn(note, stacklevel=2)
    declared = config.declared
    if curvature_of(rows) and config.engine != "dmlviz":
        raise UserError(f"Other engines know no Poincaré ball; got {config.engine}: choose the engine dmlviz.")
    uses_labels = declared.needs_labels or config.params.get("supervised")
    frames = ProgressReporter(on_frame, stop, on_phase)
    if not declared.linear and (rows == rows[0]).all():
        raise UserError(
            f"All {len(rows):,} embeddings are equal, so there is nothing to draw: the embedding has collapsed. Try "
            "another loss, a larger margin or a smaller learning rate."
        )
    if begun and not config.resumable:
        raise UserError(f"{declared.title} cannot resume a stopped layout; leave `begun` out.")
    request = Request(
        config,
        frames,
        labels=check_labels(labels, len(rows)) if uses_labels else None,
        fitted_to=None if fitted_to is None else [check_embeddings(epoch) for epoch in fitted_to],
        start=None if start is None else _check_init(start, len(rows), config.dims),
        begun=begun,
        momentum=momentum,
        device=device,
    )
    try:
        layout = implementation(config).fit(rows, request)
    except CancelledError:
        return Projection(config, rows, frames.last_layout, stopped=True)
    if not declared.iterative:
        frames.report(1, 1, None, layout.coordinates)
    return Projection.from_layout(config, rows, layout, stopped=declared.resumable and frames.stopped)


def _check_init(start: Any, n: int, dims: int) -> np.ndarray:
    init = check_embeddings(start, "Starting positions")
    if init.shape != (n, dims):
        raise UserError(f"A map starts from one position for each point, {n} × {dims}; got {init.shape}.")
    return init
