"""Values to color the map by, what lies at an empty place of it, and the projection in the URL."""

import base64
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dmlviz_app.answers import point_values
from dmlviz_app.answers.point_values import MAX_POINTS, _trained_on, moved_embeddings, point_value_bytes, train_points
from dmlviz_app.answers.protocol import Mixture
from dmlviz_app.explore.maps import _set_parameters
from dmlviz_app.forms.view_query import COLOR_MODES
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.workbench.component_props import layout_settings
from dmlviz_app.workbench.current_view import RunView
from pydantic import TypeAdapter

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data import load
from dmlviz.data.import_path import import_path
from dmlviz.errors import UserError
from dmlviz.jobs.job import Status
from dmlviz.ops.training_dynamics import training_dynamics
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.per_query import per_query_bytes
from dmlviz.runs.point_values import DYNAMICS, POINT_MEASURES, distances_to_centers, point_measures
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.run import LIVE
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.storage.paths import data_root
from dmlviz.training.validation_split import split_training_images


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def run(runs):
    config = TrainConfig(dataset="digits", net="mlp", embedding_dim=8, steps=12, num_snapshots=3, eval_subset_size=100)
    made = runs.create(config)
    list(train_and_record(made))
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


def test_what_images_went_through_is_of_the_tracked_ones_and_needs_three_snapshots(runs, run):
    tracked = np.asarray(run.tracked_indices)
    neighbors = []
    for step in run.embedded_steps[1:]:
        embeddings, labels = run.embeddings_at(step)
        apart = np.linalg.norm(embeddings[:, None] - embeddings[None], axis=2) + 9 * np.eye(len(labels))
        neighbors.append(apart.argsort(axis=1, kind="stable")[:, :10])
    expected = training_dynamics(neighbors, labels)
    for measure in DYNAMICS:
        found = numbers(run, None, measure)
        assert np.flatnonzero(np.isfinite(found)).tolist() == tracked.tolist()
        np.testing.assert_allclose(found[tracked], getattr(expected, measure), atol=1e-6)
    short = runs.create(run.config.replace(num_snapshots=1, steps=4))
    list(train_and_record(short))
    assert point_measures(runs.get(short.id), None) == ("faithfulness", "center")


def test_at_each_step_with_embeddings_the_tracked_images_are_judged(run):
    for step in run.embedded_steps:  # the end among them, which is no snapshot
        items = np.frombuffer(per_query_bytes(run, step), "<i4").reshape(7, -1)[0]
        assert items.tolist() == run.tracked_indices.tolist()


def test_the_page_is_given_the_points_that_it_moves(runs, run, monkeypatch):
    monkeypatch.setattr(point_values, "MOST_MOVED", 30)
    for step, embeddings in ((None, run.embeddings), (run.end_step, run.embeddings), (run.snapshot_steps[1], None)):
        content = moved_embeddings(run, step)
        n = int(np.frombuffer(content, "<i4", 1)[0])
        items = np.frombuffer(content, "<i4", n, 8)
        assert n == 30
        assert set(items) <= set(run.tracked_indices)
        rows = np.searchsorted(run.tracked_indices, items)
        expected = run.snapshot(step)[rows] if embeddings is None else embeddings[items]
        np.testing.assert_allclose(np.frombuffer(content, "<f4", -1, 8 + 4 * n).reshape(n, -1), expected, atol=1e-3)


@pytest.mark.parametrize(
    ("method", "more", "words"),
    [
        ("tsne", {}, {"perplexity", "attraction", "metric"}),
        ("umap", {}, {"neighbors", "min_dist", "metric"}),
        ("umap", {"params": {"neighbors": 150}, "follow": True}, {"neighbors", "min_dist", "metric"}),
        ("pca", {}, set()),
        ("tsne", {"dims": 3}, "three dimensions"),
        ("tsne", {"engine": "reference"}, "Another program"),
        ("umap", {"params": {"supervised": True}}, "does not move"),
    ],
)
def test_the_settings_that_move_a_map_are_its_own_and_of_others_it_says_why_not(runs, run, method, more, words):
    projection = runs.create_projection(run, ProjectionConfig(method=method, **more))
    view = RunView(run, Status("finished"), None, projection)
    settings = layout_settings(view)
    if isinstance(words, str):
        assert words in settings
        assert settings.endswith("under Parameters.")
        return
    assert {one["name"] for one in settings} == words
    for one in settings:
        assert one["value"] == projection.config.params[one["name"]]
        assert one["choices"] or one["minimum"] <= one["value"] <= one["maximum"]
    for name, value in {"perplexity": 12, "neighbors": 7, "min_dist": 0.5, "metric": "cosine"}.items():
        if name in words:
            ui = UIState(run=run.id)
            _set_parameters(ui, view, {"values": {name: value}, "step": run.end_step})
            assert ui.projection() == ProjectionConfig(
                method=method, params=projection.config.params | {name: value}, follow=False
            )
    if more.get("follow"):
        _set_parameters(ui, view, {"values": {}, "step": run.snapshot_steps[1]})
        assert ui.projection().step == run.snapshot_steps[1]


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
    assert set(COLOR_MODES) == {"class", "error", *POINT_MEASURES}


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


CONFIG = TrainConfig(
    dataset="digits", net="mlp", embedding_dim=4, steps=20, num_snapshots=6, held_out_classes=(3,), eval_subset_size=50
)


def services() -> Any:
    """The server's services, with the worker's code in this process."""
    from dmlviz.runs.embed import embed_and_place
    from dmlviz.runs.run import Run

    def embed(run: str, images: np.ndarray, views: list[str], trajectory: bool) -> dict[str, Any]:
        return embed_and_place(Run(embed.folder), images, views, trajectory)

    return SimpleNamespace(jobs=SimpleNamespace(embed=embed), data=data_root())


def test_training_images_lie_where_the_nets_of_the_run_put_them(tmp_path):
    from dmlviz.runs.embed import embed

    run = Runs(tmp_path, bundled=tmp_path / "none").create(CONFIG)
    here = services()
    here.jobs.embed.folder = str(run.path)
    with pytest.raises(UserError, match="no places for training images"):
        train_points(run, LIVE, here)
    list(train_and_record(run))
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


MIXTURE = TypeAdapter(Mixture)


@pytest.fixture
def lies(client, trained):
    """Ask for a mixture of test images; the status and the answer."""

    def ask(near, view="live", run=trained.id):
        answer = client.get(f"/dmlviz/runs/{run}/mixture/{view}.json", params={"near": near})
        return answer.status_code, answer.json()

    return ask


def test_one_image_alone_lies_at_its_own_place_and_two_make_their_mean(lies, trained):
    images = load("digits").test.images
    for item in (0, 77):
        status, answer = lies(f"{item}:0.2")
        alone = MIXTURE.validate_python(answer, strict=False)
        assert (status, alone["by_net"]) == (200, True)
        assert base64.b64decode(alone["picture"]["ink"]) == images[item].tobytes()
        here = trained.linear_projection.project(np.asarray(trained.embeddings[[item]]))[0]
        np.testing.assert_allclose(alone["place"], here, atol=1e-3)
    ink = np.frombuffer(base64.b64decode(lies("0:3,77:1")[1]["picture"]["ink"]), np.uint8)
    np.testing.assert_allclose(ink, (0.75 * images[0] + 0.25 * images[77]).ravel(), atol=0.51)


@pytest.mark.parametrize(
    ("near", "view", "words"),
    [
        ("", "live", "ITEM:WEIGHT"),
        ("1", "live", "ITEM:WEIGHT"),
        ("1:e", "live", "A weight is a number"),
        ("1:0", "live", "a positive weight"),
        ("1:1e999", "live", "a positive weight"),
        ("1:1,1:1", "live", "One to 5 different test images"),
        ("1:1,2:1,3:1,4:1,5:1,6:1", "live", "One to 5 different test images"),
        ("5000:1", "live", "from 0 to 595"),
        ("1:1", "0" * 16, "projection"),
    ],
)
def test_what_is_no_mixture_is_refused_in_a_sentence(lies, near, view, words):
    status, answer = lies(near, view)
    assert status in (404, 422)
    assert words in answer["error"]


def test_rows_of_a_table_are_mixed_in_its_columns_and_placed_by_the_mean_of_their_vectors(lies, here, tmp_path):
    rows = [f"{'ab'[i % 2]},{i % 7},{i % 5},{i / 2},{('north', 'south')[i % 2]}" for i in range(40)]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["label,d0,d1,price,shop", *rows]))
    run = import_embeddings(Runs(here.runs.folder, tmp_path / "none"), import_path(file), "t")
    status, answer = lies("3:3,10:1", run=run.id)
    assert (status, answer["picture"], answer["by_net"]) == (200, None, False)
    assert answer["values"] == [["price", "2.375"], ["shop", "south (75%)"]]
