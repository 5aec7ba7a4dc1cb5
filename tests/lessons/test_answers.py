"""What the lessons say is what their runs show: in the table that was measured, and in a training of today."""

from collections import defaultdict

import pytest
import torch

from dmlviz.data import data_root
from dmlviz.lessons import LESSONS
from dmlviz.lessons.measurements import measured_ranges, measured_rows, measured_values
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

PIXELS = {"digits": 0.535, "mnist": 0.310}  # MAP@R of raw pixels, as the lesson says

# For each task when its right guess is true, by the values of the lesson's tasks so far.
# v[-1] is the task's own run.
RIGHT = {
    "what-is-a-metric": (
        lambda v: v[0]["map_at_r"] > max(PIXELS.values()) + 0.1,
        lambda v: v[1]["map_at_r"] > v[0]["map_at_r"] + 0.1,
    ),
    "why-a-margin": (
        lambda v: v[0]["mean_negative_distance"] > 1e6 and v[0]["precision_at_1"] < 0.5,
        lambda v: 1 < v[1]["mean_negative_distance"] < 2.5,
        lambda v: v[2]["mean_negative_distance"] < 0.1 and v[2]["precision_at_1"] < v[1]["precision_at_1"],
    ),
    "pairs-or-triplets": (
        lambda v: v[0]["mean_positive_distance"] < 0.3,
        lambda v: v[1]["mean_positive_distance"] > 1.25 * v[0]["mean_positive_distance"],
    ),
    "why-mining": (
        lambda v: v[0]["active"] <= 0.1,
        lambda v: (v[1]["map_at_r"] - v[0]["map_at_r"]) > (1 - v[0]["map_at_r"]) / 3,
    ),
    "batch-hard": (
        lambda v: v[0]["precision_at_1"] > 0.9,
        lambda v: v[1]["mean_negative_distance"] < 0.01,
    ),
    "what-softmax-lacks": (
        lambda v: v[0]["map_at_r"] < 0.8 and v[0]["knn_accuracy"] > 0.9,
        lambda v: v[1]["map_at_r"] > v[0]["map_at_r"] + 0.05,
        lambda v: v[2]["map_at_r"] > v[0]["map_at_r"] + 0.03,
    ),
    "sphere-or-plane": (
        lambda v: 0.5 < v[0]["map_at_r"] < 0.92,
        lambda v: v[1]["map_at_r"] > v[0]["map_at_r"] + 0.02,
        lambda v: v[2]["map_at_r"] > max(v[1]["map_at_r"], 0.94),
    ),
    "proxies": (
        lambda v: 0.3 < v[0]["map_at_r"] < 0.85,
        lambda v: v[1]["map_at_r"] > v[0]["map_at_r"] + 0.03,
    ),
    "do-not-trust-the-map": (
        lambda v: v[0]["precision_at_1"] > 0.95 and v[0]["map.precision_at_1"] < v[0]["precision_at_1"] - 0.05,
        lambda v: v[1]["nearest_mean_accuracy"] > 0.95 and v[1]["map.nearest_mean_accuracy"] < 0.9,
    ),
    "one-neighbor-or-all": (
        lambda v: v[0]["precision_at_1"] > 0.75 and v[0]["map_at_r"] < v[0]["precision_at_1"] - 0.2,
        lambda v: v[1]["map_at_r"] - v[0]["map_at_r"] > 2 * (v[1]["precision_at_1"] - v[0]["precision_at_1"]),
    ),
    "recall-and-thresholds": (
        lambda v: v[0]["fpr_at_95_recall"] > 0.3,
        lambda v: v[1]["fpr_at_95_recall"] < 0.1,
    ),
    "open-set": (
        lambda v: v[0]["unseen/precision_at_1"] > 0.8 and v[0]["unseen/map_at_r"] < v[0]["seen/map_at_r"] - 0.2,
        lambda v: 0.3 < v[1]["unseen/map_at_r"] < 0.6 and v[1]["seen/map_at_r"] > 0.9,
    ),
    "classical-or-mined": (
        lambda v: 0.75 < v[0]["precision_at_1"] < 0.97,
        lambda v: v[1]["map_at_r"] > v[0]["map_at_r"] + 0.02,
    ),
    "few-examples": (
        lambda v: 0.15 < v[0]["map_at_r"] < 0.8,
        lambda v: v[1]["map_at_r"] > v[0]["map_at_r"] + 0.03,
    ),
    "wrong-labels": (
        lambda v: v[0]["precision_at_1"] > 0.9,
        lambda v: v[1]["map_at_r"] < v[0]["map_at_r"] - 0.1,
    ),
    "without-labels": (
        lambda v: v[0]["knn_accuracy"] > 0.85,
        lambda v: v[1]["knn_accuracy"] < v[0]["knn_accuracy"] - 0.02,
    ),
    "reality-check": (
        lambda v: v[0]["map_at_r"] < 0.85,
        lambda v: v[1]["map_at_r"] > v[0]["map_at_r"] + 0.05,
        lambda v: v[1]["map_at_r"] - v[2]["map_at_r"] < (v[1]["map_at_r"] - v[0]["map_at_r"]) / 3,
    ),
}  # fmt: skip


def test_every_answer_has_a_condition():
    assert RIGHT.keys() == LESSONS.keys()
    assert {name: len(some) for name, some in RIGHT.items()} == {
        name: len(lesson.tasks) for name, lesson in LESSONS.items()
    }


@pytest.mark.parametrize("name", LESSONS)
def test_the_answers_are_what_the_measured_runs_show(name):
    lesson, values = LESSONS[name], defaultdict(lambda: [{} for _ in LESSONS[name].tasks])
    for row in measured_rows():
        if row["lesson"] == name:
            number, dataset, seed = int(row["task"]), row["dataset"], int(row["seed"])
            config = lesson.tasks[number - 1].training(dataset).replace(seed=seed)
            assert row["run"] == config.id, "its settings have changed: run scripts/measure_lessons.py"
            values[dataset, seed][number - 1][row["measurement"]] = float(row["value"])
    assert {("digits", 0), ("mnist", 0)} <= values.keys()
    for run, tasks in values.items():
        for number, is_right in enumerate(RIGHT[name]):
            assert set(tasks[number]) == set(lesson.tasks[number].measurements)
            assert is_right(tasks[: number + 1]), (run, number + 1, tasks)


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", LESSONS)
def test_a_training_of_today_gives_the_answers(name, tmp_path):
    torch.set_num_threads(1)
    store, values = Runs(tmp_path), []
    for task, is_right in zip(LESSONS[name].tasks, RIGHT[name], strict=True):
        run = store.create(task.training("digits").replace(num_snapshots=1))
        list(train_and_record(run, data_root=data_root()))
        run = store.get(run.id)
        if (drawing := task.projection()) is not None:
            run_projection(store.create_projection(run, drawing).path)
        values.append(measured_values(run, task))
        assert is_right(values), (task.title, values)


def test_a_sheet_shows_the_least_and_the_most_of_all_seeds():
    ranges = measured_ranges(LESSONS["reality-check"])[1]
    least = [float(row["value"]) for row in measured_rows() if row["lesson"] == "reality-check" and row["task"] == "1"
             and row["dataset"] == "digits" and row["measurement"] == "map_at_r"]  # fmt: skip
    found = next(each for each in ranges if (each.dataset, each.label) == ("digits", "MAP@R"))
    assert (found.least, found.most, found.seeds) == (min(least), max(least), len(least))
    assert found.text.startswith(f"{min(least):.3f}")


def test_an_answer_that_was_not_measured_on_a_data_set_says_so():
    task = LESSONS["one-neighbor-or-all"].tasks[0]
    assert [task.explanation(name) == task.reveal for name in ("digits", "mnist", "fashion_mnist")] == [
        True,
        True,
        False,
    ]
    assert task.explanation("fashion_mnist").endswith("the numbers of Fashion-MNIST may differ.")
