"""Corrections of labels: an overlay in the data folder, and trainings that use it."""

import numpy as np
import pytest

from dmlviz.config import TrainConfig
from dmlviz.data import data_root, load
from dmlviz.data.corrections import EXCLUDED, Corrections, as_trained, corrected, load_corrections
from dmlviz.errors import DamagedFileError, DataUnavailableError, UserError
from dmlviz.training.loop import train
from dmlviz.training.validation_split import split_training_images


def decided():
    corrections = (
        Corrections("digits")
        .decide(3, "relabel", 1201, 10, 7)
        .decide(5, "exclude", 1201, 10)
        .decide(6, "confirm", 1201, 10)
    )
    return (
        corrections.decide(8, "tag", 1201, 10, tag=" torn ").decide(9, "exclude", 1201, 10).decide(9, "undo", 1201, 10)
    )


def test_decisions_are_kept_beside_the_data(tmp_path):
    corrections = decided()
    assert corrections.changes == {3: 7, 5: EXCLUDED}
    assert corrections.images[8].tag == "torn"
    assert corrections.decide(3, "tag", 1201, 10, tag="odd").images[3].label == 7  # a tag leaves the decision alone
    corrections.save(tmp_path)
    assert load_corrections(tmp_path, "digits") == corrections
    assert load_corrections(tmp_path, "mnist") == Corrections("mnist")
    for action, label in (("relabel", 10), ("relabel", None), ("burn", None)):
        with pytest.raises(UserError):
            corrections.decide(1, action, 1201, 10, label)


def test_a_revision_stays_what_it_was(tmp_path):
    corrections = decided()
    revision = corrections.freeze(tmp_path)
    assert revision == corrections.decide(77, "confirm", 1201, 10).revision
    later = corrections.decide(4, "exclude", 1201, 10)
    assert later.freeze(tmp_path) != revision
    assert load_corrections(tmp_path, "digits", revision).changes == corrections.changes
    assert Corrections("digits").freeze(tmp_path) is None
    path = tmp_path / "corrections" / "digits" / f"{revision}.json"
    path.write_text(path.read_text().replace("7", "6"))
    with pytest.raises(DamagedFileError, match="named after"):
        load_corrections(tmp_path, "digits", revision)
    path.write_text("{")
    with pytest.raises(DamagedFileError):
        load_corrections(tmp_path, "digits", revision)


def test_a_training_uses_the_revision_that_it_names(tmp_path):
    data = load("digits")
    wrong = Corrections("digits")
    for image in range(400):
        label = int(data.train.labels[image])
        wrong = (
            wrong.decide(image, "exclude", 1201, 10)
            if image % 4
            else wrong.decide(image, "relabel", 1201, 10, (label + 1) % 10)
        )
    revision = wrong.freeze(tmp_path)
    seen = corrected(data, revision, tmp_path)
    assert (seen.train.labels[:400:4] == (data.train.labels[:400:4] + 1) % 10).all()
    assert np.array_equal(seen.train.labels[400:], data.train.labels[400:])
    config = TrainConfig(dataset="digits", net="mlp", steps=2, num_snapshots=1, corrections=revision, batch_size=20)
    split = split_training_images(config, seen.train.labels)
    assert not np.isin(
        np.flatnonzero(seen.train.labels == EXCLUDED), np.concatenate([split.train, split.validation])
    ).any()
    started, *_, end = train(config, data=data, root=tmp_path)
    assert started.train_images + started.validation_images == len(data.train) - 300
    plain = list(train(config.replace(corrections=None), data=data))[-1]
    assert not np.array_equal(end.embeddings, plain.embeddings)
    with pytest.raises(DataUnavailableError, match="There are no corrections"):
        next(train(config.replace(corrections="0" * 16), data=data, root=tmp_path))
    with pytest.raises(UserError, match="corrections"):
        TrainConfig(corrections="latest")


def test_a_decision_is_about_an_image_that_there_is(tmp_path):
    for image in (-1, 1201):
        for action in ("exclude", "undo"):
            with pytest.raises(UserError, match=f"have the numbers 0 to 1,200; got {image:,}"):
                Corrections("digits").decide(image, action, 1201, 10)
    wrong = Corrections("digits").decide(5000, "exclude", 6000, 10)  # by somebody who has another data set
    revision = wrong.freeze(tmp_path)
    with pytest.raises(DataUnavailableError, match="image 5000, but it has 1,201 training images"):
        corrected(load("digits"), revision, tmp_path)
    assert wrong.decide(5000, "undo", 1201, 10) == Corrections("digits")


@pytest.fixture(scope="module")
def digits():
    return load("digits")


def noisy(digits, **fields):
    return as_trained(digits, TrainConfig(dataset="digits", **fields), data_root())


def test_exactly_a_share_of_the_training_labels_is_wrong_and_no_test_label(digits):
    found = noisy(digits, label_noise=0.3)
    assert (found.train.labels != digits.train.labels).sum() == round(0.3 * len(digits.train))
    assert set(found.train.labels) == set(range(10))
    assert (found.test.labels == digits.test.labels).all()
    assert noisy(digits) is digits


def test_wrong_labels_are_the_same_for_every_seed_and_a_larger_share_adds_to_them(digits):
    few, many = (noisy(digits, label_noise=share, seed=seed).train.labels for share, seed in ((0.1, 0), (0.4, 7)))
    wrong = few != digits.train.labels
    assert (few[wrong] == many[wrong]).all()


def test_held_out_classes_keep_their_labels_and_get_no_others(digits):
    found = noisy(digits, label_noise=0.5, held_out_classes=(7, 8, 9)).train.labels
    unseen = digits.train.labels >= 7
    assert (found[unseen] == digits.train.labels[unseen]).all()
    assert found[~unseen].max() < 7
    assert (found[~unseen] != digits.train.labels[~unseen]).mean() == pytest.approx(0.5, abs=0.001)


def test_corrections_come_first_and_what_they_leave_out_stays_out(digits, tmp_path):
    corrections = Corrections("digits").decide(5, "exclude", len(digits.train), 10)
    corrections.freeze(tmp_path)
    config = TrainConfig(dataset="digits", label_noise=0.9, corrections=corrections.revision)
    labels = as_trained(digits, config, tmp_path).train.labels
    assert labels[5] == EXCLUDED
    assert np.count_nonzero(labels == EXCLUDED) == 1
