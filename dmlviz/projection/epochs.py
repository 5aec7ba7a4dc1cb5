"""A map of each epoch of a training, each begun where the last one ended, so that they play as one film."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection.alignment import align
from dmlviz.projection.limits import points
from dmlviz.projection.maps import Projection, project
from dmlviz.projection.pca import fit_jointly

OnEpochFrame = Callable[[int, int, int, float | None, np.ndarray], Any]


def project_epochs(
    epochs: Sequence[Any],
    config: ProjectionConfig,
    on_frame: OnEpochFrame | None = None,
    *,
    labels: Any = None,
    stop: Callable[[], bool] | None = None,
) -> list[Projection]:
    """Draw the same n points at several epochs (each n × d) as maps that can be played one after another.

    PCA is fitted to all of them together. t-SNE and UMAP draw each epoch from the last one's places and turn it onto
    that. `on_frame(epoch, iteration, of, error, coordinates)` and `stop` as for `project`; what was finished before a
    stop is returned.
    """
    rows = [points(epoch, f"The embeddings of epoch {i}") for i, epoch in enumerate(epochs)]
    if not rows or any(epoch.shape != rows[0].shape for epoch in rows):
        raise UserError("Maps over epochs need the same points embedded in the same space at every epoch.")
    if config.method == "pca":
        basis = fit_jointly(rows, config.dims, config.params["first"])
        explained = tuple(basis.explained.tolist())
        return [Projection(config, epoch, basis.transform(epoch), explained=explained, iterations=1) for epoch in rows]
    drawn: list[Projection] = []
    for number, epoch in enumerate(rows):
        seen = None if on_frame is None else partial(on_frame, number)
        before = drawn[-1].coordinates if drawn else None
        projection = project(epoch, config, seen, labels=labels, start=before, stop=stop)
        if projection.stopped:
            break
        if before is not None:
            projection = replace(projection, coordinates=align([before, projection.coordinates])[1])
        drawn.append(projection)
    return drawn
