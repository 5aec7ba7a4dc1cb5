"""Values to color the map by, and the projection in the URL."""

import numpy as np
import pytest
from dmlviz_app.answers.point_values import point_value_bytes
from dmlviz_app.forms.view_options import COLOR_MODES
from dmlviz_app.forms.view_state import UIState

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import UserError
from dmlviz.runs.point_values import distances_to_centers
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.run import LIVE
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def run(runs):
    config = TrainConfig(dataset="digits", net="mlp", embedding_dim=8, steps=10, num_snapshots=2, eval_subset_size=100)
    made = runs.create(config)
    for _ in train_and_record(made):
        pass
    return runs.get(made.id)


def drawn(runs, run, **fields):
    projection = runs.create_projection(run, ProjectionConfig(**fields))
    run_projection(projection.path)
    return run.projection(projection.id)


def numbers(*asked):
    return np.frombuffer(point_value_bytes(*asked), "<f4")


def test_the_distance_to_the_class_center_is_measured_in_the_embedding(run):
    found, member = numbers(run, None, "center"), np.asarray(run.labels) == run.labels[7]
    expected = np.linalg.norm(run.embeddings[7] - run.embeddings[member].mean(axis=0))
    assert found[7] == pytest.approx(expected, rel=1e-5)
    assert (distances_to_centers(np.array([[0.0, 0], [2, 0], [9, 9]]), np.array([3, 3, 5])) == [1, 1, 0]).all()


def test_faithfulness_of_the_live_view_equals_the_librarys(runs, run):
    from dmlviz.projection import projection_quality

    kept = projection_quality(run.embeddings, run.linear_projection.project(run.embeddings)).per_point["neighbors_kept"]
    np.testing.assert_allclose(numbers(run, None, "faithfulness"), kept)
    projection = drawn(runs, run)
    np.testing.assert_allclose(numbers(run, projection, "faithfulness"), projection.quality["neighbors_kept"])


def test_at_an_epoch_only_tracked_images_have_values(runs, run):
    projection = drawn(runs, run, step=run.embedded_steps[0])
    for measure in ("center", "faithfulness"):
        known = np.isfinite(numbers(run, projection, measure))
        assert (np.flatnonzero(known) == run.tracked_indices).all()


def test_a_missing_measure_is_one_sentence(runs, run):
    unfinished = runs.create_projection(run, ProjectionConfig(follow=True))
    with pytest.raises(UserError, match="to color by yet"):
        point_value_bytes(run, unfinished, "center")
    with pytest.raises(UserError, match="to color by yet"):
        point_value_bytes(run, None, "../../etc")


def test_a_projection_is_in_the_url():
    ui = UIState()
    ui.set_view("tsne")
    ui.set_projection(dims=3, seed=4, step=None, follow=False)
    query = ui.to_query()
    assert query == {"view": "tsne", "map.dims": "3", "map.seed": "4"}
    again = UIState.from_query(query)
    assert again.projection() == ui.projection() == ProjectionConfig(method="tsne", dims=3, seed=4)
    assert set(COLOR_MODES) == {"class", "error", "faithfulness", "center"}


def test_restore_view_returns_to_the_previous_view():
    ui = UIState()
    ui.set_view("pca")
    ui.set_view("tsne")
    ui.restore_view()
    assert ui.view == "pca"
    ui.restore_view()
    assert ui.view == LIVE


@pytest.mark.parametrize("query", [{"map.dims": "4"}, {"map.step": "-1"}, {"map.follow": "perhaps"}])
def test_an_invalid_projection_is_reported_and_ignored(query):
    ui = UIState.from_query({"view": "pca"} | query)
    assert len(ui.messages.all()) == 1
    assert ui.projection_overrides == {}
