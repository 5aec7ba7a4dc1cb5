"""The lab "Recall at k" on the digits: its numbers are those of the library, its pictures those of the ranking."""

import numpy as np
import pytest

from dmlviz.data import load, stratified_subset
from dmlviz.labs import recall
from dmlviz.labs.registry import LABS
from dmlviz.metrics import evaluate
from dmlviz.studies.trial import Trial, TrialContext, TrialResult


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Pixels, the untrained net, and a training of a few steps."""
    from dmlviz.labs.recall.measure import measure

    done = []
    for trial in LABS["recall"].plan("quick", "digits", [])[:3]:
        settings = dict(trial.settings)
        if "config" in settings:
            settings["config"] = {**settings["config"], "steps": 5, "net": "mlp"}
        small = Trial(name=trial.name, settings=settings, dataset="digits", seconds=1)
        folder = tmp_path_factory.mktemp(trial.name)
        done.append(TrialResult(trial=small, values=measure(small, TrialContext(folder=folder)), folder=folder))
    return done


def pixels():
    test = load("digits").test
    items = stratified_subset(test.labels, 2000)
    return test.images[items].reshape(len(items), -1).astype(np.float32) / 255, test.labels[items], items


def test_the_curve_and_the_bars_are_the_librarys(results):
    flat, labels, _ = pixels()
    expected = evaluate(flat, labels, ks=(1, 5, 10))
    rows = {(row.figure, row.series, row.x): row.y for row in LABS["recall"].rows(results)}
    for k in (1, 5, 10):
        assert rows["recall", "raw pixels", k] == pytest.approx(expected[f"recall_at_{k}"], abs=1e-6)
    assert rows["scores", "MAP@R", "raw pixels"] == pytest.approx(expected["map_at_r"], abs=1e-6)
    assert rows["scores", "MAP@R", "softmax"] != rows["scores", "MAP@R", "untrained net"]
    assert {row.n for row in LABS["recall"].rows(results)} == {1}
    assert all(row.low is None for row in LABS["recall"].rows(results))  # no interval from one run


def test_a_point_has_the_queries_that_are_first_found_there(results):
    flat, labels, items = pixels()
    distances = np.linalg.norm(flat[:, None].astype(np.float64) - flat, axis=2)
    np.fill_diagonal(distances, np.inf)
    ranked = labels[np.argsort(distances, axis=1)]
    first = (ranked == labels[:, None]).argmax(axis=1) + 1
    pictures = LABS["recall"].pictures(results, "recall", "raw pixels", 2)
    images = load("digits").test.images
    expected = items[first == 2]
    assert len(pictures) == min(len(expected), recall.MOST_ROWS) > 0
    for picture, query in zip(pictures, expected, strict=False):
        assert np.array_equal(picture.images[0][2:10, 2:10, 0], images[query])
        assert "is number 2" in picture.caption
    worst = LABS["recall"].pictures(results, "scores", "MAP@R", "raw pixels")[0]
    assert f"number {first.max()}" in worst.caption


def test_the_strip_has_eight_queries_and_the_answer_both_ends(results):
    strip = LABS["recall"].strip(results)
    assert len(strip) == 8
    assert all(image.shape == (3 * 12, 5 * 14 - 2, 3) for pair in strip for image in pair.images)
    answer = LABS["recall"].guess.answer(results)
    assert "At k = 1 pixels find" in answer
    assert LABS["recall"].guess.answer([]).startswith("Too many")
    assert LABS["recall"].rows([]) == []


def test_the_full_size_has_three_seeds_of_each_net_and_one_of_the_pixels():
    trials = LABS["recall"].plan("full", "fashion_mnist", [])
    assert len(trials) == 1 + 4 * 3
    assert len({trial.name for trial in trials}) == len(trials)
    assert LABS["recall"].total("full", "fashion_mnist")[0] == 13
