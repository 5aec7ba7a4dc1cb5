"""Which test images a projection of a run shows, and their embeddings."""

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.runs.run import Run


def projected_items(run: Run, config: ProjectionConfig) -> np.ndarray:
    """Return the test images on the map of a projection.

    Args:
        run: a run with embeddings.
        config: the projection.

    Returns:
        Their indices, ascending: all test images, the tracked ones for earlier steps, or those of them in `subset`.

    Raises:
        UserError: if none of the subset is among them.
    """
    labels, tracked = run.labels, run.tracked_indices
    whole = np.arange(0 if labels is None else len(labels)) if config.whole or tracked is None else tracked
    if config.items is None:
        return np.asarray(whole)
    items = np.intersect1d(whole, config.items)
    if not len(items):
        raise UserError(
            f"None of the selected images is among the {len(whole):,} of {run.title} at this step: select others, "
            "or project the last step."
        )
    return items


def projected_embeddings(run: Run, config: ProjectionConfig, step: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return embeddings (n × d) and labels (n) of the images on the map of a projection, at a step.

    Args:
        run: a run with embeddings.
        config: the projection; only its subset counts here.
        step: as in `Run.embeddings_at`.

    Raises:
        UserError: if there are no embeddings at this step, or none of the subset.
    """
    embeddings, labels = run.embeddings_at(step)
    if config.items is None:
        return embeddings, labels
    tracked = run.tracked_indices
    shown = np.arange(len(labels)) if step is None or tracked is None else tracked
    rows = np.isin(shown, projected_items(run, config.replace(step=step, all_epochs=False)))
    return embeddings[rows], labels[rows]
