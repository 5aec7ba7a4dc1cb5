"""Trains every task of every lesson with several seeds and writes what they measured into dmlviz/lessons/measured.csv.

`python scripts/measure_lessons.py --runs FOLDER [--dataset NAME ...] [--seed N ...] [--lesson NAME ...]`: one thread.
Finished runs in FOLDER are not trained again, so that a broken-off table goes on. Rows of settings that FOLDER holds no
runs of stay as they are. The teacher's sheets show its ranges; `tests/lessons` holds the answers to it.
"""

import argparse
import csv
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from dmlviz.config import TrainConfig
from dmlviz.data import data_root
from dmlviz.lessons import LESSONS, MEASURED, Task
from dmlviz.lessons.measurements import COLUMNS, FILE, measured_values
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

SEEDS = (0, 1, 2)


def finished(config: TrainConfig, store: Runs) -> Run | None:
    """Return the run of these settings if it has ended well."""
    try:
        run = store.get(config.id)
    except RunNotFoundError:
        return None
    return run if run.state == "finished" else None


def train(task: Task, config: TrainConfig, store: Runs) -> Run:
    """Train one task, and draw the map that it is about."""
    run = finished(config, store)
    if run is None:
        shutil.rmtree(store.folder / config.id, ignore_errors=True)  # what was broken off
        run = store.create(config)
        for _ in train_and_record(run, data_root=data_root(), save_checkpoints=False):
            pass
        run = store.get(config.id)
    drawing = task.projection()
    if drawing is not None and all(one.id != drawing.id or one.state != "finished" for one in run.projections()):
        run_projection(store.create_projection(run, drawing).path)
    return run


def as_measured(config: TrainConfig, seed: int) -> TrainConfig:
    """Return the settings to measure with: snapshots change nothing that a lesson reads, but take half of the time."""
    return config.replace(seed=seed, num_snapshots=1)


def rows(store: Runs, kept: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Return the rows of the table, of each lesson with those seeds with which all of its tasks were measured.

    Args:
        store: The runs that were measured.
        kept: Rows of the table so far, for settings that `store` holds no runs of.
    """
    for dataset in MEASURED:
        for lesson in LESSONS.values():
            for seed in SEEDS:
                found: list[tuple[str, ...]] = []
                for number, task in enumerate(lesson.tasks, 1):
                    config = task.training(dataset).replace(seed=seed)
                    run = finished(as_measured(config, seed), store)
                    values = {} if run is None else measured_values(run, task)
                    for name in task.measurements:
                        row = (dataset, lesson.name, str(number), str(seed), config.id, name)
                        found += (
                            [(*row, f"{values[name]:.6g}")]
                            if name in values
                            else [old for old in kept if old[:6] == row]
                        )
                if len(found) == sum(len(task.measurements) for task in lesson.tasks):
                    yield from found


def main() -> None:
    """Train what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--dataset", nargs="*", default=MEASURED)
    parser.add_argument("--seed", nargs="*", type=int, default=SEEDS)
    parser.add_argument("--lesson", nargs="*", default=[*LESSONS])
    chosen = parser.parse_args()
    limit_to_one_thread()
    chosen.runs.mkdir(parents=True, exist_ok=True)
    store = Runs(chosen.runs)
    for seed in chosen.seed:
        for dataset in chosen.dataset:
            for lesson in map(LESSONS.__getitem__, chosen.lesson):
                for task in lesson.tasks:
                    run = train(task, as_measured(task.training(dataset), seed), store)
                    print(dataset, seed, lesson.name, task.title, measured_values(run, task), flush=True)
    with FILE.open(encoding="utf-8", newline="") as file:
        kept = [tuple(row) for row in csv.reader(file)]
    table = [COLUMNS, *rows(store, kept)]
    with FILE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table)


if __name__ == "__main__":
    main()
