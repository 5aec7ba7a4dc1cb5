"""One call from embeddings to a map, whatever the method."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.projection.out_of_sample import alike, place_on
from dmlviz.projection.progress import CancelledError, OnFrame, OnPhase, ProgressReporter
from dmlviz.projection.quality import ProjectionQuality, projection_quality
from dmlviz.projection.validation import check, check_embeddings, check_labels

if TYPE_CHECKING:
    from dmlviz.projection.tsne import Layout


@dataclass(frozen=True)
class Projection:
    """A map: n places (n × 2 or 3, float32) for n embeddings (n × d).

    `explained` holds each axis's share of the variance where the map is linear, `error` the KL divergence of t-SNE.
    `stopped` says that somebody ended it early, after `iterations`.
    """

    config: ProjectionConfig
    embeddings: np.ndarray = field(repr=False)
    coordinates: np.ndarray = field(repr=False)
    explained: tuple[float, ...] | None = None
    error: float | None = None
    iterations: int = 0
    stopped: bool = False
    placing: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False, compare=False)

    def place(self, new: Any) -> np.ndarray:
        """Positions (m × dims) of new embeddings (m × d) on this map; see `transform`.

        A UMAP by umap-learn that was drawn in this process places them by its own `transform`, densMAP apart.
        """
        if self.placing is not None:
            return self.placing(alike(new, self.embeddings.shape[1]))
        return place_on(self.config, self.embeddings, self.coordinates, new)

    @cached_property
    def faithfulness(self) -> ProjectionQuality:
        """What the map keeps of its embeddings, by the metric that it was drawn with."""
        metric = self.config.params.get("metric", "euclidean")
        return projection_quality(self.embeddings, self.coordinates, metric=metric)


def project(
    embeddings: Any,
    config: ProjectionConfig | None = None,
    on_frame: OnFrame | None = None,
    *,
    labels: Any = None,
    fitted_to: Sequence[Any] | None = None,
    start: Any = None,
    begun: int = 0,
    stop: Callable[[], bool] | None = None,
    on_phase: OnPhase | None = None,
    device: str = "cpu",
) -> Projection:
    """Draw embeddings (n × d, NumPy or torch) as `config` says, by default their PCA.

    `on_frame(iteration, of, error, coordinates)` sees the map several times a second from iteration 0 on, and ends it
    by returning something true; `stop()` is asked more often. `start` (n × dims) are the positions to begin from: an
    earlier map's, or, with `begun`, those that the same layout had reached after so many iterations. `labels` (n)
    serve a supervised map and the class fan only; `fitted_to` are the epochs (each m × d) that a PCA is fitted to when
    not to what it draws. t-SNE runs on a torch `device`. Layouts compute on one thread, so that they stay fast beside a
    busy process; the caller's number of torch threads comes back at the end. Equal calls give equal maps on a CPU.
    The engine "reference" shows its first and last positions only, and tells `on_phase(words, iteration, of)` between
    them what it does; a stop leaves its thread to end on its own. It does not go on from `begun`.
    The config's `step` and `all_epochs` are for who has a run. Raises UserError for what cannot be drawn.
    """
    config = config or ProjectionConfig()
    rows = check_embeddings(embeddings)
    check(config, *rows.shape, labels=labels is not None)
    supervised = config.method == "fan" or config.params.get("supervised")
    known = check_labels(labels, len(rows)) if supervised else None
    frames = ProgressReporter(on_frame, stop, on_phase)
    if PROJECTIONS[config.method].linear:
        return _linear(rows, config, frames, known, fitted_to)
    if (rows == rows[0]).all():
        raise UserError(
            f"All {len(rows)} embeddings are one and the same point, so there is nothing to draw: the space has "
            "collapsed, try another loss, a larger margin or a smaller learning rate."
        )
    begin = None if start is None else _check_init(start, len(rows), config.dims)
    if begun and not config.resumable:
        raise UserError(f"{config.declared.title} does not go on where it was stopped; leave `begun` out.")
    try:
        if config.engine == "reference":
            return _by_reference(rows, config, frames, begin, known)
        laid = _iterative(rows, config, frames, begin, begun, known, device)
    except CancelledError:
        return Projection(config, rows, frames.last_layout, stopped=True)
    return Projection(
        config, rows, laid.coordinates, error=laid.error, iterations=laid.iterations, stopped=frames.stopped
    )


def _linear(
    rows: np.ndarray,
    config: ProjectionConfig,
    frames: ProgressReporter,
    labels: np.ndarray | None,
    fitted_to: Sequence[Any] | None,
) -> Projection:
    if config.method == "plane":
        coordinates = np.zeros((len(rows), config.dims), np.float32)
        coordinates[:, : rows.shape[1]] = rows
        variances = coordinates.var(axis=0, dtype=np.float64)
        explained = variances / max(variances.sum(), np.finfo(np.float64).tiny)
    elif labels is not None:
        turned = LinearProjection.class_fan(rows, labels, config.dims)
        coordinates, explained = turned.project(rows), turned.explained_variance_ratio
    else:
        basis = LinearProjection.joint_pca(
            [rows] if fitted_to is None else [check_embeddings(epoch) for epoch in fitted_to], config.axes
        )
        coordinates, explained = basis.project(rows), basis.explained_variance_ratio
    frames.report(1, 1, None, coordinates)
    return Projection(config, rows, coordinates, explained=tuple(explained.tolist()), iterations=1)


def _by_reference(
    rows: np.ndarray,
    config: ProjectionConfig,
    frames: ProgressReporter,
    start: np.ndarray | None,
    labels: np.ndarray | None,
) -> Projection:
    from dmlviz.projection import reference

    laid = reference.lay_out(rows, config, frames, labels, start)
    return Projection(config, rows, laid.coordinates, error=laid.error, iterations=laid.iterations, placing=laid.place)


def _iterative(
    rows: np.ndarray,
    config: ProjectionConfig,
    frames: ProgressReporter,
    start: np.ndarray | None,
    begun: int,
    labels: np.ndarray | None,
    device: str,
) -> "Layout":
    shared: dict[str, Any] = {"dims": config.dims, "seed": config.seed, "frames": frames}
    shared |= {"start": start, "begun": begun}
    from dmlviz.projection import threads

    with threads.one_thread(len(rows)):
        if config.method == "tsne":
            from dmlviz.projection import tsne

            return tsne.fit(rows, **config.params, **shared, device=device)
        from dmlviz.projection import umap

        params = {name: value for name, value in config.params.items() if name != "supervised"}
        return umap.fit(rows, **params, **shared, labels=labels)


def _check_init(start: Any, n: int, dims: int) -> np.ndarray:
    given = check_embeddings(start, "Starting positions")
    if given.shape != (n, dims):
        raise UserError(f"A map starts from one position for each point, {n} × {dims}; got {given.shape}.")
    return given
