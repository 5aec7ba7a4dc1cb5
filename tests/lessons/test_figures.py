"""Figures to move: each draws at the ends of its sliders, with the numbers that the formulas of lectures give."""

import json
import math
import re

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.errors import UserError
from dmlviz.lessons.figure_specs import FIGURES, Drawn
from dmlviz.lessons.figures import MARGIN, NEGATIVES, POSITIVE, answer, directions, step_value

CATALOGS = {"loss": LOSSES, "net": NETS, "metric": METRICS, "projection": PROJECTIONS}


def draw(name, **values):
    return answer(None, name, values)


def points(name, series, **values):
    return np.array(draw(name, **values)["series"][series]["points"])


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_at_the_ends_of_its_sliders(name):
    spec = FIGURES[name]
    assert spec.pages
    assert all(entry in CATALOGS[kind] for kind, entry in (page.split("/") for page in spec.pages))
    seen = set()
    for end in ("low", "default", "high"):
        drawn = draw(name, **{slider["name"]: slider[end] for slider in spec.sliders})
        TypeAdapter(Drawn).validate_json(json.dumps(drawn, allow_nan=False))
        assert all(series["points"] for series in drawn["series"])
        assert drawn["x"][0] < drawn["x"][1]
        assert drawn["y"][0] < drawn["y"][1]
        seen.add(json.dumps(drawn["series"]))
    assert len(seen) >= 2  # the sliders change it; τ only the last step of the derivation


def test_the_steps_from_a_triplet_to_nt_xent_are_their_formulas():
    s, p = np.array(NEGATIVES), POSITIVE
    sums = np.log(np.exp(s).sum())
    expected = [
        max(0, s[1] - p + MARGIN), max(0, s.max() - p + MARGIN), max(0, sums - p + MARGIN),
        np.log1p(np.exp(s - p).sum()), np.log1p(np.exp((s - p) / 0.3).sum()),
    ]  # fmt: skip
    cosines = torch.tensor([p, *NEGATIVES], dtype=torch.float64)
    assert [float(step_value(step, cosines, 0.3)) for step in range(5)] == pytest.approx(expected, abs=1e-9)
    pushed = [(points("derivation", 0, step=step)[:, 1] > 1e-6).sum() for step in range(1, 6)]
    assert pushed == [1, 1, 5, 5, 5]
    weights = np.exp((s - p) / 0.3) / (1 + np.exp((s - p) / 0.3).sum()) / 0.3
    assert points("derivation", 0, step=5, tau=0.3)[:, 1] == pytest.approx(weights, abs=1e-4)


def test_tau_says_how_many_negatives_count():
    readings = [draw("temperature", tau=tau)["reading"] for tau in (0.02, 0.2, 2)]
    counts = [float(re.search(r"over ([\d.]+) neg", reading)[1]) for reading in readings]
    assert counts[0] < 1.2 < counts[1] < 10 < counts[2] < 15
    at = np.linspace(0.7, -0.7, 15)
    assert points("temperature", 0, tau=0.2)[:, 1] == pytest.approx(np.exp(at / 0.2) / np.exp(at / 0.2).sum(), abs=1e-5)


def test_a_perplexity_is_two_to_the_entropy():
    (here,) = points("perplexity", 1, perplexity=20)
    curve = points("perplexity", 0)
    assert np.interp(here[0], *curve.T) == pytest.approx(20, abs=0.1)
    assert "2^H = 20." in draw("perplexity", perplexity=20)["reading"]


def test_the_divergences_of_two_normals_are_those_of_the_textbook():
    reading = draw("divergence", mean=0, width=3)["reading"]
    forward, backward = map(float, re.findall(r"= ([\d.]+\d)", reading))
    assert forward < backward
    assert float(re.search(r"P\) = ([\d.]+\d)", draw("divergence", mean=2, width=0.6)["reading"])[1]) == pytest.approx(
        math.log(2), abs=0.01
    )


@pytest.mark.slow
def test_curves_of_losses_are_their_formulas():
    d, p = points("logistic", 0, margin=1).T
    assert p == pytest.approx((1 + np.exp(-1)) / (1 + np.exp(d - 1)), abs=1e-5)
    d, first = points("second_form", 0, positive=0.8, margin=1).T
    assert first == pytest.approx(np.maximum(0, 1 + 0.8 - d), abs=1e-5)
    assert points("second_form", 1, positive=0.8, margin=1)[:, 1] == pytest.approx(0.8 + np.maximum(0, 1 - d), abs=1e-5)
    d, far = points("beside", 3, margin=1).T
    assert far == pytest.approx(np.maximum(0, 1 - d) ** 2, abs=1e-5)
    degrees, squared = points("cosine", 0).T
    assert squared == pytest.approx(2 - 2 * np.cos(np.radians(degrees)), abs=1e-5)
    doublings, left = points("scale", 0, classes=10).T
    assert left == pytest.approx(np.log1p(9 * np.exp(-(2**doublings) * 10 / 9)), abs=1e-4)
    w, alone = points("decay", 0).T
    assert points("decay", 1, strength=0.2)[:, 1] == pytest.approx(alone + 0.2 * w**2, abs=1e-4)


def test_a_multiplied_angle_moves_the_border():
    x, y = points("sphereface", 2, m=3, between=80)[0][2:]
    assert math.degrees(math.atan2(y, x)) == pytest.approx(40 - 80 / 4, abs=1e-3)


def test_forces_pull_the_pair_of_a_class_push_a_near_one_and_leave_a_far_one():
    arrows = points("cases", 2, distance=0.8, margin=1.5)
    pull, push, none = arrows[:, 2] - arrows[:, 0]
    assert pull < 0 < push
    assert none == 0


def test_chi_squared_finds_more_than_euclid_among_histograms():
    scores = dict(zip(draw("distances")["ticks"], points("distances", 0)[:, 1], strict=True))
    assert scores["χ²"] > scores["Euclid"] + 0.02
    assert directions(np.random.default_rng(0).random((3, 8, 8)), 5).sum(axis=1) == pytest.approx(1)


def test_an_unknown_figure_and_a_value_beyond_its_slider_are_one_sentence():
    with pytest.raises(UserError, match="There is no figure called 'tau'"):
        draw("tau")
    with pytest.raises(UserError, match=r"temperature has tau from 0.02 to 2; got tau = 0"):
        draw("temperature", tau=0)


def test_the_disk_is_that_of_the_formulas():
    far, half = 1.5, math.radians(40)
    a, b = math.tanh(far) * np.array([[-math.sin(half), math.cos(half)], [math.sin(half), math.cos(half)]])
    room = 1 - math.tanh(far) ** 2
    apart = math.acosh(1 + 2 * ((a - b) ** 2).sum() / room**2)
    assert f"Distance {apart:.2f}, over the center {4 * far:.2f};" in draw("disk", far=far, between=80)["reading"]
    way, dots = (points("disk", series, far=far, between=80) for series in (1, 3))
    assert way[[0, -1]] == pytest.approx(np.array([a, b]), abs=1e-5)
    gaps = np.linalg.norm(np.diff(dots, axis=0), axis=1)
    assert gaps[3] > 1.5 * gaps[0]  # of equal length in the disk
