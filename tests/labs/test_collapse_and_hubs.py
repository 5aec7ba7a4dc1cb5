"""The labs "Neural collapse" and "Hubs": their numbers against points placed by hand, loops and SciPy."""

import numpy as np
import pytest
from scipy import stats

from dmlviz.data import load
from dmlviz.labs.collapse import LOOKS
from dmlviz.labs.collapse.measure import disagreement, geometry
from dmlviz.labs.collapse.measure import measure as collapse
from dmlviz.labs.hubs.measure import measure as count_hubs
from dmlviz.labs.hubs.measure import skewness
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.registry import LABS
from dmlviz.studies.trial import TrialContext, TrialResult


def test_classes_that_are_the_points_of_a_simplex_have_collapsed():
    corners = 3 * np.eye(4)[:, ::-1] + [1, 2, 3, 4]
    found = geometry(np.repeat(corners, 5, axis=0), np.repeat(np.arange(4), 5), 7 * np.eye(4)[:, ::-1])
    assert found == pytest.approx({"within": 0, "simplex": 0, "duality": 0}, abs=1e-7)


def test_geometry_is_that_of_points_on_a_line():
    points, labels = np.array([[-1.5], [-0.5], [0.5], [1.5]]), np.array([4, 4, 9, 9])  # Σ_W = .25, Σ_B = 1, two classes
    assert geometry(points, labels) == pytest.approx({"within": 0.125, "simplex": 0}, abs=1e-12)
    opposite = geometry(points, labels, np.array([[1.0], [-1.0]]))["duality"]
    assert opposite == pytest.approx(2)


def test_geometry_is_that_of_loops_and_does_not_change_with_scale_place_and_rotation():
    random = np.random.default_rng(0)
    labels, points = np.repeat(np.arange(5), 8), random.standard_normal((40, 12))
    means = [points[labels == k].mean(axis=0) for k in range(5)]
    middle = np.mean(means, axis=0)
    within = sum(np.outer(x - means[k], x - means[k]) for x, k in zip(points, labels, strict=True)) / 40
    between = sum(np.outer(mean - middle, mean - middle) for mean in means) / 5
    found = geometry(points, labels)
    assert found["within"] == pytest.approx(np.trace(within @ np.linalg.pinv(between)) / 5)
    gram = np.array([[(a - middle) @ (b - middle) for b in means] for a in means])
    ideal = np.array([[0.8 if a == b else -0.2 for b in range(5)] for a in range(5)])
    assert found["simplex"] == pytest.approx(
        np.linalg.norm(gram / np.linalg.norm(gram) - ideal / np.linalg.norm(ideal))
    )
    rotation = np.linalg.qr(random.standard_normal((12, 12)))[0]
    assert geometry(7 * points @ rotation + 3, labels) == pytest.approx(found)


def test_the_nearest_point_and_the_nearest_mean_are_compared_for_each_point():
    points, labels = np.array([[0.0], [4.0], [5.0], [5.2]]), np.array([3, 3, 8, 8])  # means 2 and 5.1
    assert disagreement(points, labels, np.array([[0.0], [4.2], [5.0], [3.0]])) == 0.25  # 4.2 is nearer to 4 and to 5.1


@pytest.mark.parametrize(("loss", "has_weights"), [("proxy_anchor", True), ("supcon", False)])
def test_a_net_that_trains_on_seven_digits_collapses_them(loss, has_weights, tmp_path):
    trial = next(trial for trial in LABS["collapse"].plan("quick", "digits", []) if trial.settings["loss"] == loss)
    assert set(trial.settings["held_out_classes"]) == {7, 8, 9}
    short = trial.__class__(**{**vars(trial), "settings": {**trial.settings, "steps": LOOKS[1]}})
    first, last = collapse(short, TrialContext(folder=tmp_path, data_root=tmp_path))["looks"]
    assert (first["step"], last["step"]) == LOOKS[:2]
    assert ("duality" in last) == has_weights
    assert all(last[name] < first[name] for name in ("within", "nearest", *(["duality"] if has_weights else [])))
    assert 1 / 3 < last["transfer"] < 0.95, "classes never seen are not those that are trained"


def test_skewness_is_scipys_and_hubs_are_those_of_a_loop(tmp_path):
    random = np.random.default_rng(0)
    for counts in (random.poisson(10, 500), np.array([0, 0, 0, 40])):
        assert skewness(counts) == pytest.approx(stats.skew(counts))
    assert skewness(np.full(9, 10)) == 0
    trial = next(trial for trial in LABS["hubs"].plan("quick", "digits", []) if trial.name.startswith("pixels-08"))
    values = count_hubs(trial, TrialContext(folder=tmp_path, data_root=tmp_path))
    data = load("digits").test
    pixels = data.images.reshape(len(data), -1) / 255.0
    _, _, directions = np.linalg.svd(pixels - pixels.mean(axis=0), full_matrices=False)
    points = (pixels - pixels.mean(axis=0)) @ directions[:8].T
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, :10]
    counts = [int((near == item).sum()) for item in range(len(data))]
    assert values["skewness"] == pytest.approx(stats.skew(counts), abs=1e-3)
    assert values["orphans"] == counts.count(0) / len(data)
    assert values["wrong"] == pytest.approx(np.mean(data.labels[near] != data.labels[:, None]), abs=1e-3)
    (picture, *_), rows = (
        LABS["hubs"].pictures(
            [result := TrialResult(trial=trial, values=values, folder=tmp_path)], "skewness", "pixels, by PCA", 8
        ),
        LABS["hubs"].rows([result]),
    )
    assert picture.caption.startswith(f"the first is among the ten nearest of {max(counts)} others")
    assert {row.figure for row in rows} == {"skewness", "orphans", "wrong"}


@pytest.mark.parametrize(
    ("name", "answer"), [("collapse", "has collapsed most"), ("hubs", "skewness of random points")]
)
def test_ready_made_results_are_whole_and_answer_the_guess(name, answer):
    study = ready_made(name)
    assert study is not None
    results = study.results()
    assert {result.trial.name for result in results} == {trial.name for trial in LABS[name].plan("full", "mnist", [])}
    assert answer in LABS[name].guess.answer(results)
