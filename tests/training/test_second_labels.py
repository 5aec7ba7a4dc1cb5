"""A sum whose second loss sees labels of its own: the model beside the identity."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from dmlviz_app.forms.training_settings import TrainingDraft

from dmlviz import losses
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, Split
from dmlviz.errors import UserError
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.runs.explanations import logits
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.training.batch_terms import batch_terms
from dmlviz.training.trainer import Trainer
from dmlviz.training.validation_loss import NAME

SUM = {"a": "triplet", "b": "softmax", "weights": [1.0, 0.5]}
FIELDS = {"dataset": "identities", "loss": "weighted_sum", "net": "mlp", "embedding_dim": 6, "steps": 3}
SMALL = {"classes_per_batch": 6, "images_per_class": 3, "num_snapshots": 1, "eval_subset_size": 60}


@pytest.fixture
def identities() -> Dataset:
    """750 identities of 3 models, with 4 images each to train on."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (4 * 1501, 28, 28)).astype(np.uint8)
    identity = np.repeat(np.arange(1501), 4)
    model = 2 * (identity % 3) + 4  # 4, 6, 8
    train = identity < 750
    parts = [Split(images[rows], identity[rows], {"model": model[rows]}) for rows in (train, ~train)]
    return Dataset("identities", tuple(map(str, range(1501))), *parts, 0.5, 0.3)


def config(**changes):
    return TrainConfig(**{**FIELDS, **SMALL, "loss_params": SUM, "second_labels": "model"} | changes)


def test_each_loss_sees_its_own_labels_and_miners_choose_for_the_first():
    random = torch.Generator().manual_seed(0)
    x = torch.randn(12, 4, generator=random, dtype=torch.float64)
    classes, models = torch.arange(12) // 2, torch.arange(12) // 4
    both = losses.build("weighted_sum", embedding_dim=4, num_classes=6, num_second_classes=3, **SUM).double()
    first = losses.build("triplet")
    second = losses.build("softmax", embedding_dim=4, num_classes=3).double()
    assert both.b.weight.shape == (3, 4)
    assert both.class_centers() is None
    values, gradients = [], []
    for compute in (lambda y: _sum(both, y, classes, models), lambda y: first(y, classes) + 0.5 * second(y, models)):
        y = x.clone().requires_grad_()
        value = compute(y)
        value.backward()
        values.append(value.item())
        gradients.append(y.grad)
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    assert torch.allclose(*gradients, atol=1e-12)
    assert _sum(both, x, classes, classes // 3).item() != pytest.approx(values[0])


def _sum(loss, x, classes, models):
    batch = LabeledBatch(x, classes)
    batch.add_labels(models)
    return loss.compute(batch)


def test_training_passes_the_models_of_the_batch(identities, monkeypatch):
    trainer = Trainer(config(), identities, torch.device("cpu"))
    seen = []
    monkeypatch.setattr(trainer.loss, "compute", lambda batch, tuples: seen.append(batch) or batch.embeddings.sum())
    monkeypatch.setattr(type(trainer.loss), "num_terms", torch.zeros(()))
    monkeypatch.setattr(type(trainer.loss), "active", torch.zeros(()))
    trainer.train_step(1)
    (batch,) = seen
    assert batch.second.labels.tolist() == (batch.labels % 3).tolist(), "numbered from 0"
    assert trainer.loss.b.weight.shape == (3, 6)
    assert trainer.fixed_tuples is None, "validation images have no second labels in the loss"


@pytest.mark.slow
def test_a_run_with_second_labels_is_recorded_and_read(identities, tmp_path):
    runs = Runs(tmp_path / "runs", bundled=tmp_path / "bundled")
    for sides, scored in (({"a": "triplet", "b": "softmax"}, False), ({"a": "arcface", "b": "softmax"}, True)):
        run = runs.create(config(loss_params=sides, miner=None))
        for event in train_and_record(run, data=identities):
            last = event
        assert (NAME in last.validation_metrics) == scored
        assert batch_terms(run.config, run.batch(1)).terms
        if scored:
            assert len(logits(run, 3)["before"]) == 750
        else:
            with pytest.raises(UserError, match="scores no classes"):
                logits(run, 3)


def test_settings_that_do_not_go_together_are_one_sentence():
    assert config().replace(loss="triplet").second_labels == ""
    assert config().replace(second_labels="") == TrainConfig(**FIELDS, **SMALL, loss_params=SUM)
    assert "second_labels" not in config(second_labels="").to_dict()
    assert config(miner="hardest_negative").miner == "hardest_negative"
    for changes, message in (
        ({"loss": "triplet", "loss_params": {}}, "second loss of a sum; got model for triplet: use weighted_sum"),
        ({"second_labels": "age"}, "has the labels camera, model, query; got age: use one of camera, model, query"),
        ({"dataset": "digits"}, "digits has no second labels; got model: use none, or another data set"),
        ({"loss_params": {"a": "softmax", "b": "triplet"}, "miner": "hardest_negative"}, "takes no miner"),
    ):
        with pytest.raises(UserError, match=message):
            config(**changes)


def test_the_form_drops_them_with_the_data_set_or_the_sum():
    for name, value in (("loss", "triplet"), ("dataset", "digits")):
        draft = TrainingDraft()
        draft.load(config())
        assert draft.config("digits").second_labels == "model"
        draft.set(name, value)
        assert draft.messages.all() == {}
        assert draft.config("digits").second_labels == ""
    without = replace(TrainingDraft(), settings={"dataset": "digits", "net": "protonet", "frozen_batch_norm": True})
    without.set("net", "small")
    assert (without.messages.all(), without.config("digits").frozen_batch_norm) == ({}, False)
