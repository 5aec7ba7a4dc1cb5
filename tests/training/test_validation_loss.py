"""The loss on fixed tuples of validation images: which they are, its value by loops, and that training ignores it."""

import math

import numpy as np
import pytest
import torch

from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.miners.tuples import AnchoredPairs, Triplets
from dmlviz.training import trainer as trainer_module
from dmlviz.training.events import Finished, Snapshot, Started, Step
from dmlviz.training.loop import train
from dmlviz.training.trainer import Trainer
from dmlviz.training.validation_loss import fixed_tuples

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
