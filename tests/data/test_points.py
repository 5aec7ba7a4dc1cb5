"""Points of the plane as data: a picture of a dot each, which a net reads, trains on, and whose plane it bends."""

from collections import deque

import numpy as np
import pyarrow
import pytest
import torch

from dmlviz.cleaning.search import clean
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.data.import_path import import_table
from dmlviz.data.points import import_points
from dmlviz.data.query_image import prepare
from dmlviz.data.table_file import Choice
from dmlviz.errors import UserError
from dmlviz.nets import build
from dmlviz.nets.models import PlaceOfDot
from dmlviz.ops.dots import draw_dots, grid
from dmlviz.runs.embed import embed
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

SHAPES = ("moons", "rings", "spirals", "blobs")


def read(pictures):
    return PlaceOfDot()(torch.from_numpy(pictures).float()[:, None] / 255).numpy()


def table(points, labels=None, **columns):
    named = {} if labels is None else {"label": labels}
    return pyarrow.table({"x": points[:, 0], "y": points[:, 1], **named, **columns})


def scattered(count=40, spread=1.0):
    points = np.random.default_rng(0).uniform(-spread, spread, (count, 2))
    return points, ["left" if x < 0 else "right" for x, _ in points]


def test_a_net_reads_each_point_from_its_picture():
    points = np.concatenate([np.random.default_rng(0).uniform(-1, 1, (500, 2)), grid()])
    assert np.abs(read(draw_dots(points)) - points).max() < 1e-3
    assert np.isfinite(read(np.zeros((1, 28, 28), np.uint8))).all(), "a blank picture"
    with pytest.raises(UserError, match="choose linear or mlp"):
        build("small", of_points=True)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_the_same_each_time_and_a_neighbor_nearly_always_of_its_class(name):
    data, again = load(name), load(name)
    assert np.array_equal(data.train.images, again.train.images)
    assert len({*np.bincount(data.test.labels)}) == 1
    known, asked = read(data.train.images), read(data.test.images)
    nearest = np.square(asked[:, None] - known).sum(2).argmin(1)
    assert np.mean(data.train.labels[nearest] == data.test.labels) > 0.98
    assert data.std == pytest.approx(float((data.train.images / 255).std()), abs=1e-4)


def test_a_table_of_points_keeps_their_places_classes_and_columns():
    points, labels = scattered()
    labels[0] = None
    made = import_table(table(points, labels, shop=[*"ab"] * 20), None, "t.csv", title="T", choice=Choice(points=True))
    assert made.declared.of_points
    assert made.declared.classes == ("left", "right")
    places = read(np.concatenate([made.parts["train_images"], made.parts["test_images"]]))
    kept = pyarrow.concat_tables([made.columns["train"], made.columns["test"]])
    assert kept.column_names == ["x", "y", "shop"]
    assert len(places) == 39, "the point without a class is left out"
    assert np.abs(places - np.stack([kept["x"], kept["y"]], 1)).max() < 1e-3
    assert not any("icture" in note for note in made.report_lines[:3])


def test_points_beyond_the_square_are_scaled_into_it_and_the_report_says_so():
    points, labels = scattered(spread=50)
    made = import_points(table(points + 200, labels), "t.csv", title="T", choice=Choice())
    places = read(np.concatenate([made.parts["train_images"], made.parts["test_images"]]))
    assert 0.9 < np.abs(places).max() < 1.001
    assert any("scaled to the square" in line for line in made.report_lines)


def test_points_that_are_refused_are_called_points():
    with pytest.raises(UserError, match=r"2 training points or more; .* add points"):
        import_points(table(scattered()[0], ["a"] * 40), "t.csv", title="T", choice=Choice())


def test_what_is_no_point_or_has_no_class_is_refused():
    points, labels = scattered()
    with pytest.raises(UserError, match="A point of the plane has two numbers"):
        import_points(table(points, labels, z=points[:, 0]), "t.csv", title="T", choice=Choice(("x", "y", "z")))
    with pytest.raises(UserError, match=r"Points are .* no column called label"):
        import_points(table(points), "t.csv", title="T", choice=Choice())


def test_a_drawing_is_the_point_in_its_middle():
    drawing = np.zeros((56, 56), np.uint8)
    drawing[10:14, 40:44] = 255
    prepared = prepare(drawing, "moons")
    x, y = read(prepared.image[None])[0]
    assert (x, y) == pytest.approx((14 / 28 * 14 / 9.5, 16 / 28 * 14 / 9.5), abs=2e-3)
    assert prepared.steps[-1].caption == f"x = {x:.2f}, y = {y:.2f}"


@pytest.mark.slow
def test_the_page_draws_the_dots_and_the_grid_that_python_does(page_script):
    points = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    said = page_script("dots", points.tolist())
    assert np.abs(np.array(said["dots"]) - draw_dots(points).reshape(30, -1)).max() <= 1
    assert np.array_equal(said["grid"], draw_dots(grid()).reshape(-1))


@pytest.mark.parametrize("dims", [2, 5])
def test_each_snapshot_of_a_training_has_the_grid_where_the_map_has_its_net(tmp_path, dims):
    loss = {"loss": "custom_triplet", "loss_params": {"formula": "relu(d_ap - d_an + 0.3)"}, "normalize": False}
    config = TrainConfig(dataset="rings", embedding_dim=dims, steps=20, num_snapshots=4, **loss)
    run = Runs(tmp_path).create(config)
    deque(train_and_record(run), maxlen=0)
    events = run.events()
    snapshots = [event for event in events if event["event"] == "snapshot"]
    (replay,) = [event["frames"] for event in events if event["event"] == "replay"]
    assert all(np.shape(one["grid"]) == (289, 2) for one in [*snapshots, *replay])
    bent = run.linear_projection.project(embed(run, draw_dots(grid())))
    assert np.abs(np.array(replay[-1]["grid"]) - bent).max() < 0.01 * np.abs(bent).max()
    assert not {"duplicate", "leak"} & {row.kind for row in clean(run).rows}, "a point is not the one beside it"
    assert TrainConfig(dataset="rings", loss="triplet").embedding_dim == 2
