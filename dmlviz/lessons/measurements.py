"""Measurements that the tasks of a lesson read from their runs."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from dmlviz.catalog.metrics import metric_title
from dmlviz.lessons import FOLDER, Lesson, Task
from dmlviz.metrics import evaluate
from dmlviz.runs.run import ProjectionRun, Run, RunNotFoundError
from dmlviz.storage.text import counted

ACTIVE, ON_MAP = "active", "map."


def task_measurements(run: Run, task: Task) -> dict[str, float]:
    """Return the numbers that a task reads from its run, by the words for them; what is not there is left out."""
    return {measurement_label(name): value for name, value in measured_values(run, task).items()}


def measured_values(run: Run, task: Task) -> dict[str, float]:
    """Return the same by the names of the measurements."""
    values = {name: _value(run, task, name) for name in task.measurements}
    return {name: value for name, value in values.items() if value is not None}


def measurement_table(rows: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Return a Markdown table of the tasks, by title, that have the measurements of the last one."""
    names = list(rows[-1][1]) if rows else []
    rows = [(title, values) for title, values in rows if set(names) & set(values)]
    lines = [["Task", *names], ["---"] * (len(names) + 1)]
    lines += [[title, *(format_measurement(values.get(name)) for name in names)] for title, values in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def measured_after(tasks: Sequence[Task], dataset: str) -> str:
    """Return after how many steps the rows of these tasks were measured, in words."""
    steps = [task.training(dataset).steps for task in tasks]
    if len(set(steps)) == 1:
        return f"after {counted(steps[0], 'step')}"
    return f"after {', '.join(f'{count:,}' for count in steps[:-1])} and {steps[-1]:,} steps, row by row"


def format_measurement(value: float | None) -> str:
    """Return a measurement with three decimals, a dash for one that there is not."""
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3f}"


def measurement_label(name: str) -> str:
    """Return the words for a measurement of a task."""
    if name == ACTIVE:
        return "Active terms at the end"
    if name.startswith(ON_MAP):
        return f"{metric_title(name.removeprefix(ON_MAP))} on the map"
    group = name.rpartition("/")[0]  # with held-out classes, "seen" or "unseen"
    return metric_title(name) + (f", {group} classes" if group else "")


def _value(run: Run, task: Task, name: str) -> float | None:
    if name == ACTIVE:
        return _active_fraction(run)
    if not name.startswith(ON_MAP):
        return run.metrics.get(name)
    config = task.projection()
    try:
        projection = None if config is None else run.projection(config.id)
    except RunNotFoundError:
        return None
    if projection is None or projection.state != "finished":
        return None
    return _on_map_values(projection.path)[name.removeprefix(ON_MAP)]


def _active_fraction(run: Run) -> float | None:
    """Return the mean share of active terms over the last tenth of a run."""
    steps = [event for event in run.events() if event["event"] == "step"]
    last = [event["active"] for event in steps if event["step"] > 0.9 * run.config.steps]
    return float(np.mean(np.array(last, float))) if last else None


@lru_cache(maxsize=64)
def _on_map_values(path: Path) -> Mapping[str, float]:
    """Return the retrieval scores of a finished map, as if it were the embedding."""
    coordinates, labels = ProjectionRun(path).coordinates, Run(path.parent.parent).labels
    return evaluate(coordinates, labels, clustering=False, full_ranking=False, verification=False)


FILE = FOLDER / "measured.csv"
COLUMNS = ("dataset", "lesson", "task", "seed", "run", "measurement", "value")


@dataclass(frozen=True)
class MeasuredRange:
    """The values of one measurement of a task on one data set, from least to most, over so many seeds."""

    dataset: str
    label: str
    least: float
    most: float
    seeds: int

    @property
    def text(self) -> str:
        """The range as a sheet prints it."""
        low, high = format_measurement(self.least), format_measurement(self.most)
        return low if low == high else f"{low} to {high}"


@cache
def measured_rows() -> tuple[dict[str, str], ...]:
    """Return the rows of the file; `run` is the ID of the training."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def measured_ranges(lesson: Lesson) -> Mapping[int, list[MeasuredRange]]:
    """Return what a lesson's tasks measured, by number."""
    values: dict[tuple[int, str, str], list[float]] = {}
    for row in measured_rows():
        if row["lesson"] == lesson.name:
            key = int(row["task"]), row["dataset"], row["measurement"]
            values.setdefault(key, []).append(float(row["value"]))
    ranges: dict[int, list[MeasuredRange]] = {}
    for (task, dataset, name), some in values.items():
        measurement = MeasuredRange(dataset, measurement_label(name), min(some), max(some), len(some))
        ranges.setdefault(task, []).append(measurement)
    return ranges
