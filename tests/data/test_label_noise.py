"""Wrong labels, made on purpose."""

import numpy as np
import pytest

from dmlviz.config import TrainConfig
from dmlviz.data import data_root, load
from dmlviz.data.corrections import EXCLUDED, Corrections
from dmlviz.data.label_noise import as_trained


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
