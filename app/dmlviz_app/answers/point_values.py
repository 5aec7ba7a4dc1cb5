"""Per-point values to color the map by, as the page fetches them."""

import numpy as np

from dmlviz.errors import UserError
from dmlviz.runs.neighbor_table import by_index, stored_map_recall
from dmlviz.runs.point_values import POINT_MEASURES, has_point_values, point_values
from dmlviz.runs.run import ProjectionRun, Run
from dmlviz.storage.text import one_line
from dmlviz_app.answers.nearest_neighbors import table_by_index

MOST_MOVED = 2000  # points that a page lays out


def point_value_bytes(run: Run, projection: ProjectionRun | None, measure: str) -> bytes:
    """Return a measure of `dmlviz.runs.point_values` for each test image.

    Returns:
        n little-endian float32, NaN for an image without a value. If an index found the neighbors of very many images,
        two float32 follow, as in `nearest_neighbor_bytes`.

    Raises:
        UnderWayError: While an index finds them.
        UserError: Before the end of the run, or of the projection.
    """
    if measure not in POINT_MEASURES or not has_point_values(run, projection):
        raise UserError(f"{run.title} has no {one_line(measure, 20)} to color by yet.")
    if measure == "faithfulness" and projection is None and by_index(run):
        table, values = table_by_index(run), stored_map_recall(run)
        if values is None:
            raise UserError(f"{run.title} has no map of its own to measure.")
        return np.append(values, [table.recall, table.measured]).astype("<f4").tobytes()
    return point_values(run, projection, measure).astype("<f4").tobytes()


def moved_embeddings(run: Run, step: int | None) -> bytes:
    """Return the embeddings of up to `MOST_MOVED` tracked images at a step, or at the end, for the page to lay out."""
    embeddings, _ = run.embeddings_at(step)
    items = run.tracked_indices
    assert items is not None  # there are embeddings
    rows = np.unique(np.linspace(0, len(items) - 1, min(len(items), MOST_MOVED)).astype(np.int64))
    vectors = embeddings[items[rows] if step is None else rows]
    return np.int32(len(rows)).tobytes() + items[rows].astype("<i4").tobytes() + vectors.astype("<f4").tobytes()
