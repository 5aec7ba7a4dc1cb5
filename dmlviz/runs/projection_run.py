"""Computes a projection of a run, or of some images of it, into its folder: of one step, the end, or all snapshots."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import ProjectionConfig
from dmlviz.data.class_names import known_labels
from dmlviz.errors import UserError
from dmlviz.runs.frames import Box, Frame, HysteresisBounds, Items
from dmlviz.runs.projection_record import STOPPED_STATE
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import ProjectionRun, Run
from dmlviz.storage.files import atomic_write, write_array
from dmlviz.storage.run_schema.events import (
    FrameMeta,
    LayoutEvent,
    PhaseEvent,
    ProjectionEndedEvent,
    ProjectionEvent,
    ProjectionStartedEvent,
    ReplayEvent,
    ReplayFrame,
)

FRAME_INTERVAL_S = 0.2  # between frames on disk; the browser interpolates
MAX_EPOCH_MAPS = 20  # of iterative layouts, which take seconds each

if TYPE_CHECKING:
    from dmlviz.projection import Projection

Stop = Callable[[], bool] | None
Writer = RecordWriter[ProjectionEvent]


def run_projection(folder: Path, *, stop: Stop = None) -> None:
    """Compute the projection that a folder describes, continuing where an earlier attempt stopped.

    Errors during the computation end as a "failed" event.

    Args:
        folder: The folder of the projection, inside its run's.
        stop: Called between iterations; True stops.

    Raises:
        UserError: If the folder has no valid projection, or another process is writing it.
    """
    record, run = ProjectionRun(folder), Run(folder.parent.parent)
    config = record.config
    with RecordWriter(record) as writer:
        try:
            if not record.events():
                iterations = config.params.get("iterations")
                writer.event(ProjectionStartedEvent(event="started", method=config.method, iterations=iterations))
            (_project_all_epochs if config.all_epochs else _project_once)(writer, record, run, stop)
        except Exception as error:
            writer.failed(error)


def _project_once(writer: Writer, record: ProjectionRun, run: Run, stop: Stop) -> None:
    from dmlviz.projection import lowered, project

    began, config = time.perf_counter(), record.config
    embeddings, labels = projected_embeddings(run, config, config.step)
    config = lowered(config, *embeddings.shape)[0]
    fitted_to = (
        [projected_embeddings(run, config, step)[0] for step in run.embedded_steps]
        if config.params.get("fitted") == "all"
        else None
    )
    iteration, start, momentum = record.resume_state or (0, None, None)
    frame_writer = _FrameWriter(writer, "all" if config.step is None and config.items is None else "tracked")
    projection = project(
        embeddings,
        config,
        frame_writer.show,
        labels=_known(run, labels),
        fitted_to=fitted_to,
        start=start,
        begun=iteration,
        momentum=momentum,
        stop=stop,
        on_phase=frame_writer.tell,
    )
    if projection.stopped:
        if projection.iterations:
            _keep_state(record, projection)
        _write_end(writer, frame_writer.write(projection.coordinates), projection.iterations, began)
        return
    (record.path / STOPPED_STATE).unlink(missing_ok=True)
    quality = projection.quality
    with atomic_write(record.path / "faithfulness.npz") as file:
        np.savez(file, **quality.per_point)  # type: ignore[arg-type]
    write_array(record.path / "coordinates.npy", projection.coordinates)  # last: it marks the map as complete
    writer.event(
        ProjectionEndedEvent(
            event="finished",
            frame=frame_writer.write(projection.coordinates),
            iteration=projection.iterations,
            seconds=time.perf_counter() - began,
            explained=_explained_variance(projection),
            error=projection.error,
            faithfulness={**quality.summary},
        )
    )


def _keep_state(record: ProjectionRun, projection: "Projection") -> None:
    state = {"iteration": np.int64(projection.iterations), "positions": projection.coordinates}
    if projection.momentum is not None:
        state["momentum"] = projection.momentum
    with atomic_write(record.path / STOPPED_STATE) as file:
        np.savez(file, **state)  # type: ignore[arg-type]


def _project_all_epochs(writer: Writer, record: ProjectionRun, run: Run, stop: Stop) -> None:
    from dmlviz.projection import num_iterations, project_sequence

    began, config = time.perf_counter(), record.config
    steps = epoch_steps(run, config)
    frame_writer = _FrameWriter(writer, "tracked")
    layout = "iterations" in config.params
    before = np.cumsum([0, *(num_iterations(config, number) for number in range(len(steps)))]) if layout else [0] * 2
    end = 0

    def show(epoch: int, iteration: int, _of: int, error: float | None, coordinates: np.ndarray) -> None:
        nonlocal end
        end = int(before[epoch]) + iteration
        frame_writer.show(end, int(before[-1]), error, coordinates)

    def tell(phase: str, epoch: int, iteration: int) -> None:
        frame_writer.tell(phase, int(before[epoch]) + iteration, int(before[-1]))

    snapshots = [projected_embeddings(run, config, step) for step in steps]
    epochs, labels = [embeddings for embeddings, _ in snapshots], snapshots[0][1]
    final = steps.index(config.step) if config.step in steps else -1
    projections = project_sequence(
        epochs, config, show, labels=_known(run, labels), chosen=final, stop=stop, on_phase=tell
    )
    if len(projections) < len(steps):
        _write_end(writer, frame_writer.latest, end, began)
        return
    positions = np.stack([projection.coordinates for projection in projections])
    write_array(record.path / "coordinates.npy", positions)
    box = Box.around_all([*positions], room=1.02)
    frames = [
        ReplayFrame(
            step=step,
            explained=_explained_variance(projection),
            faithfulness={**projection.quality.summary},
            **writer.frame(Frame.quantized(projection.coordinates, "tracked", box)),
        )
        for step, projection in zip(steps, projections, strict=True)
    ]
    writer.event(ReplayEvent(event="replay", view=config.method, epochs=len(run.embedded_steps), frames=frames))
    seconds, faithfulness = time.perf_counter() - began, frames[-1]["faithfulness"]
    writer.event(ProjectionEndedEvent(event="finished", iteration=end, seconds=seconds, faithfulness=faithfulness))


def _known(run: Run, labels: np.ndarray) -> np.ndarray | None:
    """Return the labels (n), -1 for one that is missing; None where all are."""
    known = known_labels(labels, DATASETS[run.config.dataset].classes)
    return known if (known >= 0).any() else None


def epoch_steps(run: Run, config: ProjectionConfig) -> list[int]:
    """Return the steps of a projection of all epochs: every snapshot, or 20 evenly spread ones of iterative methods."""
    steps = run.embedded_steps
    if "iterations" not in config.params or len(steps) <= MAX_EPOCH_MAPS:
        return steps
    subset = np.unique(np.linspace(0, len(steps) - 1, MAX_EPOCH_MAPS).round().astype(int))
    return [steps[number] for number in subset]


def _write_end(writer: Writer, frame: FrameMeta | None, iteration: int, began: float) -> None:
    seconds = time.perf_counter() - began
    writer.event(
        ProjectionEndedEvent(event="stopped", frame=frame, iteration=iteration, seconds=seconds, reason="paused")
    )


def _explained_variance(projection: "Projection") -> list[float] | None:
    return None if projection.explained is None else list(projection.explained)


class _FrameWriter:
    """Writes intermediate layouts as frames and events, at most five per second."""

    def __init__(self, writer: Writer, items: Items) -> None:
        self.writer = writer
        self.items = items
        self.box = HysteresisBounds()
        self.latest: FrameMeta | None = None
        self._due = -np.inf

    def show(self, iteration: int, of: int, error: float | None, coordinates: np.ndarray) -> None:
        """Write a layout, unless the last one is recent."""
        if time.monotonic() >= self._due:
            self.latest = self.write(coordinates)
            self.writer.event(LayoutEvent(event="frame", iteration=iteration, of=of, error=error, frame=self.latest))
            self._due = time.monotonic() + FRAME_INTERVAL_S

    def tell(self, phase: str, iteration: int, of: int) -> None:
        """Log a phase that has no layout to show."""
        self.writer.event(PhaseEvent(event="phase", words=phase, iteration=iteration, of=of))

    def write(self, coordinates: np.ndarray) -> FrameMeta:
        """Write a frame; return its description for an event."""
        return self.writer.frame(Frame.quantized(coordinates, self.items, self.box.around(coordinates)))


def projected_items(run: Run, config: ProjectionConfig) -> np.ndarray:
    """Return the test images on the map of a projection.

    Args:
        run: A run with embeddings.
        config: The projection.

    Returns:
        Their indices, ascending: all test images, the tracked ones for earlier steps, or those of them in `subset`.

    Raises:
        UserError: If none of the subset is among them.
    """
    labels, indices = run.labels, run.tracked_indices
    whole = np.arange(0 if labels is None else len(labels)) if config.whole or indices is None else indices
    if config.items is None:
        return np.asarray(whole)
    items = np.intersect1d(whole, config.items)
    if not len(items):
        raise UserError(
            f"None of the selected images is among the {len(whole):,} of {run.title} at this step: select others, "
            "or project the last step."
        )
    return items


def projected_embeddings(run: Run, config: ProjectionConfig, step: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return embeddings (n × d) and labels (n) of the images on the map of a projection, at a step.

    Args:
        run: A run with embeddings.
        config: The projection; only its subset counts here.
        step: As in `Run.embeddings_at`.

    Raises:
        UserError: If there are no embeddings at this step, or none of the subset.
    """
    embeddings, labels = run.embeddings_at(step)
    if config.items is None:
        return embeddings, labels
    indices = run.tracked_indices
    items = np.arange(len(labels)) if step is None or indices is None else indices
    rows = np.isin(items, projected_items(run, config.replace(step=step, all_epochs=False)))
    return embeddings[rows], labels[rows]
