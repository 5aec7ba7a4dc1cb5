"""Every computed metric has a spec, and every spec is computed."""

import re

import numpy as np
import pytest
import torch

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.recipes import RECIPES
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.metrics import evaluate
from dmlviz.metrics.probes import probe_scores
from dmlviz.training.trainer import Trainer
from dmlviz.training.validation_loss import head_accuracy

COUNTS = {"queries", "queries_left_out"}


def measured():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 4
    centers = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    embeddings = centers[labels] + rng.normal(size=(60, 3)) / 2
    config = TrainConfig(dataset="digits", loss="arcface")
    head = head_accuracy(config, embeddings, labels, {"weight": rng.normal(size=(10, 3))})
    probes = probe_scores(embeddings, labels, (embeddings, labels))
    return evaluate(embeddings, labels) | probes | {"head_accuracy": head}


def declared_name(key):
    return re.sub(r"^(recall|cmc)_at_\d+$", r"\1_at_k", key)


def test_every_metric_that_is_computed_is_declared_and_no_other():
    assert {declared_name(key) for key in measured()} - COUNTS == set(METRICS)


def test_values_lie_in_the_range_that_is_declared():
    for key, value in measured().items():
        if key not in COUNTS:
            metric = METRICS[declared_name(key)]
            assert metric.low <= value <= (np.inf if metric.high is None else metric.high), key


def test_every_metric_is_explained():
    for metric in METRICS.values():
        assert metric.summary.endswith(".")
        assert metric.when_to_use.endswith(".")
        assert metric.formula
        assert metric.family
    assert METRICS["eer"].range == "0 to 1; lower is better"
    assert METRICS["ami"].range == "−1 to 1; higher is better"
    assert METRICS["mean_norm"].range == "0 or more"


@pytest.mark.parametrize("dataset", ["digits", "mnist", "fashion_mnist"])
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_valid_training_that_no_other_one_is(name, dataset):
    configs = {recipe.name: TrainConfig(**recipe.fields(dataset)) for recipe in RECIPES.values()}
    assert DATASETS[configs[name].dataset].trainable
    assert [other for other, config in configs.items() if config.id == configs[name].id] == [name]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_says_only_what_its_loss_does_not_recommend(name):
    settings = RECIPES[name].fields("fashion_mnist")
    for field in settings.keys() - {"loss", "dataset"}:
        others = {key: value for key, value in settings.items() if key != field}
        assert getattr(TrainConfig.unchecked(others), field) != settings[field]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if recipe.reference])
def test_a_recipe_of_a_source_trains_and_says_how_it_went_and_when(name):
    recipe = RECIPES[name]
    assert re.search(r"P@1 0\.\d+, MAP@R 0\.\d+, after \d+ s.* \(20\d\d-\d\d-\d\d\)\.$", recipe.measured)
    config = TrainConfig(**recipe.fields("digits") | {"steps": 2, "num_snapshots": 1, "eval_subset_size": 50})
    trainer = Trainer(config, load(config.dataset), torch.device("cpu"))
    losses = [trainer.train_step(step).loss for step in (1, 2)]
    assert all(np.isfinite(losses))


def test_there_are_a_dozen_and_a_race_and_the_first_is_the_default():
    assert len(RECIPES) == 13
    assert next(iter(RECIPES.values())).settings == {}
