"""The lab "Room for a hierarchy": its tree and scores against loops, its ready-made results, its pictures and words."""

import numpy as np
import pytest

from dmlviz.data.dataset import Dataset, Split
from dmlviz.labs.hierarchy.measure import distortion, measure, related_first, tree, tree_distances
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.registry import LABS
from dmlviz.studies.trial import Trial, TrialContext, TrialResult

LAB = LABS["hierarchy"]


def test_a_number_is_one_step_from_itself_without_its_last_digit():
    parents, level = tree(3, 2)
    names = ["", *"012", *(a + b for a in "012" for b in "012")]
    assert [names[parent] for parent in parents[1:]] == [name[:-1] for name in names[1:]]
    assert level.tolist() == [len(name) for name in names]

    def steps(a, b):
        shared = next(k for k in range(4) if a[: k + 1] != b[: k + 1] or k == max(len(a), len(b)))
        return len(a) + len(b) - 2 * shared

    assert tree_distances(parents).tolist() == [[steps(a, b) for b in names] for a in names]


def test_scores_are_those_of_loops():
    random = np.random.default_rng(0)
    x, labels = random.standard_normal((30, 2)), random.integers(0, 5, 30)
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    expected = []
    for query in range(30):
        order = [other for other in np.argsort(distances[query]) if other != query]
        ranks = [rank for rank, other in enumerate(order, 1) if labels[other] == labels[query]]
        expected.append(np.mean([number / rank for number, rank in enumerate(ranks, 1)]))
    assert related_first(distances, labels[:, None] == labels) == pytest.approx(np.mean(expected))
    assert distortion(np.array([2.0, 4, 9]), np.array([1.0, 2, 3])) == pytest.approx(1 / 6)  # 2, 2, 3 by 2


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    done = []
    for trial in LAB.plan("quick", "numbers", []):
        if trial.settings.get("digits") == 3 and trial.settings["seed"] == 0:
            folder = tmp_path_factory.mktemp(trial.name)
            done.append(TrialResult(trial=trial, values=measure(trial, TrialContext(folder=folder)), folder=folder))
    return done


def test_the_disk_keeps_more_of_a_tree_and_both_are_drawn(results):
    plane, disk = (result.values for result in results)
    assert disk["neighbors"] > plane["neighbors"] + 0.2
    assert disk["distortion"] < plane["distortion"]
    assert [row.x for row in LAB.rows(results) if row.figure == "neighbors"] == [3, 3]
    strip = LAB.strip(results)
    assert [picture.caption.split(",")[0] for picture in strip] == ["Plane", "Poincaré disk"]
    assert all(picture.images[0][..., 3].any() for picture in strip)
    assert LAB.pictures(results, "neighbors", "plane", 3.0)[0].caption == strip[0].caption
    assert LAB.guess.answer(results).startswith("With 3 digits the MAP of parent and children is 0.")


@pytest.mark.parametrize("space", ["euclidean", "poincare"])
def test_a_net_learns_numbers_and_tens_in_either_space(space, monkeypatch, tmp_path):
    random = np.random.default_rng(0)
    patterns, labels = random.integers(0, 200, (4, 8, 8)), np.arange(200) % 4
    split = Split((patterns[labels] + random.integers(0, 56, (200, 8, 8))).astype(np.uint8), labels)
    data = Dataset("numbers", ("17", "10", "25", "21"), split, split, 0.4, 0.2)
    monkeypatch.setattr("dmlviz.labs.hierarchy.measure.load", lambda name, root: data)
    scores = []
    for steps in (0, 60):
        settings = {"space": space, "net": "mlp", "steps": steps, "seed": 0}
        trial = Trial(name="net", settings=settings, dataset="numbers", seconds=1)
        scores.append(measure(trial, TrialContext(folder=tmp_path)))
    assert scores[0]["number"] < scores[1]["number"] > 0.95
    assert scores[0]["tens"] < scores[1]["tens"] > 0.75


def test_ready_made_results_are_whole_and_answer_the_guess():
    study = ready_made("hierarchy")
    assert study is not None
    results = study.results()
    names = {trial.name for trial in LAB.plan("full", "numbers", [])}
    assert {result.trial.name for result in results} == names
    text = LAB.guess.answer(results)
    assert "With 6 digits" in text
    assert "The disk has more room" in text
    assert "MAP of the number" in text
