"""Training images beside the test images on a map: where the nets of a finished run put them."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz import data
from dmlviz.config import TrainConfig
from dmlviz.data import stratified_subset
from dmlviz.data.label_noise import as_trained
from dmlviz.errors import UserError
from dmlviz.runs.answers import Trajectory
from dmlviz.runs.run import LIVE, Run
from dmlviz.training.validation_split import split_training_images
from dmlviz_app.answers.protocol import TrainPoints
from dmlviz_app.server.services import Services

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
