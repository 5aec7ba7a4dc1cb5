"""Per-point values to color the map by, as the page fetches them."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz import data
from dmlviz.config import TrainConfig
from dmlviz.data import stratified_subset
from dmlviz.data.corrections import as_trained
from dmlviz.errors import UserError
from dmlviz.runs.answers import Trajectory
from dmlviz.runs.neighbor_table import by_index, stored_map_recall
from dmlviz.runs.point_values import point_measures, point_values
from dmlviz.runs.run import LIVE, ProjectionRun, Run
from dmlviz.storage.text import one_line
from dmlviz.training.validation_split import split_training_images
from dmlviz_app.answers.nearest_neighbors import table_by_index
from dmlviz_app.answers.protocol import TrainPoints
from dmlviz_app.server.services import Services

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
    if measure not in point_measures(run, projection):
        raise UserError(f"{run.title} has no {one_line(measure, 20)} to color by yet.")
    if measure == "faithfulness" and projection is None and by_index(run):
        table, values = table_by_index(run), stored_map_recall(run)
        if values is None:
            raise UserError(f"{run.title} has no map of its own to measure.")
        return np.append(values, [table.recall, table.measured]).astype("<f4").tobytes()
    return point_values(run, projection, measure).astype("<f4").tobytes()


def moved_embeddings(run: Run, step: int | None) -> bytes:
    """Return the embeddings of up to `MOST_MOVED` tracked images at a step, or at the end, for the page to lay out.

    Their number (int32), the curvature of their ball, 0 for none (float32), their items (int32), the rows (float32).
    """
    embeddings, _ = run.embeddings_at(step)
    items = run.tracked_indices
    assert items is not None  # there are embeddings
    rows = np.unique(np.linspace(0, len(items) - 1, min(len(items), MOST_MOVED)).astype(np.int64))
    vectors = embeddings[items[rows] if step is None else rows]
    head = np.int32(len(rows)).tobytes() + np.float32(run.config.ball).tobytes()
    return head + items[rows].astype("<i4").tobytes() + vectors.astype("<f4").tobytes()


MAX_POINTS = 500
MAX_SLOW_POINTS = 100  # of a net with unfrozen blocks, which takes up to 0.3 s an image where there is no GPU


def train_points(run: Run, view: str, services: Services) -> TrainPoints:
    """Place up to 500 images that a run has trained on (100 with unfrozen blocks), by its last net.

    On its own view they are placed by its checkpoints, too.

    Args:
        run: A run with weights.
        view: "live", or the ID of a finished projection of the end.
        services: Access to the inference worker.

    Returns:
        Their labels, the steps, and the positions at each step (steps × n × dims); held-out classes have none.

    Raises:
        UserError: If the run has no net, its data set is not on disk, or the view has no place for new points.
    """
    end = run.end
    if run.embeddings is None or end is None:
        raise run.lacks("places for training images")
    if not (run.path / "weights.safetensors").exists():
        raise UserError(f"{run.title} has no net, so there is nothing to place training images with.")
    images, labels = _trained_on(run.config, services.data)
    answer = services.jobs.embed(run.id, images, views=[view], trajectory="places" if view == LIVE else False)
    if view not in answer["places"]:
        raise UserError("Training images are shown on maps of the end of a run only.")
    trajectory = answer.get("trajectory") or Trajectory(steps=[], places=[], embeddings=[])
    places = [*trajectory["places"], answer["places"][view]]
    return {
        "labels": labels.tolist(),
        "steps": [*trajectory["steps"][: len(trajectory["places"])], end["step"]],
        "places": [np.asarray(at, np.float64).round(4).tolist() for at in places],
    }


@lru_cache(maxsize=4)
def _trained_on(config: TrainConfig, root: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return some images that a config trains on, of each class in proportion, and their labels."""
    if config.dataset not in data.available_datasets(root):
        raise UserError(f"{config.dataset} is not on disk here, so there are no pictures of it: train on it once.")
    train = as_trained(data.load(config.dataset, root), config, root).train
    rows = split_training_images(config, train.labels).train
    count = MAX_SLOW_POINTS if config.unfrozen_blocks else MAX_POINTS
    sample = rows[stratified_subset(train.labels[rows], count)]
    return train.images[sample].copy(), train.labels[sample]
