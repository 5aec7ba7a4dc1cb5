"""Maps of every epoch of a training, aligned so that they play as one animation."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection.alignment import align
from dmlviz.projection.implementation import implementation
from dmlviz.projection.layout import Projection, project
from dmlviz.projection.progress import OnPhase
from dmlviz.projection.validation import check, check_embeddings, lowered

OnEpochFrame = Callable[[int, int, int, float | None, np.ndarray], Any]

_LATER_FRACTION = 3  # a map that starts from the previous one needs a third of the iterations


def project_sequence(
    epochs: Sequence[Any],
    config: ProjectionConfig,
    on_frame: OnEpochFrame | None = None,
    *,
    labels: Any = None,
    chosen: int = -1,
    stop: Callable[[], bool] | None = None,
    on_phase: OnPhase | None = None,
) -> list[Projection]:
    """Project the same points at several epochs, for an animation.

    PCA is fitted to one epoch, to all together, or to each and aligned, by its parameter `fitted`. t-SNE and UMAP
    start each epoch from the previous positions, take a third of the iterations, and align the result.

    Args:
        epochs: Embeddings of the same n points, each n × d.
        config: Method and parameters.
        on_frame: Called as `on_frame(epoch, iteration, of, error, coordinates)`; a true result stops.
        labels: Class IDs (n), as for `project`.
        chosen: The epoch that PCA is fitted to, if `fitted` asks for one.
        stop: Polled often; a true result stops.
        on_phase: Called as `on_phase(words, epoch, iteration)`.

    Returns:
        One map per epoch; only the finished ones if it was stopped.

    Raises:
        UserError: For epochs of different shapes, or input that this method cannot project.
    """
    rows = [check_embeddings(epoch, f"The embeddings of epoch {i}") for i, epoch in enumerate(epochs)]
    if not rows or any(epoch.shape != rows[0].shape for epoch in rows):
        raise UserError("Maps over epochs need the same points embedded in the same space at every epoch.")
    check(config, *rows[0].shape, labels=labels is not None)
    config = lowered(config, *rows[0].shape)[0]
    together = implementation(config).fit_epochs(rows, config, chosen)
    if together is not None:
        return [Projection.from_layout(config, epoch, layout) for epoch, layout in zip(rows, together, strict=True)]
    projections: list[Projection] = []
    for number, epoch in enumerate(rows):
        epoch_frame = None if on_frame is None else partial(on_frame, number)
        epoch_phase = None if on_phase is None else partial(_report_phase, on_phase, number)
        previous = projections[-1].coordinates if projections else None
        epoch_config = config
        if config.declared.iterative:
            epoch_config = config.replace(params=config.params | {"iterations": num_iterations(config, number)})
        projection = project(
            epoch, epoch_config, epoch_frame, labels=labels, start=previous, stop=stop, on_phase=epoch_phase
        )
        if projection.stopped:
            break
        if previous is not None:
            projection = replace(projection, coordinates=align([previous, projection.coordinates])[1], placing=None)
        projections.append(projection)
    return projections


def num_iterations(config: ProjectionConfig, epoch: int) -> int:
    """Return the number of iterations of an iterative method for an epoch (0-based)."""
    iterations: int = config.params["iterations"]
    least = next(parameter.minimum for parameter in config.declared.parameters if parameter.name == "iterations")
    later = max(50, int(least or 0), iterations // _LATER_FRACTION)
    return iterations if epoch == 0 else min(iterations, later)


def _report_phase(on_phase: OnPhase, epoch: int, words: str, iteration: int, _of: int) -> None:
    on_phase(words, epoch, iteration)
