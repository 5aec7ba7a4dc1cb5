"""The lab "Signature or forgery": its hands, its distances by loops, its pairs, and a tiny trial."""

import dataclasses
import json

import numpy as np
import pytest

from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.registry import LABS
from dmlviz.labs.signatures import VARIANTS
from dmlviz.labs.signatures.measure import FORGED, GENUINE, draw_pairs, measure, seen, warped, write
from dmlviz.studies.trial import TrialContext, TrialResult


@pytest.fixture(scope="module")
def signatures():
    return write("test")


@pytest.mark.slow
def test_a_forger_is_slower_and_less_alike_and_the_same_hands_write_each_time(signatures):
    assert all(np.array_equal(a, b) for a, b in zip(signatures, write("test"), strict=True))
    motions = seen(signatures, "motion")
    first, rest = motions[:, :1], motions[:, 1:]
    own, forged = np.split(np.sqrt(((first - rest)[:, :, :2] ** 2).sum((2, 3))), [GENUINE - 1], axis=1)
    strangers = np.sqrt(((np.roll(first, 1, 0) - rest)[:, :, :2] ** 2).sum((2, 3)))
    assert np.median(own) < np.median(forged) < np.median(strangers)
    times = signatures.seconds
    assert np.median(times[:, GENUINE:].mean(1) / times[:, :GENUINE].mean(1)) > 1.2


def test_the_path_has_no_times_and_the_motion_no_duration(signatures):
    path, motion = seen(signatures, "path"), seen(signatures, "motion")
    assert path.shape[2] == 3
    steps = np.linalg.norm(np.diff(path[..., :2, :], axis=3), axis=2)
    assert np.median(steps.std(axis=2) / steps.mean(axis=2)) < 0.1, "equal steps, but for corners that are cut"
    slower = signatures._replace(seconds=3 * signatures.seconds)
    np.testing.assert_array_equal(seen(slower, "motion"), motion)


def test_warping_is_that_of_a_loop_and_forgives_time_alone():
    a, b = np.random.default_rng(0).standard_normal((2, 3, 2, 12))
    least = np.full((7, 7), np.inf)
    least[0, 0] = 0
    for i in range(6):
        for j in range(6):
            step = np.linalg.norm(a[1, :, 2 * i] - b[1, :, 2 * j])
            least[i + 1, j + 1] = step + min(least[i, j], least[i, j + 1], least[i + 1, j])
    assert warped(a, b)[1] == pytest.approx(least[-1, -1])
    late = np.concatenate([np.repeat(a[..., :1], 2, axis=2), a[..., :-2]], axis=2)
    late[..., -1] = late[..., -2] = a[..., -2]
    assert (warped(a, late) < 0.6 * np.linalg.norm((a - late)[..., ::2], axis=1).sum(1)).all()


@pytest.mark.parametrize("forgeries", [True, False])
def test_half_of_the_pairs_are_of_one_writer_and_forgeries_are_of_the_writer_whom_they_copy(forgeries):
    a, b, first, second = draw_pairs(9, forgeries, np.random.default_rng(0))
    half, quarter = slice(32), slice(32, 48)
    assert (a == b)[half].all()
    assert (first != second)[half].all()
    assert (a != b)[48:].all()
    assert (a == b)[quarter].all() == forgeries
    assert (second[quarter] >= GENUINE).all() == forgeries
    assert max(first.max(), second[half].max(), second[48:].max()) < GENUINE <= second.max() + 1 <= GENUINE + FORGED


@pytest.mark.slow
def test_a_short_training_beats_the_picture_and_has_pictures(tmp_path):
    results = []
    for trial in LABS["signatures"].plan("quick", "digits", []):
        if trial.settings["variant"] in ("pixels", "motion"):
            short = dataclasses.replace(trial, settings={**trial.settings, "steps": min(60, trial.settings["steps"])})
            own = tmp_path / trial.name
            own.mkdir()
            values = json.loads(json.dumps(measure(short, TrialContext(folder=own))))
            results.append(TrialResult(trial=trial, values=values, folder=own))
    pixels, motion = (result.values for result in results)
    assert motion["forged"] < 0.8 * pixels["forged"]
    accepted, refused = np.transpose(motion["curve"])
    assert (np.diff(refused) <= 0).all()
    assert np.interp(1 - motion["forged"], accepted, refused) == pytest.approx(1 - motion["forged"], abs=0.03)
    lab = LABS["signatures"]
    for row in {row.figure: row for row in lab.rows(results)}.values():
        pictures = lab.pictures(results, row.figure, row.series, row.x)
        assert all(image.dtype == np.uint8 for pair in pictures for image in pair.images)
        assert any("forgery that passes" in pair.caption for pair in pictures)
    assert len(lab.strip(results)) == 3


def test_ready_made_results_are_whole_and_answer_the_guess():
    results = ready_made("signatures").results()
    assert {result.trial.settings["variant"] for result in results} == {*VARIANTS}
    assert {result.trial.name for result in results} == {
        trial.name for trial in LABS["signatures"].plan("full", "digits", [])
    }
    assert "How the pen moves gives a forger away" in LABS["signatures"].guess.answer(results)
