"""Sketches, patches and tracks: the same bytes everywhere, and what belongs together is shown together."""

from pathlib import Path

import numpy as np
import pytest

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import load
from dmlviz.data.dataset import Dataset, Split
from dmlviz.data.made import patches, sketches, tracks
from dmlviz.data.made.warp import affine_matrices, sample
from tests.data.test_made import checksum

# Written once; they hold on every machine. A change of a recipe raises its version and these.
CHECKSUMS = {"sketches": "fa95d175d72bd309", "patches": "b5be030c78eca57a", "tracks": "65ceb31957ce4b47"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with nothing to download: everything is made from the digits of the program."""
    return tmp_path_factory.mktemp("data")


def correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The correlation of the pixels of each pair of images."""
    a, b = (x.reshape(len(x), -1) - x.reshape(len(x), -1).mean(1, keepdims=True) for x in (a, b))
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1) + 1e-9)


@pytest.mark.parametrize("name", CHECKSUMS)
def test_made_images_are_the_same_bytes_on_every_machine(root: Path, name: str) -> None:
    data = load(name, root)
    assert checksum(data) == CHECKSUMS[name]
    spec = DATASETS[name]
    assert spec.class_split is not None
    assert set(data.train.labels) <= set(spec.class_split.parts["train"])
    assert set(data.test.labels) <= set(spec.class_split.parts["test"])


def test_a_square_is_sampled_where_its_middle_is() -> None:
    ramp = np.arange(100.0).reshape(1, 10, 10)  # 10 · row + column
    still, twice = affine_matrices(np.zeros(2), np.array([1.0, 2.0]))
    at = np.array([[4.0, 5.0], [4.0, 5.0]])
    squares = sample(ramp, np.zeros(2, int), at, np.stack([still, twice]), 3)
    assert squares[0].tolist() == [[34, 35, 36], [44, 45, 46], [54, 55, 56]]
    assert squares[1].tolist() == [[23, 25, 27], [43, 45, 47], [63, 65, 67]]
    quarter = affine_matrices(np.array([90.0]), np.ones(1))
    turned = sample(ramp, np.zeros(1, int), at[:1], quarter, 3)
    assert np.allclose(turned[0], np.rot90(squares[0], -1))


def test_a_sketch_has_the_lines_of_its_photograph_and_of_no_other() -> None:
    rows, columns = np.mgrid[:28, :28]
    disks = np.stack([255 * ((rows - 14) ** 2 + (columns - 14) ** 2 < r * r) for r in (5, 11)]).astype(np.uint8)
    drawn = sketches.draw_sketches(disks, np.random.default_rng(0)) > 128
    for r, lines in zip((5, 11), drawn, strict=True):
        distance = np.abs(np.hypot(rows - 14, columns - 14) - r)
        assert lines.any()
        assert distance[lines].max() < 1.5 * sketches.WOBBLE + 2
    data = load("sketches")
    pair = data.train.roles["domain"].reshape(-1, 2)
    assert (pair == [0, 1]).all()
    assert (data.train.labels[0::2] == data.train.labels[1::2]).all()
    assert (data.train.roles["garment"][0::2] == data.train.roles["garment"][1::2]).all()


def test_views_of_a_point_are_alike_but_never_equal(root: Path) -> None:
    views = load("patches", root).test.images.reshape(-1, patches.VIEWS, patches.PATCH, patches.PATCH).astype(float)
    same = correlation(views[:, 0], views[:, 1])
    other = correlation(views[:, 0], np.roll(views[:, 1], 1, axis=0))
    assert other.mean() + 0.3 < same.mean() < 0.95
    assert same.max() < 0.999


def test_without_a_warp_two_views_are_one_patch() -> None:
    rng = np.random.default_rng(0)
    scenes = patches.make_scenes(Split(np.full((5, 28, 28), 200, np.uint8), np.arange(5)), 1, rng)
    seen = patches.see_points(scenes.images, np.zeros(120, int), np.rint(scenes.points[0]) + 0.5, rng, warp=0)
    row, column = np.rint(scenes.points[0][7]).astype(int) + 1
    assert np.array_equal(seen[7], scenes.images[0, row - 16 : row + 16, column - 16 : column + 16])


def test_the_target_is_where_its_box_is() -> None:
    bright = np.full((4, 28, 28), 255, np.uint8)
    videos = tracks.make_videos(Split(bright, np.arange(4)), 3, np.random.default_rng(0), distractors=0, noise_level=0)
    rows, columns = np.mgrid[: tracks.SIDE, : tracks.SIDE]
    for frames, boxes in zip(videos.frames, videos.boxes, strict=True):
        for frame, (row, column, side) in zip(frames, boxes, strict=True):
            lit = frame > 150
            inside = np.hypot(rows - row, columns - column) < side / 2 - 1
            assert lit[inside].all()
            assert np.hypot(rows[lit] - row, columns[lit] - column).max() < side * 0.75 + 1


def test_targets_of_the_test_are_of_classes_that_the_training_never_shows(root: Path) -> None:
    source = load("digits", root)
    train, test = tracks.make_train_and_test(source)
    assert set(train.labels) <= set(tracks.TRAIN_CLASSES)
    assert set(test.labels) <= set(tracks.TEST_CLASSES)
    data = load("tracks", root)
    assert len(data.train) == tracks.TRAIN_VIDEOS * tracks.FRAMES // tracks.EVERY
    assert isinstance(data, Dataset)
    assert (data.roles["thing"]) == source.classes
