"""The thumbnail of a map on a run's card."""

import io
import os

import numpy as np
from dmlviz_app.answers.thumbnails import PALETTE, SIZE, last_frame, render, thumbnail
from PIL import Image

from dmlviz.runs.run import Run


def ink(picture):
    """Share of the picture that is painted."""
    return float((np.asarray(picture)[..., 3] > 0).mean())


def test_a_thumbnail_draws_each_class_in_its_color():
    positions = np.array([[-1.0, 0.0], [1.0, 0.0], [np.nan, 0.0]], np.float32)
    pixels = np.asarray(render(positions, np.array([0, 3, 5]), 2.0, "light"))
    left, right = pixels[:, : SIZE[0] // 2], pixels[:, SIZE[0] // 2 :]
    for half, color in ((left, PALETTE["light"][0]), (right, PALETTE["light"][3])):
        solid = half[half[..., 3] == 255]
        assert len(solid)
        assert (solid[:, :3] == [int(color[i : i + 2], 16) for i in (1, 3, 5)]).all()


def test_the_last_frame_of_a_finished_run_has_all_test_images(run):
    positions, labels, around = last_frame(run)
    assert len(positions) == len(labels) == len(run.labels)
    assert np.abs(positions - run.linear_projection.project(np.asarray(run.embeddings))).max() < 0.01
    assert around >= np.ptp(positions, axis=0).max()


def test_a_collapsed_run_is_drawn_as_a_dot():
    positions = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    labels = np.arange(500) % 10
    wide, dot = (np.asarray(render(positions * size, labels, 6.0, "light"))[..., 3] > 0 for size in (1, 1e-3))
    assert wide.any(axis=1).mean() > 0.5
    assert 0 < dot.any(axis=1).mean() < 0.05


def test_a_running_run_shows_tracked_images_and_one_without_a_frame_is_empty(here, write):
    under_way = write(here.runs, upto=4)
    positions, labels, _ = last_frame(under_way)
    assert len(positions) == len(labels) == len(under_way.tracked_indices)
    assert ink(render(*last_frame(write(here.runs, upto=0)), "dark")) == 0


def test_a_thumbnail_is_cached_until_the_run_continues(run, tmp_path):
    png = thumbnail(run, "dark", tmp_path)
    (first,) = (tmp_path / "thumbnails").iterdir()
    made = first.stat().st_mtime_ns
    assert thumbnail(Run(run.path), "dark", tmp_path) == png == first.read_bytes()
    assert first.stat().st_mtime_ns == made
    assert ink(Image.open(io.BytesIO(png))) > 0.01
    os.utime(run.log.path, ns=(0, 10**15))
    thumbnail(run, "dark", tmp_path)
    (second,) = (tmp_path / "thumbnails").iterdir()
    assert second.name != first.name
