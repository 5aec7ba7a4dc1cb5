"""Batches: their composition, that an epoch visits every image, and that a seed decides all."""

import itertools
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlviz.catalog.datasets import SAMPLERS
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.training import sampling
from dmlviz.training.loop import train
from dmlviz.training.trainer import Trainer
from dmlviz.training.validation_split import misfit, split_training_images


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def take(batches: Iterator[np.ndarray], count: int) -> np.ndarray:
    return np.stack(list(islice(batches, count)))


def test_catalog_and_implementations_list_the_same_samplers() -> None:
    assert list(sampling.registry) == list(SAMPLERS)


@given(
    counts=st.lists(st.integers(3, 40), min_size=2, max_size=8),
    classes_per_batch=st.integers(1, 8),
    images_per_class=st.integers(1, 3),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_a_balanced_epoch_has_p_classes_of_k_images_and_visits_every_image(
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


def test_every_two_classes_share_a_batch_when_p_is_smaller_than_the_number_of_classes() -> None:
    labels = np.arange(1000) % 10
    batches = take(sampling.balanced(labels, 3, 2, rng()), 200)
    met = np.zeros((10, 10), bool)
    for batch in batches:
        present = np.unique(labels[batch])
        met[np.ix_(present, present)] = True
    assert met.all()


def test_a_larger_class_appears_in_proportionally_more_batches() -> None:
    labels = np.repeat([0, 1, 2], [300, 100, 100])
    batches = take(sampling.balanced(labels, 1, 5, rng()), 100)
    assert np.bincount(labels[batches].ravel()).tolist() == [300, 100, 100]


def test_labels_need_not_start_at_zero() -> None:
    labels = np.repeat([7, -3, 1000], 10)
    (batch,) = take(sampling.balanced(labels, 3, 4, rng()), 1)
    assert np.unique(labels[batch], return_counts=True)[1].tolist() == [4, 4, 4]


def test_a_shuffled_epoch_visits_every_image_and_repeats_less_than_a_batch() -> None:
    epoch = take(sampling.shuffled(103, 10, rng()), 11)
    assert set(epoch.ravel()) == set(range(103))
    assert all(len(set(batch)) == 10 for batch in epoch)
    assert epoch.dtype == np.int64


@pytest.mark.parametrize(("name", "power"), [("class_balanced", 0), ("square_root", 0.5)])
def test_a_long_tail_is_drawn_by_class_and_each_class_gives_all_its_images(name: str, power: float) -> None:
    counts = np.array([400, 40, 4])
    labels = rng(5).permutation(np.repeat([3, 5, 9], counts))
    drawn = take(sampling.build(TrainConfig(sampler=name, batch_size=32), labels, 0), 600)
    shares = [np.mean(labels[drawn] == label) for label in (3, 5, 9)]
    assert shares == pytest.approx(counts**power / (counts**power).sum(), abs=0.015)
    times = [np.bincount(drawn.ravel(), minlength=len(labels))[labels == label] for label in (3, 5, 9)]
    assert all(np.ptp(each) <= 1 for each in times), "an image had two turns before another had one"


def test_a_long_tail_falls_from_the_smallest_class_to_its_share() -> None:
    labels = rng(2).permutation(np.repeat(np.arange(10), np.arange(1000, 2000, 100)))
    config = TrainConfig(dataset="mnist", imbalance=50, validation_fraction=0, held_out_classes=(4,))
    kept = split_training_images(config, labels).train
    expected = [round(1000 * 50 ** (-i / 8)) for i in range(9)]
    assert np.bincount(labels[kept])[list(config.train_classes)].tolist() == expected
    assert set(kept) < set(split_training_images(config.replace(imbalance=2), labels).train)
    held_out = split_training_images(config.replace(validation_fraction=0.1), labels)
    assert {*held_out.train, *held_out.validation[labels[held_out.validation] != 4]} == {*kept}


def test_what_an_imbalance_leaves_too_few_for_is_refused_with_the_settings(digits) -> None:
    tail = {"dataset": "digits", "loss": "softmax", "imbalance": 20, "validation_fraction": 0}
    config = TrainConfig(**tail, sampler="class_balanced", batch_size=1000)  # draws an image again
    counts = np.bincount(digits.train.labels[split_training_images(config, digits.train.labels).train])
    for name, sampler, most in ("images_per_class", "episodes", counts.min()), ("batch_size", "shuffled", counts.sum()):
        TrainConfig(**tail, sampler=sampler, **{name: most})
        with pytest.raises(UserError, match=f"has {most} with imbalance = 20: use {name} ≤ {most}, or less imbalance"):
            TrainConfig(**tail, sampler=sampler, **{name: most + 1})
    with pytest.raises(UserError, match="K = 601 points of a class"):  # in the words of the data
        TrainConfig(dataset="moons", images_per_class=601)
    with pytest.raises(UserError, match="K = 16 points per class; the smallest class to train on has 3"):
        sampling.build(TrainConfig(dataset="moons"), np.repeat([0, 1], [50, 3]), 0)


def test_episodes_are_independent_draws_of_p_classes_with_k_images() -> None:
    labels = np.arange(200) % 10
    drawn = take(sampling.episodes(labels, 4, 5, rng()), 300)
    for episode in drawn:
        assert len(set(episode)) == 20
        assert (labels[episode].reshape(4, 5) == labels[episode].reshape(4, 5)[:, :1]).all(), "class after class"
        assert len(set(labels[episode])) == 4
    times = np.bincount(drawn.ravel(), minlength=200)
    assert times.min() > 10
    assert times.std() > 2, "no bookkeeping of who had its turn"


def test_anchor_neighbor_batches_are_groups_of_an_anchor_and_the_classes_nearest_to_it() -> None:
    labels = rng(2).permutation(np.arange(96) % 12)
    x = rng(3).normal(size=(12, 6))[labels] + 0.3 * rng(4).normal(size=(96, 6))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    apart = np.zeros((12, 12))
    for p in range(12):
        for q in range(12):
            rows = itertools.product(np.flatnonzero(labels == p), np.flatnonzero(labels == q))
            apart[p, q] = np.mean([((x[i] - x[j]) ** 2).sum() for i, j in rows])
    sampler = sampling.AnchorNeighbor(labels, 7, 3, rng(5))
    assert len(next(sampler)) == 21, "neighbors are random until the distances are known"
    sampler.refresh(torch.tensor(x), torch.tensor(labels))
    assert np.allclose(sampler.distances, apart)
    anchors = set()
    for batch in take(sampler, 50):
        classes = labels[batch].reshape(7, 3)
        assert (classes == classes[:, :1]).all(), "class after class"
        assert len(set(batch)) == 21
        left = set(range(12))
        for group in (classes[:5, 0].tolist(), classes[5:, 0].tolist()):
            anchor, *neighbors = group
            nearest = sorted(left - {anchor}, key=lambda label: apart[anchor, label])
            assert neighbors == nearest[: len(neighbors)]
            left -= set(group)
            anchors.add(anchor)
    assert anchors == set(range(12)), "each class is an anchor in turn"


def test_the_distances_of_the_classes_are_measured_again_every_epoch() -> None:
    config = TrainConfig(dataset="digits", loss="hierarchical_triplet", sampler="anchor_neighbor", classes_per_batch=5)
    trainer = Trainer(config.replace(images_per_class=64), load("digits"), torch.device("cpu"))
    seen = []
    for step in range(1, 2 * trainer.steps_per_epoch + 3):
        trainer.train_step(step)
        seen.append(trainer.batches.distances.copy())
    different = {distances.tobytes() for distances in seen}
    assert len(different) == 3


@pytest.mark.parametrize(
    "choice",
    [
        {"loss": "hierarchical_triplet"},
        {"loss": "weighted_sum", "loss_params": {"a": "softmax", "b": "hierarchical_triplet"}},
        {"loss": "triplet", "miner": "offline_hard"},
        {"loss": "contrastive", "sampler": "anchor_neighbor"},
    ],
)
@pytest.mark.parametrize("change", [{"prefixes": (4,)}, {"views": 2}])
def test_what_looks_at_all_training_images_is_refused_beside_views_and_prefixes_before_a_training_starts(
    choice: dict[str, Any], change: dict[str, Any]
) -> None:
    trainer = Trainer(TrainConfig(dataset="digits", **choice), load("digits"), torch.device("cpu"))
    assert trainer.refreshable
    with pytest.raises(UserError, match="looks at all training images by their class"):
        TrainConfig(dataset="digits", augmentation={"rotate": 15}, **choice, **change)


def test_half_of_the_random_pairs_are_positive_and_no_image_is_paired_with_itself() -> None:
    labels = np.repeat([0, 1, 2], [100, 40, 20])
    pairs = take(sampling.random_pairs(labels, 40, rng()), 400).reshape(-1, 2)
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    assert same.mean() == 0.5
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert set(pairs[: 4 * 40, 0]) == set(range(160)), "an epoch asks every image"
    negatives = np.bincount(pairs[~same][labels[pairs[~same, 0]] == 2, 1], minlength=160)
    assert negatives[:140].min() > 0, "every image of another class may come"
    assert negatives[140:].sum() == 0
    positives = np.bincount(pairs[same][pairs[same, 0] == 150, 1], minlength=160)
    assert np.flatnonzero(positives).min() >= 140
    assert (positives[140:] > 0).sum() >= 15


def test_random_triplets_are_anchor_positive_negative() -> None:
    labels = rng(5).integers(0, 4, 300)
    triplets = take(sampling.random_triplets(labels, 50, rng()), 60).reshape(-1, 3)
    a, p, n = triplets.T
    assert (labels[a] == labels[p]).all()
    assert (a != p).all()
    assert (labels[a] != labels[n]).all()
    assert set(a[:300]) == set(range(300))


@pytest.mark.parametrize("sampler", list(SAMPLERS))
def test_equal_seeds_give_equal_batches_and_epochs_differ(sampler: str) -> None:
    loss = "triplet" if SAMPLERS[sampler].tuple_kind == "triplets" else "contrastive"
    config = TrainConfig(loss=loss, sampler=sampler, classes_per_batch=4, images_per_class=5, batch_size=20)
    labels = np.arange(200) % 10
    first, again = (take(sampling.build(config, labels, seed=3), 40) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, take(sampling.build(config, labels, seed=4), 40))
    assert not np.array_equal(first[:10], first[10:20])
    assert first.dtype == np.int64


@pytest.mark.parametrize(
    ("settings", "counts", "message"),
    [
        ({}, [50], "has P = 2 classes; the training images have 1: use P ≤ 1."),
        ({}, [50, 3], "has K = 4 images per class; the smallest class to train on has 3: use im"),
        ({"sampler": "random_pairs"}, [20], "at least 2 classes with at least 2 images each; the training"),
        ({"sampler": "random_pairs"}, [2, 1], "have 2 classes, the smallest with 1: train on more images."),
        ({"sampler": "shuffled"}, [60, 40], "has 160 images; got 100 training images"),
    ],
)
def test_too_few_classes_or_images_are_one_sentence(settings, counts, message) -> None:
    config = TrainConfig(**{"loss": "contrastive", "classes_per_batch": 2, "images_per_class": 4, **settings})
    labels = np.repeat(np.arange(len(counts)), counts)
    with pytest.raises(UserError, match=re.escape(message)):
        sampling.build(config, labels, 0)


@pytest.mark.parametrize("settings", [{"max_train_images": 170}, {"label_noise": 0.6, "images_per_class": 110}])
def test_settings_that_do_not_fit_the_images_are_refused_before_a_training_begins(settings: dict) -> None:
    with pytest.raises(UserError, match="1,201 images to train on; got max_train_images = 1202: use 1201"):
        train(TrainConfig(dataset="digits", max_train_images=1202))
    with pytest.raises(UserError, match="images per class; the smallest class to train on has"):
        train(TrainConfig(dataset="digits", **settings))


def test_a_class_that_is_held_out_does_not_limit_the_images_of_the_others() -> None:
    labels = np.repeat([0, 1, 2], [3, 401, 401])
    config = TrainConfig(dataset="rings", held_out_classes=(0,), images_per_class=401, validation_fraction=0)
    assert misfit(config, labels[split_training_images(config, labels).train]) == ""
    assert config.replace(held_out_classes=()).images_per_class == 16
