"""The drawings of Learn's index are what scripts/make_learn_pictures.py draws today."""

import random
import re
import runpy
from pathlib import Path

import dmlviz_app
import numpy as np
import pytest
from dmlviz_app.learn.answers import ANSWERS
from dmlviz_app.learn.cards import PICTURES, card, pictures
from dmlviz_app.learn.catalog_index import KINDS

from dmlviz.catalog.losses import LOSSES
from dmlviz.labs.registry import LABS
from dmlviz.lessons import LESSONS

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
