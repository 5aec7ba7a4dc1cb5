"""Data sets made from others: the same bytes everywhere, roles, classes that training and test do not share."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import available_datasets, load, made
from dmlviz.data.dataset import Dataset, Split
from dmlviz.data.made import identities, numbers
from dmlviz.errors import UserError

MADE = [name for name in DATASETS.builtin if DATASETS[name].recipe is not None]


def checksum(data: Dataset) -> str:
    digest = hashlib.sha256()
    for split in (data.train, data.test):
        for values in (split.images, split.labels, *(split.roles[role] for role in sorted(split.roles))):
            digest.update(np.ascontiguousarray(values).astype("<i8" if values.dtype != np.uint8 else "u1").tobytes())
    return digest.hexdigest()[:16]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with nothing to download: everything is made from the digits of the program."""
    return tmp_path_factory.mktemp("data")


# Written once; they hold on every machine. A change of a recipe raises its version and these.
CHECKSUMS = {"numbers": "73412a434ec5f595", "identities": "4c18d117b9bcb03f"}


@pytest.mark.parametrize("name", CHECKSUMS)
def test_made_images_are_the_same_bytes_on_every_machine_and_when_read_again(root: Path, name: str) -> None:
    built, kept = load(name, root), load(name, root)
    assert made.cache_folder(DATASETS[name], "digits", root).is_dir()
    assert checksum(built) == checksum(kept) == CHECKSUMS[name]
    assert built.train.images.dtype == np.uint8
    assert built.train.images.flags.writeable, "torch refuses read-only arrays"
    assert "Made from Digits 8 × 8, since" in built.note
    assert built.mean == pytest.approx(built.train.images.mean() / 255)


def test_every_made_data_set_is_offered_as_any_other(tmp_path: Path) -> None:
    offered = available_datasets(tmp_path)
    for name in MADE:
        assert (name in offered) == ("digits" in DATASETS[name].recipe.sources)  # type: ignore[union-attr]
        assert TrainConfig(dataset=name).dataset == name


def test_a_damaged_or_half_written_copy_is_made_again(root: Path) -> None:
    wanted = checksum(load("numbers", root))
    folder = made.cache_folder(DATASETS["numbers"], "digits", root)
    (folder / "train_images.npy").write_bytes(b"no array")
    assert checksum(load("numbers", root)) == wanted
    (folder / "test_labels.npy").unlink()
    assert checksum(load("numbers", root)) == wanted


def test_a_data_folder_that_cannot_be_written_is_no_obstacle(root: Path, tmp_path: Path) -> None:
    (tmp_path / made.FOLDER).write_text("a file where the folder should be")
    assert checksum(load("identities", tmp_path)) == checksum(load("identities", root))


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
