"""Training images beside the test images on a map."""

from base64 import b64encode
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dmlviz_app.answers.train_points import MAX_POINTS, _trained_on, train_points

from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.runs.run import LIVE
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.storage.paths import data_root
from dmlviz.training.validation_split import split_training_images

CONFIG = TrainConfig(
    dataset="digits", net="mlp", embedding_dim=4, steps=20, num_snapshots=6, held_out_classes=(3,), eval_subset_size=50
)


def services() -> Any:
    """The server's services, with the worker's code in this process."""
    from dmlviz.runs.embed import handle_request

    def embed(run: str, images: np.ndarray, views: list[str], trajectory: bool) -> dict[str, Any]:
        pixels = b64encode(images.tobytes()).decode()
        return handle_request(
            {
                "run": embed.folder,
                "images": pixels,
                "shape": list(images.shape),
                "views": views,
                "trajectory": trajectory,
            }
        )

    return SimpleNamespace(jobs=SimpleNamespace(embed=embed), data=data_root())


def test_training_images_lie_where_the_nets_of_the_run_put_them(tmp_path):
    from dmlviz.runs.embed import embed

    run = Runs(tmp_path, bundled=tmp_path / "none").create(CONFIG)
    here = services()
    here.jobs.embed.folder = str(run.path)
    with pytest.raises(UserError, match="no places for training images"):
        train_points(run, LIVE, here)
    for _ in train_and_record(run):
        pass
    points = train_points(run, LIVE, here)
    assert points["steps"] == [*run.checkpoint_steps, 20]
    assert len(points["places"]) == len(points["steps"])
    images, labels = _trained_on(CONFIG, data_root())
    assert points["labels"] == labels.tolist()
    assert len(labels) == MAX_POINTS
    assert 3 not in labels
    for step, places in zip([*run.checkpoint_steps, None], points["places"], strict=True):
        expected = run.linear_projection.project(embed(run, images, step))
        np.testing.assert_allclose(places, expected, atol=1e-3)
    digits = load("digits").train
    split = split_training_images(CONFIG, digits.labels)
    held_out = {image.tobytes() for image in digits.images[split.validation]}
    assert not held_out & {image.tobytes() for image in images}
