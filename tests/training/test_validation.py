"""Held-out images: in no batch, scored, their loss trains nothing. Prefixes: each counts alike, one alone suffices."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlviz import losses, metrics
from dmlviz.catalog.datasets import SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, load
from dmlviz.errors import UserError
from dmlviz.miners.tuples import AnchoredPairs, Triplets
from dmlviz.nets import build
from dmlviz.training import sampling
from dmlviz.training import trainer as trainer_module
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.events import Embedded, Finished, Snapshot, Started, Step
from dmlviz.training.loop import train
from dmlviz.training.trainer import Trainer
from dmlviz.training.validation_loss import fixed_tuples
from dmlviz.training.validation_split import split_training_images

QUICK = {"clustering": False, "full_ranking": False, "verification": False}


@st.composite
def configs(draw: st.DrawFn) -> tuple[TrainConfig, np.ndarray]:
    """A config with labels that it may be trained on."""
    sampler = draw(st.sampled_from(list(SAMPLERS)))
    held_out = draw(st.sets(st.integers(0, 9), max_size=4))
    config = TrainConfig(
        dataset="digits",
        loss={"pairs": "contrastive", "triplets": "triplet"}.get(SAMPLERS[sampler].tuple_kind, "nt_xent"),
        sampler=sampler,
        held_out_classes=tuple(held_out),
        max_train_images=draw(st.none() | st.integers(60, 400)),
        classes_per_batch=draw(st.integers(2, 6)),
        images_per_class=draw(st.integers(2, 8)),
        batch_size=draw(st.integers(6, 60)),
        validation_fraction=draw(st.floats(0, 0.5)),
        eval_subset_size=draw(st.integers(2, 300)),
    )
    return config, np.random.default_rng(draw(st.integers(0, 99))).integers(0, 10, draw(st.integers(200, 600)))


@pytest.mark.slow
@given(configs())
@settings(max_examples=150, deadline=None)
def test_no_validation_image_is_in_a_batch_and_every_batch_is_filled(given_config) -> None:
    config, labels = given_config
    try:
        next(sampling.build(config, labels[_usable(config, labels)], 0))
    except UserError:  # too few images, with or without validation
        return
    split = split_training_images(config, labels)
    batches = sampling.build(config, labels[split.train], config.seed)
    drawn = split.train[np.concatenate([next(batches) for _ in range(8)])]
    assert not np.isin(drawn, split.validation).any()
    assert not np.isin(split.train, split.validation).any()
    assert np.isin(split.scored, split.validation).all()
    seen = split.validation[~np.isin(labels[split.validation], config.held_out_classes)]
    assert np.array_equal(np.union1d(split.train, seen), _usable(config, labels))
    scored = Counter(labels[split.scored].tolist())
    assert not scored or max(scored.values()) >= 2  # there is something to find
    assert split_training_images(config.replace(seed=7), labels).validation.tolist() == split.validation.tolist()


def _usable(config: TrainConfig, labels: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.isin(labels, config.train_classes))[: config.max_train_images]


def test_a_tenth_of_each_class_is_held_out() -> None:
    labels = np.repeat(np.arange(10), np.arange(100, 200, 10))
    split = split_training_images(TrainConfig(dataset="digits"), labels)
    assert np.bincount(labels[split.validation]).tolist() == list(range(10, 20))
    none = split_training_images(TrainConfig(dataset="digits", validation_fraction=0), labels)
    assert len(none.validation) == 0
    assert len(none.train) == len(labels)


@pytest.mark.parametrize(("images", "held_out"), [(16, 0), (17, 0), (18, 2), (100, 10)])
def test_batches_come_first_where_images_are_few(images: int, held_out: int) -> None:
    labels = np.arange(10 * images) % 10  # batches have 16 images of each class
    split = split_training_images(TrainConfig(dataset="digits"), labels)
    assert len(split.validation) == 10 * held_out


def test_many_classes_are_scored_by_whole_classes() -> None:
    labels = np.arange(8000) % 1000
    config = TrainConfig(dataset="digits", images_per_class=2, eval_subset_size=500)
    object.__setattr__(config, "dataset", "digits")
    from dmlviz.training import validation_split

    validation = np.arange(2000)  # two of each class
    scored = validation_split._sample_for_scores(config, labels, validation)
    assert len(scored) == 500
    assert set(Counter(labels[scored].tolist()).values()) == {2}


@pytest.mark.parametrize("held_out_classes", [(), (3, 8)])
def test_scores_are_those_of_evaluate_on_the_held_out_images(digits: Dataset, quick, held_out_classes) -> None:
    config = quick(loss="arcface", embedding_dim=8, images_per_class=6, held_out_classes=held_out_classes)
    events = list(train(config, data=digits))
    started, snapshot, end = events[0], [e for e in events if isinstance(e, Snapshot)][-1], events[-1]
    split = split_training_images(config, digits.train.labels)
    assert np.array_equal(started.scored_indices, split.scored)
    assert started.validation_images == len(split.validation)
    seen = split.scored[~np.isin(digits.train.labels[split.scored], held_out_classes)]
    same_size = [np.bincount(digits.train.labels[rows], minlength=10).tolist() for rows in (seen, split.train_scored)]
    assert same_size[0] == same_size[1]
    assert np.isin(split.train_scored, split.train).all()
    assert set(held_out_classes) <= set(digits.train.labels[split.validation].tolist())
    for images, weights, scores in (
        (split.scored, snapshot.net_weights, snapshot.metrics),
        (split.validation, end.net_weights, end.validation_metrics),
        (split.train_scored, end.net_weights, end.train_metrics),
    ):
        net = build("mlp", embedding_dim=8, size=8).eval()
        net.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
        pixels = torch.from_numpy(digits.train.images[images]).float()[:, None] / 255
        with torch.no_grad():
            embeddings = net((pixels - digits.mean) / digits.std).numpy()
        expected = metrics.evaluate(embeddings, digits.train.labels[images], unseen=held_out_classes, **QUICK)
        assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=1e-4, nan_ok=True)
    batches = [event for event in events if isinstance(event, BatchRecord)]
    assert batches
    assert all(not np.isin(batch.images, split.validation).any() for batch in batches)


@pytest.mark.parametrize(("fraction", "expected"), [(0.1, 1), (0, 5)])
def test_test_images_are_scored_once_unless_there_are_no_validation_images(
    digits: Dataset, quick, monkeypatch, fraction: float, expected: int
) -> None:
    scored: list[np.ndarray] = []
    scores = Trainer.scores
    monkeypatch.setattr(
        Trainer, "scores", lambda self, x, labels, **parts: (scored.append(labels), scores(self, x, labels, **parts))[1]
    )
    events = list(train(quick(validation_fraction=fraction), data=digits))
    split = split_training_images(quick(), digits.train.labels)
    held_out = [digits.train.labels[rows] for rows in (split.scored, split.validation, split.train_scored)]
    of_test = [labels for labels in scored if not any(np.array_equal(labels, other) for other in held_out)]
    assert len(of_test) == expected
    assert np.array_equal(of_test[-1], digits.test.labels)
    assert bool(events[-1].validation_metrics) == bool(events[-1].train_metrics) == (fraction > 0)


def test_the_head_accuracy_is_that_of_the_class_with_the_highest_score(digits: Dataset, quick) -> None:
    config = quick(loss="softmax", steps=40, held_out_classes=(9,))
    trainer = Trainer(config, digits, torch.device("cpu"))
    for step in range(1, 41):
        trainer.train_step(step)
    embeddings, labels = trainer.embed(trainer.test_images), digits.test.labels
    rows = labels != 9  # the head knows nothing of this class
    logits = embeddings[rows] @ trainer.loss.weight.detach().numpy().T
    bias = getattr(trainer.loss, "bias", None)
    logits += 0 if bias is None else bias.detach().numpy()
    expected = np.mean([scores.argmax() == label for scores, label in zip(logits, labels[rows], strict=True)])
    assert trainer.scores(embeddings, labels)["head_accuracy"] == pytest.approx(expected)
    assert expected > 0.9
    assert "head_accuracy" not in Trainer(quick(), digits, torch.device("cpu")).scores(embeddings, labels)


def test_a_sum_has_the_head_of_the_part_that_has_one(digits: Dataset, quick) -> None:
    config = quick(loss="weighted_sum", loss_params={"a": "triplet", "b": "softmax"})
    trainer = Trainer(config, digits, torch.device("cpu"))
    scores = trainer.scores(trainer.embed(trainer.test_images), digits.test.labels)
    assert 0 <= scores["head_accuracy"] <= 1


SHORT = {"dataset": "digits", "net": "mlp", "embedding_dim": 16, "num_snapshots": 1, "validation_fraction": 0.0}


@pytest.mark.parametrize("normalize", [True, False])
def test_the_gradient_is_that_of_the_mean_of_all_lengths(normalize):
    config = TrainConfig(**SHORT, loss="contrastive", miner=None, steps=1, prefixes=(2, 5), normalize=normalize)
    record = next(event for event in train(config) if isinstance(event, BatchRecord))
    x = torch.from_numpy(record.embeddings_before).double().requires_grad_()
    value = torch.zeros((), dtype=torch.float64)
    for length in (16, 2, 5):
        short = x[:, :length]
        if normalize and length < 16:
            short = short / short.norm(dim=1, keepdim=True)
        value = value + losses.build("contrastive")(short, torch.from_numpy(record.labels)) / 3
    (gradient,) = torch.autograd.grad(value, x)
    assert record.loss == pytest.approx(value.item(), rel=1e-5)
    np.testing.assert_allclose(record.gradient, gradient.numpy(), rtol=1e-3, atol=1e-7)


@pytest.mark.slow
def test_an_embedding_that_is_cut_still_finds_its_class():
    labels, scores = load("digits").test.labels, []
    for prefixes in ((), (2,)):
        config = TrainConfig(**SHORT, steps=80, prefixes=prefixes)
        end = next(event for event in train(config) if isinstance(event, Embedded))
        short = end.embeddings[:, :2] / np.linalg.norm(end.embeddings[:, :2], axis=1, keepdims=True)
        scores.append(metrics.evaluate(short, labels, clustering=False, verification=False)["precision_at_1"])
    assert scores[1] > scores[0] + 0.1  # .53, and .66 with the prefix


LABELS = np.arange(40) % 5


def of(loss, **fields):
    return fixed_tuples(TrainConfig(dataset="digits", **{"loss": loss} | fields), LABELS)


def test_each_image_is_an_anchor_once_and_a_seed_changes_nothing():
    fixed = of("triplet")
    assert isinstance(fixed.tuples, Triplets)
    a, p, n = (part.numpy() for part in fixed.tuples)
    assert (fixed.kind, fixed.count, sorted(a)) == ("triplets", 40, list(range(40)))
    assert ((LABELS[a] == LABELS[p]) & (a != p) & (LABELS[a] != LABELS[n])).all()
    for one, other in zip(fixed.tuples, of("triplet", seed=7, learning_rate=0.5).tuples, strict=True):
        assert torch.equal(one, other)


def test_pair_losses_get_both_pairs_of_each_triplet_and_class_losses_the_images():
    pairs = of("contrastive", held_out_classes=(3,))
    assert isinstance(pairs.tuples, AnchoredPairs)
    assert (pairs.kind, pairs.count, len(pairs.rows)) == ("pairs", 64, 32)
    assert pairs.labels.max() == 3, "the classes are numbered without the one held out"
    assert 3 not in LABELS[pairs.rows]
    assert (of("arcface").kind, of("arcface").tuples) == ("images", None)


@pytest.mark.parametrize(
    ("loss", "fields"),
    [
        ("batch_hard", {}),
        ("prototypical", {}),
        ("vicreg", {}),
        ("triplet", {"loss_params": {"reduction": "sum"}}),
        ("supcon", {"use_labels": False}),
        ("weighted_sum", {"loss_params": {"a": "triplet", "b": "contrastive"}}),
    ],
)
def test_a_loss_of_whole_batches_has_no_validation_loss(loss, fields):
    assert of(loss, **fields) is None


def test_the_parts_of_a_sum_see_the_same_comparisons():
    assert of("weighted_sum", loss_params={"a": "contrastive", "b": "softmax"}).kind == "pairs"
    assert of("weighted_sum", loss_params={"a": "softmax", "b": "center"}).kind == "images"


def test_the_value_is_the_mean_over_the_triplets(digits, quick):
    trainer = Trainer(quick(loss="triplet", loss_params={"margin": 0.3}), digits, torch.device("cpu"))
    images, fixed = trainer.validation_images, trainer.fixed_tuples
    x = trainer.embed(images, trainer.scored)[fixed.rows].astype(float)
    terms = []
    for a, p, n in zip(*(part.tolist() for part in fixed.tuples), strict=True):
        terms.append(max(0.0, 0.3 + math.dist(x[a], x[p]) - math.dist(x[a], x[n])))
    assert trainer.validation_loss() == pytest.approx(np.mean(terms), rel=1e-4)
    assert len(terms) == fixed.count == len(trainer.scored)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["triplet", "margin", "arcface", "hierarchical_triplet", "nt_xent", "weighted_sum"])
def test_snapshots_and_the_end_have_it_and_training_is_the_same_without_it(digits, quick, monkeypatch, loss):
    config = quick(loss=loss, net="protonet", steps=4, num_snapshots=2, classes_per_batch=5, images_per_class=4)
    events = list(train(config, data=digits))
    begun, end = events[0], events[-1]
    assert isinstance(begun, Started)
    assert isinstance(end, Finished)
    assert begun.validation_tuples > 0
    values = [event.validation_loss for event in [*events, end] if isinstance(event, Snapshot | Finished)]
    assert len(values) == 4
    assert np.isfinite(values).all()
    monkeypatch.setattr(trainer_module, "fixed_tuples", lambda *_: None)
    without = list(train(config, data=digits))
    assert without[0].validation_tuples == 0
    losses = [[event.loss for event in some if isinstance(event, Step)] for some in (events, without)]
    assert losses[0] == losses[1]
    assert np.array_equal(end.embeddings, without[-1].embeddings)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_every_loss_says_whether_it_has_one(digits, quick, loss):
    trainer = Trainer(quick(loss=loss), digits, torch.device("cpu"))
    value = trainer.validation_loss()
    assert (value is None) == (trainer.fixed_tuples is None)


def test_behind_a_projection_head_it_is_the_loss_of_the_projection(digits, quick):
    trainer = Trainer(quick(loss="contrastive", projection_dim=8), digits, torch.device("cpu"))
    before = {name: value.clone() for name, value in trainer.trained.state_dict().items()}
    assert trainer.validation_loss() is not None
    assert all(torch.equal(before[name], value) for name, value in trainer.trained.state_dict().items())
