"""Every computed metric has a spec; every word of the pages is explained once, and texts are linked to it."""

import re
from pathlib import Path

import dmlviz_app
import numpy as np
import pytest
import torch

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.glossary import CATALOGS, GLOSSARY, address, with_terms
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


def test_there_are_thirteen_and_a_race_and_the_first_is_the_default():
    assert len(RECIPES) == 14
    assert next(iter(RECIPES.values())).settings == {}


ROOT = Path(dmlviz_app.__file__).parents[2]


def test_every_term_has_a_sentence_and_no_word_belongs_to_two():
    words = [word for term in GLOSSARY.values() for word in set(term.words)]
    assert len(words) == len(set(words))
    for term in GLOSSARY.values():
        assert term.text.endswith("."), term.name
        assert term.title
        assert term.entry is None or term.text == CATALOGS[term.entry[0]][term.entry[1]].summary


@pytest.mark.parametrize(
    "asked",
    "terms-per-image fan align-each-frame faithfulness reduction space precision_at_1 map_at_r nmi margin anchor "
    "hard-negative semi-hard-negative gallery query embedding".split(),
)
def test_the_words_that_people_asked_for_are_explained(asked):
    assert asked in GLOSSARY


def test_the_first_mention_of_a_term_is_a_link_to_it():
    linked = with_terms("Anchors and a hardest negative: an anchor, P@1.")
    assert linked == (
        f"[Anchors]({address('anchor')}) and a [hardest negative]({address('hard-negative')}): "
        f"an anchor, [P@1]({address('precision_at_1')})."
    )


@pytest.mark.parametrize(
    "text",
    [
        "$anchor$",
        "`margin`",
        "[margin](https://a.b)",
        "**a margin**",
        "## Margin\n",
        "the sampler “Anchor and neighbors”",
        "the map",
        "non-negative",
        "marginal",
    ],
)
def test_formulas_code_links_and_other_words_stay_as_they_are(text):
    assert with_terms(text) == text


def test_the_text_about_a_term_does_not_link_to_it():
    assert with_terms("a margin", without="margin") == "a margin"


def test_the_page_names_only_terms_that_exist():
    named = {
        name
        for path in (ROOT / "frontend" / "src").rglob("*.ts*")
        for name in re.findall(r'explain\([^;]*?, "([a-z0-9_-]+)"\)', path.read_text(encoding="utf-8"))
    }
    assert named
    assert named <= GLOSSARY.keys()
