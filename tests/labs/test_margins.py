"""The labs "The margin strip" and "Room for a hierarchy", against points placed by hand and loops."""

from dataclasses import replace

import numpy as np
import pytest

from dmlviz.data.dataset import Dataset, Split
from dmlviz.labs.hierarchy.measure import distortion, related_first, tree, tree_distances
from dmlviz.labs.hierarchy.measure import measure as on_tree
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.margins.measure import angles, measure
from dmlviz.labs.pictures import SIDE, circle_picture, plane_picture
from dmlviz.labs.registry import LABS
from dmlviz.studies.trial import Trial, TrialContext, TrialResult


def directions(*degrees, length=1.0):
    radians = np.radians(degrees)
    return length * np.stack([np.cos(radians), np.sin(radians)], axis=1)


def test_angles_and_gaps_are_those_drawn_by_hand():
    centers = directions(0, 90, 200, length=3.0)
    points = directions(10, -20, 90, 130, 200, 240, length=0.5)
    values = angles(points, np.array([0, 0, 1, 1, 2, 2]), centers)
    own = [10, 20, 0, 40, 0, 40]
    assert values["median_angle"] == pytest.approx(np.median(own), abs=1e-4)
    assert values["wide_angle"] == pytest.approx(np.percentile(own, 90), abs=1e-4)
    assert values["smallest_gap"] == pytest.approx(90)
    assert values["accuracy"] == 1
    wrong = angles(points, np.array([0, 0, 1, 1, 2, 1]), centers)
    assert wrong["accuracy"] == pytest.approx(5 / 6)


def test_the_gap_over_the_zero_direction_counts():
    assert angles(directions(0), np.array([0]), directions(5, 355, 180))["smallest_gap"] == pytest.approx(10)


def made_up(size, spread=0.01):
    """Results of two margins that differ, with so many degrees from seed to seed."""
    lab = LABS["margins"]
    return [
        TrialResult(
            trial=trial,
            values={
                "median_angle": 10 - 10 * trial.settings["loss_params"]["margin"] + trial.settings["seed"],
                "wide_angle": 72 - 200 * trial.settings["loss_params"]["margin"] + spread * trial.settings["seed"],
                "smallest_gap": 30.0,
                "accuracy": 0.9,
                "precision_at_1": 0.9,
                "loss": 1.0,
            },
        )
        for trial in lab.plan(size, "digits", [])
    ]


def test_rows_are_means_over_seeds_and_come_from_any_part():
    lab, results = LABS["margins"], made_up("full")
    for count in range(len(results)):
        lab.rows(results[:count])
    row = next(row for row in lab.rows(results) if row.figure == "angles" and row.x == 0.1)
    assert (row.y, row.n) == (pytest.approx(10), 3)
    assert row.low < row.y < row.high
    answer = lab.guess.answer(results)
    assert "within 72° and 32°;" not in answer
    assert "within 72° and 32°. The" in answer
    assert "smallest gap between two is 30° before and 30° after (no clear difference" in answer
    assert "presses each class together" not in answer  # the medians, 10° to 12° and 8° to 10°, are not clear


def test_the_answer_claims_no_difference_that_the_seeds_do_not_show():
    assert "within 92° and 52° (no clear difference: the 95% intervals, 42° to 142° and 2° to 102°, overlap)" in (
        LABS["margins"].guess.answer(made_up("full", spread=20))
    )
    assert "(one training each: the difference may be chance)" in LABS["margins"].guess.answer(made_up("quick"))


def test_no_interval_of_an_angle_goes_below_0():
    rows = [row for row in LABS["margins"].rows(made_up("full", spread=40)) if row.series.startswith("90%")]
    assert min(row.low for row in rows) == 0
    assert all(row.low <= row.y <= row.high <= 180 for row in rows)


def test_pictures_have_a_clear_ground_and_points():
    for image in (
        circle_picture(directions(0, 10, 90), np.array([0, 0, 1]), directions(0, 90)),
        plane_picture(directions(0, 10, 90), np.array([0, 0, 1])),
    ):
        assert image.shape == (SIDE, SIDE, 4)
        assert image.dtype == np.uint8
        assert image[30, 30, 3] == 0
        assert (image[..., 3] > 0).any()


def test_a_training_reports_what_it_returns_at_its_end(tmp_path):
    trial = LABS["margins"].plan("quick", "digits", [])[0]
    trial = replace(trial, settings={**trial.settings, "steps": 4})
    reports = []
    context = TrialContext(folder=tmp_path, data_root=tmp_path, report=lambda share, **values: reports.append(values))
    values = measure(trial, context)
    assert reports
    assert all(set(report) == set(values) for report in reports)


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
            done.append(TrialResult(trial=trial, values=on_tree(trial, TrialContext(folder=folder)), folder=folder))
    return done


@pytest.mark.slow
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
        scores.append(on_tree(trial, TrialContext(folder=tmp_path)))
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
