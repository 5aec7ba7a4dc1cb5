"""The lab The margin strip: angles and gaps of points placed by hand."""

from dataclasses import replace

import numpy as np
import pytest

from dmlviz.labs.margins.measure import angles, measure
from dmlviz.labs.pictures import SIDE, circle_picture, plane_picture
from dmlviz.labs.registry import LABS
from dmlviz.studies.trial import TrialContext, TrialResult


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
    assert "within 92° and 52° (no clear difference: the 95 % intervals, 42° to 142° and 2° to 102°, overlap)" in (
        LABS["margins"].guess.answer(made_up("full", spread=20))
    )
    assert "(one training each: the difference may be chance)" in LABS["margins"].guess.answer(made_up("quick"))


def test_no_interval_of_an_angle_goes_below_0():
    rows = [row for row in LABS["margins"].rows(made_up("full", spread=40)) if row.series.startswith("90 %")]
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
