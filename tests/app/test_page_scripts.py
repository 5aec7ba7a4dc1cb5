"""What the page computes itself: the ranking toy scores as the library does, and every formula can be written."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dmlviz_app.learn.entry import RANKING_FAMILY

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.metrics import evaluate

NAMES = ("precision_at_1", "r_precision", "map_at_r", "map", "mrr")


def library(rankings):
    """The library's scores of queries whose galleries are ranked so; the right ones that are missing come next."""
    rows = []
    for ranking in rankings:
        missing = max(0, ranking["relevant"] - sum(ranking["hits"]))
        labels = [int(hit) for hit in ranking["hits"]] + [1] * missing
        gallery = np.arange(1.0, len(labels) + 1)[:, None]
        rows.append(evaluate([[0.0]], [1], gallery, labels, ks=range(1, 11), clustering=False))
    scores = {name: np.mean([row[name] for row in rows]) for name in NAMES}
    return scores, [np.mean([row[f"cmc_at_{k}"] for row in rows]) for k in range(1, 11)]


@pytest.fixture(scope="module")
def page(page_script):
    """What the page says of random rankings, and of its examples."""
    rng = np.random.default_rng(0)
    given = []
    for number in range(40):
        rankings = []
        for _ in range(1 + number % 3):
            hits = (rng.random(10) < rng.random()).tolist()
            rankings.append({"hits": hits, "relevant": int(max(1, sum(hits), rng.integers(1, 20)))})
        given.append(rankings)
    return given, page_script("ranking", given)


@pytest.mark.slow
def test_the_page_scores_any_ranking_as_the_library_does(page):
    given, said = page
    for rankings, scores in zip(given, said["given"], strict=True):
        expected, cmc = library(rankings)
        assert {name: scores[name] for name in NAMES} == pytest.approx(expected)
        assert scores["cmc"] == pytest.approx(cmc)


@pytest.mark.slow
def test_the_examples_are_those_of_the_reality_check_and_of_the_lectures(page):
    *reality, four = page[1]["presets"]
    rows = [(round(100 * one["scores"]["r_precision"]), round(100 * one["scores"]["map_at_r"])) for one in reality]
    assert rows == [(10, 10), (20, 12), (20, 20), (100, 100)]
    assert four["scores"]["cmc"][:5] == [0.25, 0.5, 0.75, 1, 1]  # the right one is third, fourth, first, second
    assert four["scores"]["mrr"] == pytest.approx((1 / 3 + 1 / 4 + 1 + 1 / 2) / 4)
    for preset in (*reality, four):
        assert {name: preset["scores"][name] for name in NAMES} == pytest.approx(library(preset["rankings"])[0])


def test_the_page_shows_metrics_of_one_family():
    assert {METRICS[name].family for name in (*NAMES, "cmc_at_k", "recall_at_k")} == {RANKING_FAMILY}


@pytest.mark.slow
def test_every_formula_becomes_mathml(page_script: Callable[..., Any]) -> None:
    terms = [spec.term_for(spec.with_defaults({})) for spec in LOSSES.values()]
    templates = [template for template in [*terms, *(spec.negative_term for spec in LOSSES.values())] if template]
    formulas = [spec.formula for spec in LOSSES.values()]
    given = [{"template": template, "numbers": _numbers(template)} for template in templates]
    written = page_script("formulas", {"formulas": formulas, "templates": given})
    assert len(written) >= len(formulas) + len(templates)
    assert all(text.startswith("<math") and "undefined" not in text and "∞" not in text for text in written)


def _numbers(template: str) -> dict[str, float]:
    """A number for each symbol of a template, and for each that it names."""
    named = [step.split(" = ")[0] for step in template.split(r",\quad ")[:-1]]
    return dict.fromkeys([*re.findall(r"<([^<>]*?)°?>", template), *named], -0.25)
