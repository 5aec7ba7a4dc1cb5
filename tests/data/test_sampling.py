"""What batches promise: who is in them, that an epoch leaves nobody out, and that a seed decides all."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlviz.config import TrainConfig
from dmlviz.data import sampling
from dmlviz.data.declared import SAMPLERS
from dmlviz.errors import UserError


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def take(batches: Iterator[np.ndarray], count: int) -> np.ndarray:
    return np.stack(list(islice(batches, count)))


def test_every_declared_sampler_is_implemented_and_no_other() -> None:
    assert list(sampling.registry) == list(SAMPLERS)


@given(
    counts=st.lists(st.integers(3, 40), min_size=2, max_size=8),
    classes_per_batch=st.integers(1, 8),
    images_per_class=st.integers(1, 3),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_a_balanced_epoch_has_p_classes_of_k_images_and_leaves_nobody_out(
    counts: list[int], classes_per_batch: int, images_per_class: int, seed: int
) -> None:
    classes_per_batch = min(classes_per_batch, len(counts))
    labels = rng(1).permutation(np.repeat(np.arange(len(counts)), counts))
    members = [np.flatnonzero(labels == label) for label in range(len(counts))]
    epoch = sampling.balanced_epoch(members, classes_per_batch, images_per_class, rng(seed))
    for batch in epoch:
        assert len(set(batch)) == classes_per_batch * images_per_class, "no image twice in a batch"
        assert np.bincount(labels[batch])[np.unique(labels[batch])].tolist() == [images_per_class] * classes_per_batch
    assert set(epoch.ravel()) == set(range(len(labels)))
    needed = [-(-count // images_per_class) for count in counts]
    assert len(epoch) == max(max(needed), -(-sum(needed) // classes_per_batch)), "no batch more than needed"


def test_an_epoch_of_equal_classes_visits_each_image_exactly_once() -> None:
    labels = np.arange(600) % 10
    epoch = take(sampling.balanced(labels, 5, 6, rng()), 20)
    assert np.array_equal(np.sort(epoch.ravel()), np.arange(600))


def test_classes_meet_all_others_when_a_batch_takes_some() -> None:
    labels = np.arange(1000) % 10
    batches = take(sampling.balanced(labels, 3, 2, rng()), 200)
    met = np.zeros((10, 10), bool)
    for batch in batches:
        present = np.unique(labels[batch])
        met[np.ix_(present, present)] = True
    assert met.all()


def test_a_larger_class_is_drawn_as_much_more_often() -> None:
    labels = np.repeat([0, 1, 2], [300, 100, 100])
    batches = take(sampling.balanced(labels, 1, 5, rng()), 100)
    assert np.bincount(labels[batches].ravel()).tolist() == [300, 100, 100]


def test_labels_need_not_count_from_zero() -> None:
    labels = np.repeat([7, -3, 1000], 10)
    (batch,) = take(sampling.balanced(labels, 3, 4, rng()), 1)
    assert np.unique(labels[batch], return_counts=True)[1].tolist() == [4, 4, 4]


def test_a_shuffled_epoch_visits_every_image_and_repeats_less_than_a_batch() -> None:
    epoch = take(sampling.shuffled(103, 10, rng()), 11)
    assert set(epoch.ravel()) == set(range(103))
    assert all(len(set(batch)) == 10 for batch in epoch)
    assert epoch.dtype == np.int64


@pytest.mark.parametrize("sampler", list(SAMPLERS))
def test_the_seed_decides_and_epochs_differ(sampler: str) -> None:
    config = TrainConfig(dataset="digits", sampler=sampler, classes_per_batch=4, images_per_class=5, batch_size=20)
    labels = np.arange(200) % 10
    first, again = (take(sampling.build(config, labels, seed=3), 40) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, take(sampling.build(config, labels, seed=4), 40))
    assert not np.array_equal(first[:10], first[10:20])
    assert first.dtype == np.int64


def test_no_global_random_state_is_used_or_touched() -> None:
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    take(sampling.balanced(np.arange(100) % 5, 3, 4, rng()), 5)
    assert np.array_equal(before, np.random.get_state()[1])


@pytest.mark.parametrize(
    ("labels", "classes", "images", "says"),
    [
        (np.zeros(50), 2, 4, r"takes P = 2 classes; the training images have 1: use classes_per_batch ≤ 1\."),
        (np.repeat([0, 1], [50, 3]), 2, 4, r"takes K = 4 images of a class; class 1 has 3: use images_per_class ≤ 3"),
    ],
)
def test_a_batch_that_cannot_be_is_one_clear_sentence(labels: np.ndarray, classes: int, images: int, says: str) -> None:
    with pytest.raises(UserError, match=says):
        sampling.balanced(labels.astype(int), classes, images, rng())


def test_a_shuffled_batch_larger_than_the_set_is_one_clear_sentence() -> None:
    with pytest.raises(UserError, match=r"takes 160 images; there are 100 to train on"):
        sampling.shuffled(100, 160, rng())
