"""Draws the map of a run's embeddings into its folder, frame by frame."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dmlviz.files import atomic, write_array
from dmlviz.frames import Frame, SteadyBox
from dmlviz.record import Drawing, Run
from dmlviz.recording import Writer

EVERY = 0.2  # seconds between two frames on disk; what lies between is eased in the browser


def draw_into(folder: Path, *, stop: Callable[[], bool] | None = None) -> None:
    """Do the projection that the folder describes, of all test images of the run that it lies in.

    Whatever goes wrong ends as a "failed" event; raise UserError only for a folder that holds no projection, or that
    another process is writing.
    """
    drawing, run = Drawing(folder), Run(folder.parent.parent)
    config, begun = drawing.config, time.perf_counter()
    with Writer(drawing) as writer:
        try:
            writer.event("started", method=config.method, iterations=config.params.get("iterations"))
            from dmlviz.projection import project

            painter = _Painter(writer)
            projection = project(run.embeddings, config, painter.show, labels=run.labels, stop=stop)
            seconds = time.perf_counter() - begun
            if projection.stopped:
                writer.event("stopped", frame=painter.latest, seconds=seconds, reason="stopped by hand")
                return
            write_array(folder / "coordinates.npy", projection.coordinates)
            frame = painter.written(projection.coordinates)
            kept = projection.faithfulness
            with atomic(folder / "faithfulness.npz") as file:
                np.savez(file, **kept.per_point)  # type: ignore[arg-type]
            writer.event(
                "finished",
                frame=frame,
                seconds=seconds,
                explained=projection.explained,
                error=projection.error,
                faithfulness={**kept.overall, "k": kept.k, "measured": kept.measured},
            )
        except Exception as error:
            writer.failed(error)


class _Painter:
    """Writes the positions of a layout on its way as frames and events, a few a second."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.box = SteadyBox()
        self.latest: dict[str, object] | None = None
        self._due = -np.inf

    def show(self, iteration: int, of: int, error: float | None, coordinates: np.ndarray) -> None:
        if time.monotonic() >= self._due:
            self.latest = self.written(coordinates)
            self.writer.event("frame", iteration=iteration, of=of, error=error, frame=self.latest)
            self._due = time.monotonic() + EVERY

    def written(self, coordinates: np.ndarray) -> dict[str, object]:
        return self.writer.frame(Frame.of(coordinates, "all", self.box.around(coordinates)))
