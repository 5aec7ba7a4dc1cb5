"""Writes the run of a recording: snapshots with their maps and scores, the loss, alarms, and the end."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from dmlviz import metrics
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data import stratified_subset
from dmlviz.data.class_names import has_label
from dmlviz.runs.import_embeddings import MAX_SCORED
from dmlviz.runs.per_query import keep_per_query
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import Run
from dmlviz.runs.run_recorder import MAX_CURVE_POINTS, RunRecorder, StepAverager
from dmlviz.runs.store import Runs
from dmlviz.storage.run_schema.descriptions import DatasetDescription
from dmlviz.training.events import Embedded, Finished, Snapshot, Started, Step, Stopped

MAX_TRACKED = 10_000  # images in snapshots: more are scored and shown at the end
UNKNOWN = float("nan")
NORM_TOLERANCE = 1e-3  # of embeddings that count as normalized


@dataclass(frozen=True)
class RunPlan:
    """The description of a run before its first snapshot.

    Attributes:
        runs: The runs folder.
        title: Title of the run.
        recording: Its own ID, 16 hexadecimal digits.
        dataset: The data set, as in `DatasetSpec.to_dict`.
        steps: Steps of the whole training; None if unknown.
        projection: A map that follows the training; None for none.
    """

    runs: Path
    title: str
    recording: str
    dataset: DatasetDescription
    steps: int | None = None
    projection: ProjectionConfig | None = None


class RunWriter:
    """Writes one run, and holds its lock, from its first snapshot to its end.

    Args:
        plan: Description of the run before it begins.
        labels: Class IDs of all images (n); all 0 without labels, where nothing is scored.
        first: Embeddings of the first snapshot (n × d), from which dimensions and norms are known.

    Raises:
        UserError: If the folder cannot be made.
        OSError: If a file cannot be written.
    """

    def __init__(self, plan: RunPlan, labels: np.ndarray, first: np.ndarray) -> None:
        DATASETS.register(plan.dataset)
        self.labels = labels
        self.known = np.where(has_label(labels, plan.dataset["classes"]), labels, np.nan)
        self.has_labels = len(plan.dataset["classes"]) > 1
        self.indices = stratified_subset(labels, MAX_TRACKED)
        self.last: tuple[int, np.ndarray] | None = None  # the newest snapshot, of all images
        self.run = Runs(plan.runs).create(_config(plan, first, len(self.indices)), plan.title, plan.recording)
        self.writer = RecordWriter(self.run).__enter__()
        self.recorder = RunRecorder(self.writer, self.run, labels, means=GrowingAverager())
        event = Started(
            steps=plan.steps,
            tracked_indices=self.indices,
            train_images=0,
            test_images=len(labels),
            device="",
            threads=1,
        )
        try:
            self.recorder.write(event)
        except BaseException:
            self.writer.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.writer.__exit__()

    def snapshot(self, step: int, embeddings: np.ndarray, scored: bool = True) -> None:
        """Write a snapshot (n × d); without `scored` its scores are left out, to catch up with the training."""
        self.last = step, embeddings
        points = embeddings[self.indices]
        scores = {}
        if scored and self.has_labels:  # without the slow metrics
            scores = metrics.evaluate(
                points, self.known[self.indices], clustering=False, full_ranking=False, verification=False
            )
        self.recorder.write(Snapshot(step=step, embeddings=points, metrics=scores))

    def step(self, step: int, loss: float | None, active: float | None, cpu_seconds: float) -> None:
        """Write the loss of a batch, and the fraction of its terms that are active, as far as known."""
        self.recorder.write(
            Step(
                step=step,
                loss=UNKNOWN if loss is None else loss if math.isfinite(loss) else math.inf,  # which raises an alarm
                active=UNKNOWN if active is None else active,
                positive_distance=UNKNOWN,
                negative_distance=UNKNOWN,
                images_per_second=UNKNOWN,
                cpu_seconds=cpu_seconds,
            )
        )

    def store(self) -> None:
        """Write the last snapshot as the embeddings of the end, before they are scored."""
        assert self.last is not None  # a writer begins with a snapshot
        step, embeddings = self.last
        self.recorder.write(Embedded(step=step, embeddings=embeddings, net_weights={}))

    def end(self, reason: str, seconds: float, cpu_seconds: float, scored: bool = True) -> None:
        """Write the end, with all scores; a `reason` says why the training was cut short."""
        assert self.last is not None
        step, embeddings = self.last
        kind = Stopped if reason else Finished
        self.recorder.write(
            kind(
                step=step,
                embeddings=embeddings,
                metrics=self._scores(embeddings) if scored and self.has_labels else {},
                net_weights={},
                cpu_seconds=cpu_seconds,
                seconds=seconds,
                reason=reason,
            )
        )
        if scored and self.has_labels and len(embeddings) <= MAX_SCORED and np.isfinite(embeddings).all():
            keep_per_query(Run(self.run.path))

    def _scores(self, embeddings: np.ndarray) -> dict[str, float]:
        """Return all scores; of more than MAX_SCORED images, those of a sample of queries that search all of them."""
        n = len(embeddings)
        rows = stratified_subset(self.labels, MAX_SCORED**2 // n) if n > MAX_SCORED else None
        return metrics.evaluate(embeddings, self.known, rows=rows)


class GrowingAverager(StepAverager):
    """Averages Step events of a training of unknown length: ever more steps to a point, as the curve grows."""

    def __init__(self) -> None:
        super().__init__(1)
        self.points = 0

    def is_due(self, event: Step) -> bool:
        """Return whether the pending steps are written with this one."""
        if len(self.pending) < self.every:
            return False
        self.points += 1
        if self.points == MAX_CURVE_POINTS:
            self.points //= 2
            self.every *= 2
        return True


def _config(plan: RunPlan, first: np.ndarray, subset_size: int) -> TrainConfig:
    """Return a config that describes the space; nothing else in it holds for a training of another program."""
    d = first.shape[1]
    norms = np.linalg.norm(first.astype(np.float64), axis=1)
    return TrainConfig(
        dataset=plan.dataset["name"],
        loss="triplet",
        miner=None,
        embedding_dim=d,
        normalize=d > 1 and bool((np.abs(norms - 1) < NORM_TOLERANCE).all()),
        steps=0,
        eval_subset_size=subset_size,
    )
