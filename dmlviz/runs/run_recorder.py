"""Writes the files of a run from the events of its training."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.class_names import known_labels
from dmlviz.ops.linear_projection import LinearProjection, default_kind, default_projection, display_dims, num_known
from dmlviz.ops.precision import to_numbers
from dmlviz.ops.stopping import WorkStoppedError, stoppable
from dmlviz.runs.frames import LiveProjector, render_replay
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import LOSS_WEIGHTS, VALIDATION, Run
from dmlviz.runs.run_info import update_info
from dmlviz.storage.files import atomic_write, ensure_dir, write_array, write_json
from dmlviz.storage.run_schema.events import (
    AlarmEvent,
    AlarmOverEvent,
    BatchEvent,
    Centered,
    EndedEvent,
    FailedEvent,
    ReplayEvent,
    ReplayFrame,
    SnapshotEvent,
    StartedEvent,
    StepEvent,
    StoppingEvent,
    TrainingEvent,
)
from dmlviz.storage.run_schema.validation import Scores
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.diagnostics import TrainingMonitor
from dmlviz.training.events import Embedded, Event, Failed, Finished, Snapshot, Started, Step, Stopped, Stopping
from dmlviz.training.suggestions import suggestions

QUALITY_SAMPLE = 1000  # test images for the quality of the final map, and for the 99th percentile of distances
STOPPED_QUALITY_SAMPLE = 250  # after Stop, when a user waits
NET_SHARE = 0.02  # of a training's time, at most, for keeping its newest net
MAX_CURVE_POINTS = 1500  # longer trainings log means of several steps


class RunRecorder:
    """Writes the files of a run from the events of its training."""

    def __init__(
        self,
        writer: RecordWriter[TrainingEvent],
        run: Run,
        labels: np.ndarray,
        save_checkpoints: bool = True,
        means: "StepAverager | None" = None,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        self.writer = writer
        self.run = run
        self.labels = labels
        self.known = known_labels(labels, DATASETS[run.config.dataset].classes)
        self.view = LiveProjector()
        self.means = means or StepAverager(run.config.steps)
        self.monitor = TrainingMonitor(run.config)
        self.save_checkpoints = save_checkpoints
        self.stop = stop  # what takes long is left out when this returns True
        self.scored_on: Literal["validation", "test"] = "test"  # which images snapshots score
        self.last_snapshot: tuple[int, np.ndarray] | None = None
        self.centers: dict[int, Centered] = {}
        self.grids: dict[int, np.ndarray | None] = {}  # of the plane, embedded, where the images are its points
        self.is_embedded = False  # the test images are, after the last batch
        self._newest: list[int] = []  # steps of the nets that are kept until newer ones come
        self._began, self._spent = time.perf_counter(), 0.0

    def write(self, event: Event) -> None:
        """Write one event: alarms, then arrays, then the event, so that its readers find the arrays."""
        self._alarm(event)
        match event:
            case Started():
                self._write_start(event)
            case Step():
                mean = self.means.add(event)
                if mean is not None:
                    self.writer.event(mean)
            case BatchRecord():
                self._write_batch(event)
            case Snapshot():
                self._snapshot(event)
            case Stopping():
                self.writer.event(StoppingEvent(event="stopping", step=event.step))
            case Finished():  # Stopped too
                self._write_end(event)
            case Embedded():
                self._write_embeddings(event)
            case Failed():
                self.writer.event(FailedEvent(event="failed", step=event.step, reason=event.reason))

    def _alarm(self, event: Event) -> None:
        alarms, names = self.monitor.update(event)
        step = getattr(event, "step", 0)
        for alarm in alarms:
            remedies = [suggestion.label for suggestion in suggestions(alarm.name, self.run.config)]
            name, sentence = alarm.name, alarm.message
            self.writer.event(AlarmEvent(event="alarm", step=step, alarm=name, sentence=sentence, remedies=remedies))
        for name in names:
            self.writer.event(AlarmOverEvent(event="alarm_over", step=step, alarm=name))

    def _write_start(self, event: Started) -> None:
        path, config = self.run.path, self.run.config
        self.view = LiveProjector(self.known[event.tracked_indices])
        write_array(path / "labels.npy", self.labels.astype(np.int32))
        write_array(path / "tracked.npy", event.tracked_indices.astype(np.int32))  # indices into the labels
        if len(event.scored_indices):
            write_array(path / "scored.npy", event.scored_indices.astype(np.int32))  # of the training images
        self.scored_on = "validation" if event.validation_images else "test"
        ensure_dir(path / "snapshots")
        ensure_dir(path / "batches")
        ensure_dir(path / "nets")
        update_info(self.run, device=event.device, threads=event.threads, precision=event.precision)
        record = StartedEvent(
            event="started",
            steps=event.steps,
            train_images=event.train_images,
            validation_images=event.validation_images,
            test_images=event.test_images,
            scored_images=len(event.scored_indices) if event.validation_images else len(event.tracked_indices),
            device=event.device,
            precision=event.precision,
            view=default_kind(config.embedding_dim, num_known(self.known)),
            dims=display_dims(config.embedding_dim),
            tracked=len(event.tracked_indices),
            unseen=[DATASETS[config.dataset].classes[label] for label in config.held_out_classes],
        )
        if event.validation_tuples:
            record["validation_tuples"] = event.validation_tuples
            record["tuple_kind"] = event.tuple_kind
        self.writer.event(record)

    def _write_batch(self, event: BatchRecord) -> None:
        with atomic_write(self.run.path / "batches" / f"{event.step}.npz") as file:
            event.save(file)
        images = len(event.images)
        self.writer.event(
            BatchEvent(event="batch", step=event.step, images=images, loss=event.loss, active=event.active)
        )

    def _snapshot(self, event: Snapshot) -> None:
        write_array(self.run.path / "snapshots" / f"{event.step}.npy", to_numbers(event.embeddings))
        if event.net_weights is not None and self.save_checkpoints:
            write_weights(self._net(event.step), to_half(event.net_weights))
        elif event.read_weights is not None and self.save_checkpoints:
            self._keep_newest(event.step, event.read_weights)
        frame = self.writer.frame(self.view.frame(event.embeddings))
        self.last_snapshot = (event.step, event.embeddings)
        self.centers[event.step] = _centers(event.centers)
        self.grids[event.step] = event.grid
        snapshot = SnapshotEvent(
            event="snapshot",
            step=event.step,
            frame=frame,
            metrics={**event.metrics},
            scored_on=self.scored_on,
            **self.centers[event.step],
            **self._grid(event.step, self.view.basis),
        )
        if event.train_metrics:
            snapshot["train_metrics"] = {**event.train_metrics}
        if event.validation_loss is not None:
            snapshot["validation_loss"] = _mean([event.validation_loss])
        self.writer.event(snapshot)

    def _net(self, step: int) -> Path:
        return self.run.path / "nets" / f"{step}.safetensors"

    def _keep_newest(self, step: int, read_weights: Callable[[], dict[str, np.ndarray]]) -> None:
        """Keep the net of a snapshot for questions until newer ones come, unless that slows the training down."""
        began = time.perf_counter()
        if self._spent > NET_SHARE * (began - self._began):
            return
        write_weights(self._net(step), to_half(read_weights()))
        self._newest.append(step)
        while len(self._newest) > 2:  # the one before may be being read
            self._net(self._newest.pop(0)).unlink(missing_ok=True)
        self._spent += time.perf_counter() - began

    def _write_end(self, event: Finished) -> None:
        path = self.run.path
        if not self.is_embedded:
            self._write_embeddings(event)
        metrics = {name: float(value) for name, value in event.metrics.items()}
        validation = {name: float(value) for name, value in event.validation_metrics.items()}
        scores = metrics | {VALIDATION + name: value for name, value in validation.items()}
        write_json(path / "metrics.json", {k: v if np.isfinite(v) else None for k, v in scores.items()})
        update_info(self.run, timings={"seconds": event.seconds, "cpu_seconds": event.cpu_seconds, "steps": event.step})
        end = EndedEvent(
            event="stopped" if isinstance(event, Stopped) else "finished",
            step=event.step,
            metrics={**metrics},
            validation_metrics={**validation},
            train_metrics={**event.train_metrics},
            test_images=len(event.embeddings),
            usual_distance=_distance_p99(event.embeddings),
            faithfulness=self._faithfulness(event),
            seconds=event.seconds,
            cpu_seconds=event.cpu_seconds,
            reason=event.reason,
        )
        if event.validation_loss is not None:
            end["validation_loss"] = _mean([event.validation_loss])
        self.writer.event(end)

    def _faithfulness(self, event: Finished) -> Scores | None:
        """Measure the final map; None where the training is stopped only now, with all scores there."""
        basis = self.run.linear_projection
        if isinstance(event, Stopped):
            return _projection_quality(event.embeddings, basis, STOPPED_QUALITY_SAMPLE)
        with suppress(WorkStoppedError), stoppable(self.stop):
            return _projection_quality(event.embeddings, basis, QUALITY_SAMPLE)
        return None

    def _write_embeddings(self, event: Embedded) -> None:
        path = self.run.path
        write_array(path / "embeddings.npy", to_numbers(event.embeddings))
        if event.net_weights:
            write_weights(path / "weights.safetensors", event.net_weights)
        if event.loss_weights:
            write_weights(path / LOSS_WEIGHTS, event.loss_weights)
        self._render_replay(event)
        for step in self._newest:
            self._net(step).unlink(missing_ok=True)
        self.is_embedded = True

    def _render_replay(self, event: Embedded) -> None:
        """Project every snapshot on the final basis, rotated onto the last live frame."""
        basis = default_projection(event.embeddings, self.known)
        if self.last_snapshot is not None and self.view.positions is not None:
            basis = basis.aligned_to(self.last_snapshot[1], self.view.positions)
        with atomic_write(self.run.path / "basis.npz") as file:
            basis.save(file)
        steps = [step for step in self.run.snapshot_steps if step < event.step]
        snapshots = ((step, self.run.snapshot(step)) for step in steps)
        self.centers[event.step] = _centers(event.centers)
        self.grids[event.step] = event.grid
        frames = render_replay(basis, snapshots, (event.step, event.embeddings))
        self.writer.event(
            ReplayEvent(
                event="replay",
                view=basis.kind,
                basis="last",
                explained=[float(share) for share in basis.explained_variance_ratio],
                frames=[
                    ReplayFrame(
                        step=step, **self.writer.frame(frame), **self.centers.get(step, {}), **self._grid(step, basis)
                    )
                    for step, frame in frames
                ],
            )
        )

    def _grid(self, step: int, basis: LinearProjection | None) -> Centered:
        """Return the event field of the grid of a step, as it lies on the map of a basis."""
        corners = self.grids.get(step)
        if corners is None or basis is None or not np.isfinite(corners).all():
            return {}
        placed = basis.project(corners).astype(np.float64)
        digits = 3 - int(np.floor(np.log10(max(float(np.abs(placed).max()), 1e-6))))
        return {"grid": placed.round(digits).tolist()}


def _centers(centers: np.ndarray | None) -> Centered:
    """Return the event field of class centers (k × d) in at most 3 dimensions; empty for wider embeddings."""
    if centers is None or centers.shape[1] > 3 or not np.isfinite(centers).all():
        return {}
    return {"centers": centers.astype(np.float64).round(4).tolist()}


class StepAverager:
    """Averages Step events, so that a run of `steps` steps has at most MAX_CURVE_POINTS of them."""

    def __init__(self, steps: int) -> None:
        self.every = -(-steps // MAX_CURVE_POINTS)
        self.steps = steps
        self.pending: list[Step] = []

    def is_due(self, event: Step) -> bool:
        """Return whether the pending steps are written with this one."""
        return event.step % self.every == 0 or event.step == self.steps

    def add(self, event: Step) -> StepEvent | None:
        """Add a step; return the means of the pending steps when they are due."""
        self.pending.append(event)
        if not self.is_due(event):
            return None
        steps, self.pending = self.pending, []
        return StepEvent(
            event="step",
            step=event.step,
            loss=_mean(step.loss for step in steps),
            active=_mean(step.active for step in steps),
            positive_distance=_mean(step.positive_distance for step in steps),
            negative_distance=_mean(step.negative_distance for step in steps),
            images_per_second=_mean(step.images_per_second for step in steps),
            terms_per_image=_mean(step.terms_per_image for step in steps),
            cpu_seconds=_mean([event.cpu_seconds]),
        )


def _mean(values: Iterable[float]) -> float:
    """Return the mean with six digits, which suffice for a curve: all digits would be half of a small run's size."""
    return float(f"{np.mean([*values]):.6g}")


def write_weights(path: Path, weights: dict[str, np.ndarray]) -> None:
    """Write weights by name as safetensors."""
    from safetensors.numpy import save

    with atomic_write(path) as file:
        file.write(save({name: np.ascontiguousarray(value) for name, value in weights.items()}))


def to_half(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Cast float32 weights to float16 where no value overflows."""
    return {
        name: value.astype(np.float16) if value.dtype == np.float32 and (np.abs(value) < 6e4).all() else value
        for name, value in weights.items()
    }


def _projection_quality(embeddings: np.ndarray, basis: LinearProjection | None, sample: int) -> Scores | None:
    """Return the quality of the final map, on so many images to bound the time."""
    from dmlviz.projection import projection_quality

    n = len(embeddings)
    if basis is None:
        return None
    positions = basis.project(embeddings)
    if n < 2 or not np.isfinite(positions).all():
        return None
    return {**projection_quality(embeddings, positions, largest=int((sample * n) ** 0.5)).summary}


def _distance_p99(embeddings: np.ndarray) -> float | None:
    """Return the 99th percentile of nearest-neighbor distances; a query beyond it is out of distribution.

    Measured on 1,000 images, each against all, to bound the time.
    """
    from dmlviz.ops.nearest_neighbors import NearestNeighbors

    if len(embeddings) < 2 or not np.isfinite(embeddings).all():
        return None
    sample = np.linspace(0, len(embeddings) - 1, min(len(embeddings), QUALITY_SAMPLE)).astype(int)
    distances, _ = NearestNeighbors(embeddings).others(1, sample)
    return float(np.percentile(distances, 99))
