"""The ranking toy of Learn scores as the library does, and its examples are those of the papers."""

import numpy as np
import pytest

from app.panels.learn_entry import RANKING_FAMILY
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


def test_the_page_scores_any_ranking_as_the_library_does(page):
    given, said = page
    for rankings, scores in zip(given, said["given"], strict=True):
        expected, cmc = library(rankings)
        assert {name: scores[name] for name in NAMES} == pytest.approx(expected)
        assert scores["cmc"] == pytest.approx(cmc)


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
