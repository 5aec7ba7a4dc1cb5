"""Measurements of the tasks of all lessons with several seeds, written by `scripts/measure_lessons.py`."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from dmlviz.lessons import FOLDER, Lesson
from dmlviz.lessons.measurements import format_measurement, measurement_label

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
