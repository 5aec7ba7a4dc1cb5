"""The templates of a net of one matrix: its rows, and its class templates with the weights of the loss."""

import numpy as np
import pytest
from dmlviz_app.explore.templates import color, templates

from dmlviz.config import TrainConfig
from dmlviz.runs.run import LOSS_WEIGHTS
from dmlviz.runs.run_recorder import write_weights
from dmlviz.runs.store import Runs

RANDOM = np.random.default_rng(0)
W = RANDOM.normal(size=(3, 64)).astype(np.float32)
V = RANDOM.normal(size=(10, 3)).astype(np.float32)


@pytest.fixture
def run(tmp_path):
    config = TrainConfig(dataset="digits", net="linear", loss="softmax", embedding_dim=3)
    made = Runs(tmp_path, bundled=tmp_path / "bundled").create(config)
    write_weights(made.path / "weights.safetensors", {"body.1.weight": W})
    write_weights(made.path / LOSS_WEIGHTS, {"weight": V, "bias": np.zeros(10, np.float32)})
    return made


def test_a_class_scores_the_sum_of_its_template_times_the_image(run):
    found, image = templates(run), RANDOM.normal(size=(8, 8))
    assert found.rows.shape == (3, 8, 8, 1)
    scores = (found.classes[..., 0] * image).sum(axis=(1, 2))
    assert scores == pytest.approx(V @ (W @ image.ravel()), rel=1e-5)


def test_without_a_head_there_are_rows_only_and_another_net_has_none(run):
    (run.path / LOSS_WEIGHTS).unlink()
    assert templates(run).classes is None
    write_weights(run.path / "weights.safetensors", {"a.weight": W, "a.bias": W[:, 0]})
    assert templates(run) is None
    (run.path / "weights.safetensors").unlink()
    assert templates(run) is None


def test_a_template_is_red_above_and_blue_below_zero(run):
    picture = color(np.array([[[2.0], [-1.0]], [[0.0], [0.0]]]))
    red, _, blue = picture[0, 0].astype(int)
    assert red > blue
    red, _, blue = picture[0, -1].astype(int)
    assert blue > red
    assert len(set(picture[-1, 0].tolist())) == 1
