"""A map of each epoch of a training, each begun where the last one ended, so that they play as one film."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dmlviz.bases import Basis
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection.alignment import align
from dmlviz.projection.limits import check, points
from dmlviz.projection.maps import Projection, project
from dmlviz.projection.pace import OnPhase

OnEpochFrame = Callable[[int, int, int, float | None, np.ndarray], Any]

_LATER = 3  # a map that begins where the last one ended needs a third of the iterations


def project_epochs(
    epochs: Sequence[Any],
    config: ProjectionConfig,
    on_frame: OnEpochFrame | None = None,
    *,
    labels: Any = None,
    chosen: int = -1,
    stop: Callable[[], bool] | None = None,
    on_phase: OnPhase | None = None,
) -> list[Projection]:
    """Draw the same n points at several epochs (each n × d) as maps that can be played one after another.

    PCA is fitted as its parameter says: to the `chosen` epoch, to all of them together, or to each and turned onto the
    one before. t-SNE and UMAP draw each epoch from the last one's places, in a third of the iterations, and turn it
    onto that. `on_frame(epoch, iteration, of, error, coordinates)`, `on_phase(words, epoch, iteration)` and `stop` as
    for `project`; what was finished before a stop is returned.
    """
    rows = [points(epoch, f"The embeddings of epoch {i}") for i, epoch in enumerate(epochs)]
    if not rows or any(epoch.shape != rows[0].shape for epoch in rows):
        raise UserError("Maps over epochs need the same points embedded in the same space at every epoch.")
    check(config, *rows[0].shape, labels=labels is not None)
    if config.method == "pca":
        return [
            Projection(config, epoch, basis.project(epoch), explained=tuple(basis.explained.tolist()), iterations=1)
            for epoch, basis in zip(rows, _bases(rows, config, chosen), strict=True)
        ]
    drawn: list[Projection] = []
    for number, epoch in enumerate(rows):
        seen = None if on_frame is None else partial(on_frame, number)
        told = None if on_phase is None else partial(_of_epoch, on_phase, number)
        before = drawn[-1].coordinates if drawn else None
        asked = config.but(params=config.params | {"iterations": iterations_of(config, number)})
        projection = project(epoch, asked, seen, labels=labels, start=before, stop=stop, on_phase=told)
        if projection.stopped:
            break
        if before is not None:
            projection = replace(projection, coordinates=align([before, projection.coordinates])[1], placing=None)
        drawn.append(projection)
    return drawn


def iterations_of(config: ProjectionConfig, epoch: int) -> int:
    """Iterations that t-SNE or UMAP takes for the epoch of that number, from 0."""
    iterations = config.params["iterations"]
    least = next(parameter.minimum for parameter in config.declared.parameters if parameter.name == "iterations")
    return iterations if epoch == 0 else max(50, int(least or 0), iterations // _LATER)


def _of_epoch(on_phase: OnPhase, epoch: int, words: str, iteration: int, _of: int) -> None:
    on_phase(words, epoch, iteration)


def _bases(epochs: Sequence[np.ndarray], config: ProjectionConfig, chosen: int) -> list[Basis]:
    if config.params["fitted"] != "each":
        fitted_to = epochs if config.params["fitted"] == "all" else [epochs[chosen]]
        return [Basis.principal(fitted_to, config.axes)] * len(epochs)
    bases: list[Basis] = []
    for number, epoch in enumerate(epochs):
        basis = Basis.principal([epoch], config.axes)
        bases.append(basis.turned_to(epoch, bases[-1].project(epochs[number - 1])) if bases else basis)
    return bases
