"""The labs "Recall at k" and "More data, more people": their numbers, pictures and answers."""

import numpy as np
import pytest

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import load, stratified_subset
from dmlviz.data.dataset import Dataset, Split
from dmlviz.labs import recall
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.registry import LABS
from dmlviz.labs.scale import IMAGES, PEOPLE
from dmlviz.labs.scale.measure import training
from dmlviz.metrics import evaluate
from dmlviz.studies.trial import Trial, TrialContext, TrialResult

LAB = LABS["scale"]


def small(name: str) -> Dataset:
    """The labels of a data set that may be trained on and tested, with images of one pixel."""
    spec = DATASETS[name]
    classes = len(spec.classes)
    disjoint = len(spec.trainable_classes) < classes
    train, test = np.arange(320 * len(spec.trainable_classes)), np.arange(classes)
    return Dataset(
        name,
        spec.classes,
        Split(np.zeros((len(train), 1, 1), np.uint8), train % len(spec.trainable_classes)),
        Split(np.zeros((classes, 1, 1), np.uint8), test)
        if not disjoint
        else Split(np.zeros((751, 1, 1), np.uint8), test[-751:]),
        spec.mean,
        spec.std,
    )


def test_every_trial_trains_on_the_first_classes_and_tests_classes_never_trained_on() -> None:
    sets = {name: small(name) for name in ("numbers", "identities")}
    for trial in LAB.plan("full", "numbers", []):
        config, data = training(trial, sets[trial.dataset])
        count = trial.settings["train_classes"]
        assert np.array_equal(np.unique(data.train.labels), np.arange(count))
        assert config.max_train_images == count * trial.settings["images_of_class"] <= len(data.train)
        assert not np.isin(data.test.labels, config.train_classes).any()


def test_where_a_training_stands_is_shown_until_one_of_its_kind_has_finished() -> None:
    trial = LAB.plan("full", "numbers", [])[0]
    going_on = TrialResult(trial=trial, values={"map_at_r": 0.2, "step": 100})
    (point,) = LAB.rows([going_on])
    assert point.y == 0.2
    (point,) = LAB.rows([going_on, TrialResult(trial=trial, values={"map_at_r": 0.6})])
    assert (point.y, point.n) == (0.6, 1)


@pytest.mark.parametrize(
    ("few", "spread", "expected"),
    [
        (0.2, 0.001, None),
        (0.9, 0.001, "Batch hard does not rise to the end: 0.90 with 5 images, 0.62 with 320. "),
        (0.9, 0.5, "Batch hard does not rise to the end: 0.90 with 5 images, 0.62 with 320 (no clear difference"),
    ],
)
def test_the_answer_names_a_curve_that_falls_and_whether_it_does_clearly(
    few: float, spread: float, expected: str | None
) -> None:
    scores = {count: few if count == IMAGES[0] else 0.3 + count / 1000 for count in IMAGES}
    results = [
        TrialResult(
            trial=trial,
            values={
                "map_at_r": spread * trial.settings["seed"] / 2
                + (
                    scores[trial.settings["images_of_class"]]
                    if trial.settings["loss"] == "batch_hard"
                    else trial.settings["images_of_class"] / 400
                )
                - spread / 2
            },
        )
        for trial in LAB.plan("full", "numbers", [])
        if trial.name.startswith("images")
    ]
    answer = LAB.guess.answer(results)
    assert expected in answer if expected else "does not rise" not in answer


def test_the_ready_made_answer_says_why_curves_do_not_rise() -> None:
    study = ready_made("scale")
    assert study is not None
    answer = LAB.guess.answer(study.results())
    spreads = {}
    for result in study.results():
        if result.trial.name.startswith("images-batch_hard"):
            spreads.setdefault(result.trial.settings["images_of_class"], []).append(result.values["spread"])
    assert max(spreads[80] + spreads[320]) < 0.1 < min(spreads[5] + spreads[20])
    assert "With 80 and 320 images batch hard still has all test images in nearly one point" in answer
    assert f"are {np.mean(spreads[320]):.3f} apart, with 20 images {np.mean(spreads[20]):.2f}" in answer
    assert "each of 50 identities 768 times, each of 750 only 51 times" in answer


def test_the_ready_made_answer_compares_identities_too() -> None:
    study = ready_made("scale")
    assert study is not None
    results = study.results()
    people = {(row.series, row.x): row.y for row in LAB.rows(results) if row.figure == "people"}
    assert {x for _, x in people} == set(PEOPLE)
    assert not any(result.error for result in results)
    few, many = people["NT-Xent", PEOPLE[0]], people["NT-Xent", PEOPLE[-1]]
    assert f"From 50 to 750 identities NT-Xent goes from {few:.2f} to {many:.2f}" in LAB.guess.answer(results)


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


@pytest.mark.slow
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
