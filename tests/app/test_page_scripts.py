"""What the page computes itself: the ranking toy scores as the library does, and every formula can be written."""

import math
import random
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dmlviz_app
import numpy as np
import pytest
import torch
from dmlviz_app.learn.answers import ANSWERS
from dmlviz_app.learn.cards import PICTURES, card, pictures
from dmlviz_app.learn.catalog_index import KINDS
from dmlviz_app.learn.entry import RANKING_FAMILY

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.labs.registry import LABS
from dmlviz.lessons import LESSONS
from dmlviz.losses import build
from dmlviz.metrics import evaluate
from dmlviz.training.batch_terms import SAMPLES, class_arcs

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


DRAWN = ("loss", "miner", "sampler", "projection")
TOO_LARGE = 300_000  # bytes


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(Path(dmlviz_app.__file__).parents[2] / "scripts" / "make_learn_pictures.py"))


def test_every_entry_that_can_be_drawn_and_every_page_has_a_picture():
    for kind in DRAWN:
        for name in KINDS[kind].catalog:
            assert card(kind, name)["picture"] == f"{kind}-{name}"
    for kind, names in (("lesson", LESSONS), ("answer", ANSWERS), ("lab", LABS)):
        for name in names:
            assert card(kind, name)["picture"]
    assert len(pictures()[0]) < TOO_LARGE


def test_maps_of_trainings_are_of_the_settings_of_today(script):
    kept = {
        key for key in script["symbols"](PICTURES.read_text(encoding="utf-8")) if key.startswith(("lesson-", "answer-"))
    }
    assert kept <= script["trained"]().keys()
    assert {key for key in script["trained"]() if key.startswith("answer-")} <= kept


def numbers(symbol):
    return np.array([float(number) for number in re.findall(r"-?\d+\.?\d*", symbol)])


@pytest.mark.slow
@pytest.mark.parametrize("part", ["_losses", "_miners", "_samplers", "_labs", "_topics"])
def test_a_drawing_is_what_is_drawn_today(script, part, whole):
    kept = script["symbols"](PICTURES.read_text(encoding="utf-8"))
    sample = [] if whole or part != "_losses" else [random.Random(part).sample([*LOSSES], 4)]
    for name, symbol in script[part](*sample):
        now, then = numbers(symbol), numbers(kept[name])
        assert now.shape == then.shape, name
        assert np.abs(now - then).max() <= 1, name  # another processor may round otherwise


@pytest.mark.slow
def test_the_map_of_a_projection_keeps_the_neighbors_that_the_projection_of_today_keeps(script):
    """A layout of another processor need not be the same, but it is as good."""
    kept = script["symbols"](PICTURES.read_text(encoding="utf-8"))
    for name, symbol in script["_projections"]():
        counts = [len(re.findall("h0", text)) for text in (symbol, kept[name])]
        assert counts == [500, 500], name
        assert purity(symbol) == pytest.approx(purity(kept[name]), abs=0.05), name


def purity(symbol):
    """Return the share of points whose nearest neighbor on the drawing is of their class."""
    places, labels = [], []
    for label, path in re.findall(r'class="dot c(\d)" d="([^"]*)"', symbol):
        steps = np.array(re.findall(r"m(-?\d+) (-?\d+)h0", path), float)
        places += np.cumsum(steps, axis=0).tolist()
        labels += [label] * len(steps)
    distances = np.linalg.norm(np.array(places)[:, None] - np.array(places)[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return np.mean(np.array(labels)[distances.argmin(axis=1)] == np.array(labels))


STEP = 2 * math.pi / SAMPLES
CASES = [
    ("arcface", {"margin": 0.2, "scale": 16.0}, 10),
    ("cosface", {"margin": 0.2, "scale": 16.0}, 10),
    ("combined_margin", {"m1": 1.5, "m2": 0.1, "m3": 0.1, "scale": 16.0}, 6),
    ("normalized_softmax", {}, 7),
    ("sphereface", {"margin": 2.5}, 5),
    ("cosface", {"margin": 0.35, "scale": 16.0}, 2),
]


@pytest.mark.slow
def test_the_maps_wedges_are_the_arcs_of_the_loss(page_script):
    questions, expected = [], []
    for name, params, count in CASES:
        loss = build(name, embedding_dim=2, num_classes=count, seed=3, **params)
        angles = 2 * math.pi * (np.arange(count) + 0.3 * np.random.default_rng(count).random(count)) / count
        loss.weight.data = torch.tensor(np.stack([np.cos(angles), np.sin(angles)], axis=1), dtype=torch.float32)
        expected.append(class_arcs(loss, torch.eye(2)))
        questions.append(
            {
                "angles": angles.tolist(),
                "margins": loss.declaration.angular_margins(loss.declaration.with_defaults(params)),
            }
        )
    for case, wedges, arcs in zip(CASES, page_script("wedges", questions)["wedges"], expected, strict=True):
        assert arcs, case
        for direction in (np.arange(SAMPLES) + 0.5) * STEP:
            winner = next((arc["row"] for arc in arcs if arc["start"] <= direction < arc["end"]), None)
            drawn = [row for row, wedge in enumerate(wedges) if _inside(direction, wedge, -STEP)]
            assert drawn in ([], [winner]), case
            assert winner is None or _inside(direction, wedges[winner], STEP), case


def _inside(direction, wedge, room):
    """Whether a direction lies in a wedge that is wider by `room` on either side."""
    start, end = wedge[0] - room, wedge[1] + room
    return end > start and (direction - start) % (2 * math.pi) < end - start
