"""A training run on disk, readable at any time: while it is written, and after an interruption."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FIGURES
from dmlviz.config import TrainConfig
from dmlviz.data.class_names import UNLABELED, known_labels
from dmlviz.data.columns import FILE, read_columns
from dmlviz.errors import MISSING, DamagedFileError
from dmlviz.ops.ball import in_ball
from dmlviz.ops.linear_projection import LinearProjection, default_kind, display_dims
from dmlviz.ops.precision import to_numbers
from dmlviz.parts import DISPLAYS
from dmlviz.runs import neighbor_search, neighbor_table
from dmlviz.runs.event_log_dir import FINAL_STATES, EventLogDir, RunNotFoundError, State, UnreadableRunError
from dmlviz.runs.projection_record import MEASURES, ProjectionRun
from dmlviz.runs.run_info import read_config, read_info
from dmlviz.storage.arrays import WHOLE, check_array, read_array, read_shape
from dmlviz.storage.file_cache import kept_while_unchanged
from dmlviz.storage.files import is_run_id
from dmlviz.storage.run_schema.descriptions import METRICS, RUN
from dmlviz.storage.run_schema.events import TRAINING_EVENT, TrainingEnd, TrainingEvent
from dmlviz.storage.run_schema.validation import MAX_IMAGES, read
from dmlviz.storage.text import one_line
from dmlviz.training.batch_record import BatchRecord

if TYPE_CHECKING:
    import pyarrow
    from plotly.graph_objects import Figure

    from dmlviz.ops.neighbor_index import NeighborTable

__all__ = [
    "FINAL_STATES",
    "LIVE",
    "MEASURES",
    "EventLogDir",
    "ProjectionRun",
    "Run",
    "RunNotFoundError",
    "State",
    "UnreadableRunError",
]

LOSS_WEIGHTS = "loss.safetensors"  # what the loss has learned, if anything
LIVE = "live"  # the run's own view, beside the IDs of its projections
VALIDATION = "validation/"  # in metrics.json, before the names of scores of validation images


class Run(EventLogDir[TrainingEvent, TrainingEnd]):
    """A training on disk; raises RunNotFoundError for a folder without one.

    Examples:
        >>> from dmlviz.runs import Runs
        >>> run = Runs().find("Digits in the plane, triplets")
        >>> run.state, run.score("precision_at_1") > 0.7, run.snapshot(0).shape
        ('finished', True, (596, 2))
        >>> run.figure("roc").layout.yaxis.title.text
        'recall (true positive rate)'
        >>> run.all_neighbors().indices.shape, run.embeddings_at(None)[0].shape
        ((596, 10), (596, 2))
        >>> run.batch(1).step, run.records() == [run], run.projections()
        (1, True, [])
    """

    kinds = TRAINING_EVENT
    neighbors = neighbor_search.neighbors
    neighbors_of_point = neighbor_search.neighbors_of_point

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.info = read_info(self.path / "run.json", RUN)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @cached_property
    def config(self) -> TrainConfig:
        """The settings; a custom data set is registered from the description in run.json."""
        return read_config(self.path / "run.json", TrainConfig, RUN)

    @property
    def default_view(self) -> str:
        """Kind of the linear projection in the run's replay."""
        return default_kind(self.config.embedding_dim, sum(name != UNLABELED for name in self._classes))

    @property
    def title(self) -> str:
        """Title, on one line."""
        return one_line(self.info["title"]) or self.id

    @property
    def tags(self) -> list[str]:
        """Tags."""
        return [tag for tag in (one_line(tag, 30) for tag in self.info.get("tags", [])) if tag]

    @property
    def pinned(self) -> bool:
        """Return whether the run is never evicted."""
        return bool(self.info.get("pinned"))

    @property
    def recorded(self) -> bool:
        """Return whether another program trained, and `dmlviz.record` followed it."""
        return "recording" in self.info

    @property
    def steps(self) -> int:
        """Steps of the whole training; of a recorded one those so far."""
        if not self.recorded:
            return self.config.steps
        end = self.end_step
        return max(self.snapshot_steps, default=0) if end is None else end

    @property
    def created(self) -> datetime:
        """Creation time."""
        return datetime.fromisoformat(self.info["created"])

    @property
    def embeddings(self) -> np.ndarray | None:
        """Final embeddings of all test images (n × d, data set order, float64 where needed); None before the end."""
        shape = (self._count("labels.npy"), self.config.embedding_dim)
        array = read_array(self.path / "embeddings.npy", "f", shape)
        return None if array is None else in_ball(array, self.config.ball)

    @property
    @kept_while_unchanged("run.json", "labels.npy", "tracked.npy", "embeddings.npy")
    def embedded(self) -> bool:
        """Return whether the final embeddings exist and can be read."""
        try:
            return self.embeddings is not None and self.labels is not None and self.tracked_indices is not None
        except DamagedFileError:
            return False

    @property
    def labels(self) -> np.ndarray | None:
        """Class IDs of the test images (n, data set order); None before the start."""
        return self._indices("labels.npy", len(DATASETS[self.config.dataset].classes))

    @property
    def known_labels(self) -> np.ndarray:
        """Class IDs of the test images as `labels`, -1 for an image without one; none before the start."""
        return known_labels(self.labels if self.labels is not None else np.empty(0, int), self._classes)

    @property
    def _classes(self) -> Sequence[str]:
        return DATASETS[self.config.dataset].classes

    @property
    def tracked_indices(self) -> np.ndarray | None:
        """Indices of the test images in snapshots, ascending; None before the start."""
        if not (self.path / "tracked.npy").exists():  # it is written after labels.npy, maybe just now
            return None
        images = self._count("labels.npy")
        if images is None:
            raise DamagedFileError(self.path / "labels.npy", MISSING)
        indices = self._indices("tracked.npy", images)
        if indices is not None and (np.diff(indices.astype(np.int64)) <= 0).any():
            raise DamagedFileError(self.path / "tracked.npy", "its indices do not rise")
        return indices

    @property
    def scored_indices(self) -> np.ndarray | None:
        """The validation images that snapshots score, as indices into the training images of the data set.

        None where snapshots score the tracked test images.
        """
        return self._indices("scored.npy", MAX_IMAGES)

    @property
    def metrics(self) -> dict[str, float]:
        """Scores on all test images; empty before the end."""
        return {name: value for name, value in self._metrics.items() if not name.startswith(VALIDATION)}

    @property
    def validation_metrics(self) -> dict[str, float]:
        """Scores on all validation images, to choose by; empty before the end, and without such images."""
        scores = self._metrics.items()
        return {name.removeprefix(VALIDATION): value for name, value in scores if name.startswith(VALIDATION)}

    @property
    def columns(self) -> "pyarrow.Table | None":
        """Further columns of an imported table, a row for each test image; None if there are none."""
        return read_columns(self.path / FILE, self._count("labels.npy"))

    @property
    def _metrics(self) -> dict[str, float]:
        try:
            metrics = read(METRICS, self.path / "metrics.json")
        except FileNotFoundError:
            return {}
        return {name: value for name, value in metrics.items() if value is not None}

    def score(self, name: str) -> float | None:
        """Return one score; None if it does not exist or metrics.json is damaged.

        Args:
            name: Name of the score, as in `metrics`.
        """
        try:
            return self.metrics.get(name)
        except DamagedFileError:
            return None

    @property
    @kept_while_unchanged("run.json", "basis.npz")
    def linear_projection(self) -> LinearProjection | None:
        """The linear projection of the replay; None before the end."""
        path, d = self.path / "basis.npz", self.config.embedding_dim
        if not path.exists():
            return None
        projection = LinearProjection.load(path)
        dims = display_dims(d)
        for part, shape in (
            (projection.mean, (d,)),
            (projection.components, (dims, d)),
            (projection.explained_variance_ratio, (dims,)),
        ):
            check_array(path, part.shape, part.dtype, "f", shape)
        return projection

    @property
    def snapshot_steps(self) -> list[int]:
        """Steps of the snapshots so far."""
        return self._steps("snapshots", ".npy")

    @property
    def checkpoint_steps(self) -> list[int]:
        """Steps at which the net was saved."""
        return self._steps("nets", ".safetensors")

    @property
    def net_step(self) -> int | None:
        """Step of the newest net, where its snapshot is told of; None for that of the end.

        Raises:
            RunNotFoundError: If there is none yet.
        """
        if (self.path / "embeddings.npy").exists() and (self.end is not None or (self.path / "basis.npz").exists()):
            return None  # the basis is the last of what comes with them
        told = {event["step"] for event in self.events() if event["event"] == "snapshot"}
        steps = [step for step in self.checkpoint_steps if step in told]
        if not steps:
            raise self.lacks("model")
        return steps[-1]

    def snapshot(self, step: int) -> np.ndarray:
        """Return embeddings of the tracked images after `step` batches (n × d, float32).

        Args:
            step: One of `snapshot_steps`.

        Raises:
            RunNotFoundError: For another step.
        """
        shape = (self._count("tracked.npy"), self.config.embedding_dim)
        array = read_array(self.path / "snapshots" / f"{int(step)}.npy", "f", shape)
        if array is None:
            raise RunNotFoundError(f"Run {self.id} has no snapshot at step {step:,}.")
        return in_ball(to_numbers(array), self.config.ball)

    @property
    def recorded_batch_steps(self) -> list[int]:
        """Steps of the recorded batches so far."""
        return self._steps("batches", ".npz")

    def batch(self, step: int) -> BatchRecord:
        """Return a recorded batch.

        Args:
            step: One of `recorded_batch_steps`.

        Raises:
            RunNotFoundError: For another step.
            DamagedFileError: If the file holds something else.
        """
        path = self.path / "batches" / f"{int(step)}.npz"
        if not path.is_file():
            raise RunNotFoundError(f"Run {self.id} has no batch of step {step:,}.")
        batch = BatchRecord.load(path)
        check_array(
            path, batch.embeddings_before.shape, batch.embeddings_before.dtype, "f", (None, self.config.loss_dim)
        )
        if batch.step != step:
            raise DamagedFileError(path, f"it holds the batch of step {batch.step}")
        if not np.isin(batch.labels, self.config.train_classes).all():
            raise DamagedFileError(path, "it holds classes that the run was not trained on")
        return replace(batch, embeddings_before=in_ball(batch.embeddings_before, self.config.ball))

    @property
    def end_step(self) -> int | None:
        """The step at the end; None before that."""
        end = self.end
        return end.get("step") if end else None

    def figure(self, name: str, **options: Any) -> "Figure":
        """Draw a figure of the run, as in the drawer Curves.

        Args:
            name: Name of the figure, as listed in `dmlviz.catalog.export_formats.FIGURES`: "roc", "recall_at_k", …;
                upper case and lower case are the same.
            **options: Options of that function of `dmlviz.figures`, as step=100 or dark=True.

        Returns:
            A Plotly figure.

        Raises:
            UserError: For an unknown figure or option, or if there is no data yet.
        """
        spec = FIGURES[name.lower() if isinstance(name, str) else name]
        figure: Figure = DISPLAYS["figure"](spec.name, self, options)
        return figure

    def all_neighbors(self) -> "NeighborTable":
        """Return the 10 nearest neighbors of every test image; above 50,000 images by an index, with its recall.

        The result of an index is kept in the folder of the run, for the next time and for the app.

        Returns:
            `indices` and `distances` (n × 10, nearest first), `recall` (the share of them that is right, 1 for an
            exact search) and `measured` (the number of images on which that was measured).

        Raises:
            UserError: Before the end of the run.
        """
        table = neighbor_table.stored_table(self)
        return neighbor_table.compute_table(self) if table is None else table

    def show(self, **options: Any) -> Any:
        """Return the map of the run for a notebook, live while the run is on: see `dmlviz.show`.

        Args:
            **options: Those of `dmlviz.show`.

        Example: docs/RECORD.md
        """
        return DISPLAYS["map"](self, **options)

    def _count(self, name: str) -> int | None:
        """Return the length of a 1-D array of the run; None if it does not exist."""
        shape = read_shape(self.path / name)
        if shape is not None and len(shape) != 1:
            raise DamagedFileError(self.path / name, f"it should be a row of numbers; it has {len(shape)} dimensions")
        return shape[0] if shape is not None else None

    def _indices(self, name: str, end: int) -> np.ndarray | None:
        """Read a 1-D array of indices below `end`; None if it does not exist."""
        path = self.path / name
        indices = read_array(path, WHOLE, (None,))
        if indices is not None and len(indices) == 0:
            raise DamagedFileError(path, "it holds no numbers")
        if indices is not None and not 0 <= int(indices.min()) <= int(indices.max()) < end:
            raise DamagedFileError(path, f"its numbers run from {indices.min()} to {indices.max()}, out of range")
        return indices

    @property
    def embedded_steps(self) -> list[int]:
        """Steps with embeddings of the tracked images: snapshots and the end."""
        end = self.end_step
        return sorted({*self.snapshot_steps, *([end] if self.embedded and end is not None else [])})

    def embeddings_at(self, step: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return embeddings (n × d) and labels (n).

        Args:
            step: A step in `embedded_steps`, for the tracked images; None for all test images at the end.

        Raises:
            RunNotFoundError: If there are none.
        """
        embeddings, labels, indices, steps = self.embeddings, self.labels, self.tracked_indices, self.embedded_steps
        if labels is None or indices is None or (step is None and embeddings is None):
            raise self.lacks("embeddings of all test images")
        if step is None:
            assert embeddings is not None  # checked above
            return embeddings, labels
        if not steps:
            raise self.lacks("snapshots")
        if step not in steps:
            nearest = min(steps, key=lambda other: abs(other - step), default=0)
            raise RunNotFoundError(
                f"{self.title} has no snapshot at step {step:,}; the nearest is at step {nearest:,}."
            )
        if embeddings is not None and step == self.end_step:
            return embeddings[indices], labels[indices]
        return self.snapshot(step), labels[indices]

    @property
    def last_alarm(self) -> str:
        """Return the sentence of the alarm that was on when the training ended; empty if there was none."""
        on: dict[str, str] = {}
        lines = (line for line in self.log.lines() if b'"alarm' in line)  # few: parsing all takes 5 µs a step
        for event in map(self.log.event, lines):
            if event["event"] == "alarm":
                on[event["alarm"]] = event["sentence"]
            elif event["event"] == "alarm_over":
                on.pop(event["alarm"], None)
        return next(iter(on.values()), "")

    @property
    def why_unfinished(self) -> str:
        """Return in a sentence why the training did not come to its end."""
        cut_off = "Its training was cut off" if self.snapshot_steps else "Its training has not begun, or was cut off"
        why = (end.get("reason") if (end := self.end) else "") or (
            cut_off if self.state == "interrupted" else f"It is {self.state}"
        )
        return f"{why[:1].upper()}{why[1:].rstrip('.')}."

    def lacks(self, what: str) -> RunNotFoundError:
        """Return the error that says why the run has no `what`, and what can still be done with it."""
        state, steps, what = self.state, self.snapshot_steps, self.config.dataset_spec.said(what)
        if state == "running":
            return RunNotFoundError(f"{self.title} has no {what} yet: wait until training has finished.")
        if state == "finished":
            return RunNotFoundError(f"{self.title} has no {what}: it keeps its embeddings alone.")
        kept = f"Its snapshots up to step {steps[-1]:,} are kept: draw that step, or train" if steps else "Train"
        return RunNotFoundError(f"{self.title} has no {what}. {self.why_unfinished} {kept} it again.")

    def projections(self) -> list[ProjectionRun]:
        """Return every projection with readable settings, finished or not."""
        projections = []
        for path in sorted((self.path / "projections").glob("*/projection.json")):
            if is_run_id(path.parent.name):
                projection = ProjectionRun(path.parent)
                with contextlib.suppress(UnreadableRunError):
                    _ = projection.config
                    projections.append(projection)
        return projections

    def records(self) -> list[EventLogDir]:
        """Return the run and its projections."""
        return [self, *self.projections()]

    def projection(self, id: str) -> ProjectionRun:
        """Return a projection.

        Args:
            id: Its ID.

        Raises:
            RunNotFoundError: If there is none.
        """
        if is_run_id(id) and (self.path / "projections" / id / "projection.json").is_file():
            return ProjectionRun(self.path / "projections" / id)
        raise RunNotFoundError(f"Run {self.id} has no projection {str(id)[:40]!r}.")


def have_same_vectors(*runs: Run) -> bool:
    """Return whether all hold vectors without a net, of the same columns or the same dimension."""
    kinds = {(run.config.embedding_dim, *run.info.get("vector", ())) for run in runs}
    return len(kinds) == 1 and not any(DATASETS[run.config.dataset].trainable for run in runs)
