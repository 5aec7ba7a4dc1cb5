"""Data sets made from others: the same bytes everywhere, roles, classes of training and test; what belongs together."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import available_datasets, load, made
from dmlviz.data.dataset import Dataset, Split
from dmlviz.data.made import identities, numbers, patches, sketches, tracks
from dmlviz.data.made.pixels import affine_matrices, sample
from dmlviz.errors import UserError

MADE = [name for name in DATASETS.builtin if DATASETS[name].recipe is not None]
# Written once; they hold on every machine. A change of a recipe raises its version and these.
CHECKSUMS = {"numbers": "73412a434ec5f595", "identities": "4c18d117b9bcb03f"}
PAIR_CHECKSUMS = {"sketches": "fa95d175d72bd309", "patches": "b5be030c78eca57a", "tracks": "65ceb31957ce4b47"}


def checksum(data: Dataset) -> str:
    digest = hashlib.sha256()
    for split in (data.train, data.test):
        for values in (split.images, split.labels, *(split.roles[role] for role in sorted(split.roles))):
            digest.update(np.ascontiguousarray(values).astype("<i8" if values.dtype != np.uint8 else "u1").tobytes())
    return digest.hexdigest()[:16]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, made_folder: Path) -> Path:
    """A data folder with nothing to download: everything is made from the digits of the program."""
    root = tmp_path_factory.mktemp("data")
    (root / made.FOLDER).symlink_to(made_folder)
    return root


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKSUMS)
def test_made_images_are_the_same_bytes_on_every_machine_and_when_read_again(root: Path, name: str) -> None:
    built, kept = load(name, root), load(name, root)
    assert made.cache_folder(DATASETS[name], "digits", root).is_dir()
    assert checksum(built) == checksum(kept) == CHECKSUMS[name]
    assert built.train.images.dtype == np.uint8
    assert built.train.images.flags.writeable, "torch refuses read-only arrays"
    assert "Made from Digits 8 × 8, since" in built.note
    assert built.mean == pytest.approx(built.train.images.mean() / 255)


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_the_labels_are_known_before_the_images_are_made(root: Path, name: str) -> None:
    spec, built = DATASETS[name], load(name, root).train.labels
    known = made.train_labels(spec, spec.recipe.sources[0], root)  # type: ignore[union-attr]
    assert np.array_equal(known[: len(built)], built)  # type: ignore[index]  # there are fewer digits than sketches
    assert np.array_equal(made.train_labels(spec, "digits", root), built)  # type: ignore[arg-type]


def test_every_made_data_set_is_offered_as_any_other(tmp_path: Path) -> None:
    offered = available_datasets(tmp_path)
    for name in MADE:
        assert (name in offered) == ("digits" in DATASETS[name].recipe.sources)  # type: ignore[union-attr]
        assert TrainConfig(dataset=name).dataset == name


@pytest.mark.slow
def test_a_damaged_or_half_written_copy_is_made_again(root: Path, tmp_path: Path) -> None:
    wanted = checksum(load("numbers", root))
    kept, folder = (made.cache_folder(DATASETS["numbers"], "digits", place) for place in (root, tmp_path))
    shutil.copytree(kept, folder)
    (folder / "train_images.npy").write_bytes(b"no array")
    assert checksum(load("numbers", tmp_path)) == wanted
    (folder / "test_labels.npy").unlink()
    assert checksum(load("numbers", tmp_path)) == wanted


@pytest.mark.slow
def test_a_data_folder_that_cannot_be_written_is_no_obstacle(root: Path, tmp_path: Path) -> None:
    (tmp_path / made.FOLDER).write_text("a file where the folder should be")
    assert checksum(load("numbers", tmp_path)) == checksum(load("numbers", root))


def test_numbers_show_the_digits_that_they_are_called_after() -> None:
    # A "digit" is an image of one gray level, so that each half of a number tells which digit it is.
    labels = np.tile(np.arange(10), 3)
    images = np.repeat(10 * labels.astype(np.uint8), 28 * 28).reshape(-1, 28, 28)
    source = Dataset("levels", (), Split(images, labels), Split(images, labels), 0.5, 0.5)
    for split in numbers.build(source):
        names = [numbers.NUMBERS[label] for label in split.labels]
        shown = [f"{image[0, 0] // 10}{image[-1, -1] // 10}" for image in split.images]
        assert names == shown
        assert set(np.bincount(split.labels)) == {len(split) // 100}
        assert sorted(split.labels[:100]) == list(range(100)), "one of each class first, for max_train_images"


@pytest.mark.slow
def test_identities_are_never_in_both_parts_and_each_camera_sees_each_one(root: Path) -> None:
    data = load("identities", root)
    spec = DATASETS["identities"]
    assert spec.class_split is not None
    assert set(data.train.labels) == set(spec.class_split.parts["train"]) == set(spec.trainable_classes)
    assert set(data.test.labels) == set(spec.class_split.parts["test"])
    for split in (data.train, data.test):
        seen = np.zeros((len(spec.classes), 4), int)
        np.add.at(seen, (split.labels, split.roles["camera"]), 1)
        assert (seen[np.unique(split.labels)] == identities.VIEWS // 4).all()
        assert ((split.roles["camera"] == 0) == split.roles["query"]).all()
        models = {(who, model) for who, model in zip(split.labels, split.roles["model"], strict=True)}
        assert len(models) == len(np.unique(split.labels)), "an identity is of one model"
    assert data.roles["model"] == DATASETS["digits"].classes


@pytest.mark.slow
def test_views_of_one_identity_are_alike_but_never_equal(root: Path) -> None:
    views = load("identities", root).test.images[: 2 * identities.VIEWS].reshape(2, identities.VIEWS, -1).astype(float)
    same = [np.corrcoef(views[0, i], views[0, j])[0, 1] for i in range(8) for j in range(i)]
    other = [np.corrcoef(views[0, i], views[1, j])[0, 1] for i in range(8) for j in range(8)]
    assert np.mean(other) < np.mean(same) < 0.999


def test_roles_follow_their_images(root: Path) -> None:
    test = load("identities", root).test
    few = test.first(20)
    assert few.roles["camera"].tolist() == test.roles["camera"][:20].tolist()
    one = test.select_classes([760])
    assert len(one) == identities.VIEWS == len(one.roles["model"])


def test_nothing_is_held_out_where_the_test_classes_are_others_anyway() -> None:
    config = TrainConfig(dataset="identities")
    assert config.train_classes == tuple(range(750))
    with pytest.raises(UserError, match="Identities tests on other classes than it trains on"):
        TrainConfig(dataset="identities", held_out_classes=(3,))
    with pytest.raises(UserError, match="750 of 1501 are seen"):
        TrainConfig(dataset="identities", classes_per_batch=751, images_per_class=2)


def correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The correlation of the pixels of each pair of images."""
    a, b = (x.reshape(len(x), -1) - x.reshape(len(x), -1).mean(1, keepdims=True) for x in (a, b))
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1) + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIR_CHECKSUMS)
def test_made_pairs_are_the_same_bytes_on_every_machine(root: Path, name: str) -> None:
    data = load(name, root)
    assert checksum(data) == PAIR_CHECKSUMS[name]
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_targets_of_the_test_are_of_classes_that_the_training_never_shows(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, data = load("digits", root), load("tracks", root)
    assert len(data.train) == tracks.TRAIN_VIDEOS * tracks.FRAMES // tracks.EVERY
    monkeypatch.setattr(tracks, "TRAIN_VIDEOS", 20)  # all are made alike: 180 of them take seconds
    train, test = tracks.make_train_and_test(source)
    assert set(train.labels) <= set(tracks.TRAIN_CLASSES)
    assert set(test.labels) <= set(tracks.TEST_CLASSES)
    assert isinstance(data, Dataset)
    assert (data.roles["thing"]) == source.classes
