"""Draws the map of a run's embeddings into its folder, frame by frame: at its end, at an epoch, or of all epochs."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.runs.frames import Box, Frame, HysteresisBounds, Items
from dmlviz.runs.run import ProjectionRun, Run
from dmlviz.runs.writer import RecordWriter
from dmlviz.storage.files import atomic_write, write_array

FRAME_INTERVAL_S = 0.2  # seconds between two frames on disk; what lies between is eased in the browser
MAX_EPOCH_MAPS = 20  # of a film of layouts, each of which takes seconds

Stop = Callable[[], bool] | None


def run_projection(folder: Path, *, stop: Stop = None) -> None:
    """Do the projection that the folder describes, of the run that it lies in; go on where an earlier try stopped.

    Whatever goes wrong ends as a "failed" event; raise UserError only for a folder that holds no projection, or that
    another process is writing.
    """
    drawing, run = ProjectionRun(folder), Run(folder.parent.parent)
    config = drawing.config
    with RecordWriter(drawing) as writer:
        try:
            if not drawing.events():
                writer.event("started", method=config.method, iterations=config.params.get("iterations"))
            (_project_all_epochs if config.all_epochs else _draw_map)(writer, drawing, run, stop)
        except Exception as error:
            writer.failed(error)


def _draw_map(writer: RecordWriter, drawing: ProjectionRun, run: Run, stop: Stop) -> None:
    from dmlviz.projection import project

    began, config = time.perf_counter(), drawing.config
    embeddings, labels = run.embeddings_at(config.step)
    fitted_to = (
        [run.embeddings_at(step)[0] for step in run.embedded_steps] if config.params.get("fitted") == "all" else None
    )
    iteration, start = drawing.resume_state or (0, None)
    painter = _FrameWriter(writer, "all" if config.step is None else "tracked")
    show = painter.show
    projection = project(
        embeddings,
        config,
        show,
        labels=labels,
        fitted_to=fitted_to,
        start=start,
        begun=iteration,
        stop=stop,
        on_phase=painter.tell,
    )
    if projection.stopped:
        _stopped(writer, painter.write(projection.coordinates), projection.iterations, began)
        return
    kept = projection.faithfulness
    with atomic_write(drawing.path / "faithfulness.npz") as file:
        np.savez(file, **kept.per_point)  # type: ignore[arg-type]
    write_array(drawing.path / "coordinates.npy", projection.coordinates)  # last: with them the map counts as whole
    writer.event(
        "finished",
        frame=painter.write(projection.coordinates),
        iteration=projection.iterations,
        seconds=time.perf_counter() - began,
        explained=projection.explained,
        error=projection.error,
        faithfulness=kept.summary,
    )


def _project_all_epochs(writer: RecordWriter, drawing: ProjectionRun, run: Run, stop: Stop) -> None:
    from dmlviz.projection import num_iterations, project_sequence

    began, config = time.perf_counter(), drawing.config
    steps = epoch_steps(run, config)
    painter = _FrameWriter(writer, "tracked")
    layout = "iterations" in config.params
    before = np.cumsum([0, *(num_iterations(config, number) for number in range(len(steps)))]) if layout else [0] * 2
    reached = 0

    def show(epoch: int, iteration: int, _of: int, error: float | None, coordinates: np.ndarray) -> None:
        nonlocal reached
        reached = int(before[epoch]) + iteration
        painter.show(reached, int(before[-1]), error, coordinates)

    def tell(words: str, epoch: int, iteration: int) -> None:
        painter.tell(words, int(before[epoch]) + iteration, int(before[-1]))

    epochs, labels = [run.embeddings_at(step)[0] for step in steps], run.embeddings_at(steps[0])[1]
    chosen = steps.index(config.step) if config.step in steps else -1
    drawn = project_sequence(epochs, config, show, labels=labels, chosen=chosen, stop=stop, on_phase=tell)
    if len(drawn) < len(steps):
        _stopped(writer, painter.latest, reached, began)
        return
    places = np.stack([projection.coordinates for projection in drawn])
    write_array(drawing.path / "coordinates.npy", places)
    box = Box.around(places.reshape(-1, config.dims), room=1.02)
    frames = [
        {"step": step, "explained": projection.explained, "faithfulness": projection.faithfulness.summary}
        | writer.frame(Frame.quantized(projection.coordinates, "tracked", box))
        for step, projection in zip(steps, drawn, strict=True)
    ]
    writer.event("replay", view=config.method, epochs=len(run.embedded_steps), frames=frames)
    writer.event(
        "finished", iteration=reached, seconds=time.perf_counter() - began, faithfulness=frames[-1]["faithfulness"]
    )


def epoch_steps(run: Run, config: ProjectionConfig) -> list[int]:
    """The epochs that a film shows: every one, or, where each takes a layout, 20 spread evenly over them."""
    steps = run.embedded_steps
    if "iterations" not in config.params or len(steps) <= MAX_EPOCH_MAPS:
        return steps
    chosen = np.unique(np.linspace(0, len(steps) - 1, MAX_EPOCH_MAPS).round().astype(int))
    return [steps[number] for number in chosen]


def _stopped(writer: RecordWriter, frame: dict[str, Any] | None, iteration: int, began: float) -> None:
    seconds = time.perf_counter() - began
    writer.event("stopped", frame=frame, iteration=iteration, seconds=seconds, reason="paused")


class _FrameWriter:
    """Writes the positions of a layout on its way as frames and events, a few a second."""

    def __init__(self, writer: RecordWriter, items: Items) -> None:
        self.writer = writer
        self.items = items
        self.box = HysteresisBounds()
        self.latest: dict[str, Any] | None = None
        self._due = -np.inf

    def show(self, iteration: int, of: int, error: float | None, coordinates: np.ndarray) -> None:
        if time.monotonic() >= self._due:
            self.latest = self.write(coordinates)
            self.writer.event("frame", iteration=iteration, of=of, error=error, frame=self.latest)
            self._due = time.monotonic() + FRAME_INTERVAL_S

    def tell(self, words: str, iteration: int, of: int) -> None:
        """What is done where there is nothing to see."""
        self.writer.event("phase", words=words, iteration=iteration, of=of)

    def write(self, coordinates: np.ndarray) -> dict[str, Any]:
        return self.writer.frame(Frame.quantized(coordinates, self.items, self.box.around(coordinates)))
