"""Computes a projection of a run, or of some of its images, into its folder: of a step, the end, a whole training."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import ProjectionConfig
from dmlviz.data.class_names import known_labels
from dmlviz.errors import UserError
from dmlviz.process_setup import lower_priority
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
LOOK_S = 0.02  # between two looks for a snapshot
FOLLOW_INTERVAL_S = 0.15  # between layouts of one snapshot
BEHIND_TRAINING, SETTLING = 4, 8  # niceness, once there is a layout to look at; behind maps that move, too
FIRST_FRAMES, LATER_FRAMES, MOST_FRAMES = 6, 2, 8  # of a snapshot: at least of the first and of a later one, at most
FILLED_S = 10.0  # after a training, for the snapshots that were left out
MEASURED = 700  # images that the quality of a frame of a replay is measured on

if TYPE_CHECKING:
    from dmlviz.projection import LiveProjection, Projection

Stop = Callable[[], bool] | None
Trains = Callable[[Run], bool]
Writer = RecordWriter[ProjectionEvent]


def run_projection(
    folder: Path,
    *,
    stop: Stop = None,
    trains: Trains = lambda run: run.state == "running",
    begin: str = "",
    every: bool = False,
) -> None:
    """Compute the projection that a folder describes, continuing where an earlier attempt stopped.

    Errors during the computation end as a "failed" event.

    Args:
        folder: The folder of the projection, inside its run's.
        stop: Called between iterations; True stops.
        trains: Whether the run still trains, or is about to; a map that follows waits for its snapshots.
        begin: ID of the projection by the same method from whose last layout this one goes on, if any.
        every: Whether a map that follows draws every snapshot, however far it falls behind the training; otherwise it
            leaves out those that came meanwhile, since somebody is watching.

    Raises:
        UserError: If the folder has no valid projection, or another process is writing it.
    """
    record, run = ProjectionRun(folder), Run(folder.parent.parent)
    with RecordWriter(record) as writer:
        try:
            if not record.events():
                writer.event(started(record.config, run))
            if record.config.follow:
                _follow(writer, record, run, stop, trains, begin, every)
            else:
                _project_once(writer, record, run, stop, begin)
        except Exception as error:
            if run.path.is_dir():  # otherwise it was deleted, and this record with it
                writer.failed(error)


def started(config: ProjectionConfig, run: Run) -> ProjectionStartedEvent:
    """Return the first event of a projection."""
    iterations = config.params.get("iterations")
    event = ProjectionStartedEvent(event="started", method=config.method, iterations=iterations)
    if config.follow:
        event["training_steps"] = None if run.recorded else run.steps
    return event


def _project_once(writer: Writer, record: ProjectionRun, run: Run, stop: Stop, begin: str) -> None:
    from dmlviz.projection import LiveProjection, lowered, project
    from dmlviz.projection.live import what_is_odd

    began, config = time.perf_counter(), record.config
    embeddings, labels = projected_embeddings(run, config, config.step)
    config, note = lowered(config, *embeddings.shape)
    iteration, start, momentum = record.resume_state or (0, None, None)
    if begin and start is None and config.resumable:
        live = LiveProjection(config)
        _begin(live, record, run, begin)
        start = live.places(embeddings, ids=projected_items(run, config), labels=_known(run, labels))
    frame_writer = _FrameWriter(writer, "all" if config.step is None and config.items is None else "tracked")
    projection = project(
        embeddings,
        config,
        frame_writer.show,
        labels=_known(run, labels),
        fitted_to=_every_snapshot(run, config) if config.params.get("fitted") == "all" else None,
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
    projection = replace(projection, note=what_is_odd(embeddings, config) or note)
    _write_map(writer, record, projection, frame_writer, began, projection.iterations)


def _write_map(
    writer: Writer,
    record: ProjectionRun,
    projection: "Projection",
    frame_writer: "_FrameWriter",
    began: float,
    iteration: int,
) -> None:
    quality = projection.quality
    with atomic_write(record.path / "faithfulness.npz") as file:
        np.savez(file, **quality.per_point)  # type: ignore[arg-type]
    write_array(record.path / "coordinates.npy", projection.coordinates)  # last: it marks the map as complete
    event = ProjectionEndedEvent(
        event="finished",
        frame=frame_writer.write(projection.coordinates),
        iteration=iteration,
        seconds=time.perf_counter() - began,
        explained=_explained_variance(projection),
        error=projection.error,
        faithfulness={**quality.summary},
    )
    if projection.note:
        event["note"] = projection.note
    writer.event(event)


def _every_snapshot(run: Run, config: ProjectionConfig) -> list[np.ndarray]:
    return [projected_embeddings(run, config, step)[0] for step in run.embedded_steps]


def _keep_state(record: ProjectionRun, projection: "Projection") -> None:
    state = {"iteration": np.int64(projection.iterations), "positions": projection.coordinates}
    if projection.momentum is not None:
        state["momentum"] = projection.momentum
    with atomic_write(record.path / STOPPED_STATE) as file:
        np.savez(file, **state)  # type: ignore[arg-type]


def _follow(
    writer: Writer, record: ProjectionRun, run: Run, stop: Stop, trains: Trains, begin: str, every: bool
) -> None:
    """Write a layout of each snapshot, while the run trains of the newest, then settle into that of all test images."""
    from dmlviz.projection import LiveProjection

    began, config, frame_writer = (
        time.perf_counter(),
        record.config.replace(follow=False),
        _FrameWriter(writer, "tracked"),
    )
    live, frames, shown = (
        LiveProjection(config),
        {step: one for step, one in record.layouts.items() if one["items"] == "tracked"},
        -1,
    )
    if frames:  # of an earlier attempt
        shown = max(frames)
        live.begin(record.positions(frames[shown]), projected_items(run, config.replace(step=shown)))
    elif begin and trains(run):
        _begin(live, record, run, begin)
    layouts: Iterator[Projection] | None = None  # of the snapshot that is shown
    count = least = 0
    due, is_first, is_live = 0.0, True, trains(run)
    while stop is None or not stop():
        is_training = trains(run)  # before the look, so that no snapshot is missed
        steps = [step for step in run.snapshot_steps if step > shown]
        if steps and (layouts is None or count >= least):
            is_once = every or not is_training or config.declared.linear
            least, count, due = 1 if is_once else FIRST_FRAMES if shown < 0 else LATER_FRAMES, 0, 0.0
            step = steps[-1 if is_training and not every else 0]
            if shown < 0:
                frame_writer.tell("Drawing the first layout", step, max(run.steps, step), step=step)
            shown = step
            layouts = _layouts(live, run, config, shown, is_once)
        if layouts is not None and is_training and time.monotonic() < due:
            time.sleep(LOOK_S)
        elif layouts is not None:
            count, due = count + 1, time.monotonic() + FOLLOW_INTERVAL_S
            is_over = not _write_layout(frame_writer, run, shown, layouts)
            if is_training and is_first:
                lower_priority(below=BEHIND_TRAINING)
            is_first = False
            if is_over or count >= (MOST_FRAMES if is_training else least):
                layouts = None
        elif is_training:
            time.sleep(LOOK_S)
        else:
            try:
                if run.embeddings is None:
                    raise (
                        run.lacks("embeddings of all test images")
                        if not record.layouts
                        else UserError(run.why_unfinished)
                    )
                if is_live:
                    lower_priority(below=SETTLING)
                _settle(writer, record, run, live, stop, began)
            except UserError as error:  # a collapsed net, one that failed
                reason = f"{error} The last layout stays." if record.layouts else str(error)
                writer.event(ProjectionEndedEvent(event="stopped", iteration=max(shown, 0), reason=reason))
            return
    _write_end(writer, None, max(shown, 0), began)


def _begin(live: "LiveProjection", record: ProjectionRun, run: Run, begin: str) -> None:
    """Let a map go on from the same one with other settings: from where the points are at its step, or at last."""
    other = ProjectionRun(record.path.parent / begin)
    drawn, places, step = other.config, other.coordinates, record.config.step
    if any(getattr(drawn, name) != getattr(live.config, name) for name in ("method", "dims", "seed")):
        return
    if drawn.follow and (kept := other.layouts) and (places is None or step in kept):
        step = step if step in kept else max(kept)
        places, drawn = other.positions(kept[step]), drawn.replace(follow=False, step=step)
    if places is not None:
        live.begin(places, projected_items(run, drawn))


def _layouts(
    live: "LiveProjection", run: Run, config: ProjectionConfig, step: int, is_once: bool
) -> Iterator["Projection"]:
    """Return layouts of a snapshot: one, or as many as one asks for."""
    config = config.replace(step=step)
    embeddings, labels = projected_embeddings(run, config, step)
    ids, known = projected_items(run, config), _known(run, labels)
    if is_once:
        return (live.update(embeddings, ids=ids, labels=known) for _ in range(1))
    return live.frames(embeddings, ids=ids, labels=known)


def _write_layout(frame_writer: "_FrameWriter", run: Run, step: int, layouts: Iterator["Projection"]) -> bool:
    """Write the next layout of a snapshot, and return whether there was one; if its embeddings have none, say why."""
    of = max(run.steps, step)
    try:
        layout = next(layouts, None)
    except UserError as error:
        frame_writer.tell(str(error), step, of, step=step)
        return False
    if layout is None:
        return False
    event = LayoutEvent(
        event="frame",
        iteration=step,
        of=of,
        frame=frame_writer.write(layout.coordinates),
        step=step,
        faithfulness={**layout.quality.summary},
    )
    if layout.note:
        event["note"] = layout.note
    frame_writer.writer.event(event)
    return True


def _settle(writer: Writer, record: ProjectionRun, run: Run, live: "LiveProjection", stop: Stop, began: float) -> None:
    from dmlviz.projection import project

    end = run.end_step or 0
    config = record.config.replace(follow=False, step=None if record.config.whole else end)
    embeddings, labels = projected_embeddings(run, config, config.step)
    items, known = projected_items(run, config), _known(run, labels)
    frame_writer = _FrameWriter(writer, "all" if record.config.whole else "tracked")
    if config.declared.linear:
        fitted = config.params.get("fitted")
        fitted_to = _every_snapshot(run, config) if fitted == "all" else [embeddings]
        projection = project(embeddings, config, labels=known, fitted_to=fitted_to, stop=stop)
        if fitted != "each":
            _replay(writer, run, record.config, fitted_to, projection)
    else:
        words = f"Settling all {len(items):,} test images"
        frame_writer.tell(words, 0, 0)  # their neighbors come first, which takes a while on a busy machine
        projection = live.settle(
            embeddings,
            ids=items,
            labels=known,
            on_frame=lambda done, of, *_: frame_writer.tell(words, done, of),
            stop=stop,
        )
    if projection.stopped:
        _write_end(writer, None, end, began)
        return
    if not config.declared.linear:
        _fill(writer, record, run, projection, frame_writer, stop)
    _write_map(writer, record, projection, frame_writer, began, end)


def _fill(
    writer: Writer, record: ProjectionRun, run: Run, last: "Projection", frame_writer: "_FrameWriter", stop: Stop
) -> None:
    """Draw the snapshots that were left out, each from the layout before or, of the first ones, from that after."""
    from dmlviz.projection import LiveProjection

    end, config = run.end_step or 0, record.config.replace(follow=False)
    drawn = {event["step"]: event for event in record.events() if event["event"] == "frame" and "step" in event}
    missing = [step for step in run.snapshot_steps if step not in drawn and step != end]
    if not drawn or not missing:
        return
    whole = frame_writer.write(last.coordinates)  # it is seen meanwhile
    quality: dict[str, float | None] = {**last.quality.summary}
    writer.event(LayoutEvent(event="frame", iteration=end, of=end, step=end, frame=whole, faithfulness=quality))
    first, frames = min(drawn), dict[int, ReplayFrame]()

    def add(step: int, meta: FrameMeta, quality: Any, note: str = "") -> None:
        frames[step] = ReplayFrame(step=step, faithfulness=quality, **meta)
        if note:
            frames[step]["note"] = note

    for step, event in drawn.items():
        add(step, event["frame"], event.get("faithfulness"), event.get("note", ""))
    live, stands, until, filled = (
        LiveProjection(config),
        -1,
        time.monotonic() + FILLED_S,
        _FrameWriter(writer, "tracked"),
    )
    order = [*reversed([step for step in missing if step < first]), *(step for step in missing if step > first)]
    for number, step in enumerate(order):
        if time.monotonic() > until or (stop is not None and stop()):
            break
        near = first if step < first else max(other for other in drawn if other < step)
        if stands != near:
            live, stands = LiveProjection(config), near
            live.begin(record.positions(drawn[near]["frame"]), projected_items(run, config.replace(step=near)))
        frame_writer.tell("Drawing the steps that were left out", number, len(order), step=step)
        with contextlib.suppress(UserError):  # a collapsed step has no layout
            layout = next(_layouts(live, run, config, step, True))
            add(step, filled.write(layout.coordinates), {**layout.quality.summary}, layout.note)
    add(end, whole, quality, last.note)
    every = [frames[step] for step in sorted(frames)]
    writer.event(ReplayEvent(event="replay", view=record.config.method, frames=every))


def _replay(
    writer: Writer, run: Run, config: ProjectionConfig, fitted_to: list[np.ndarray], last: "Projection"
) -> None:
    """Write all snapshots on the basis of a linear map, in one box."""
    from dmlviz.projection import project

    maps: list[tuple[int, Projection, Items]] = []
    end = run.end_step or 0
    for step in run.snapshot_steps:
        if step != end:
            rows = projected_embeddings(run, config.replace(follow=False), step)[0]
            maps.append((step, project(rows, last.config, fitted_to=fitted_to), "tracked"))
    maps.append((end, last, "all" if config.whole else "tracked"))
    box = Box.around_all([one.coordinates for _, one, _ in maps], room=1.02)
    frames = [
        ReplayFrame(
            step=step,
            explained=_explained_variance(one),
            faithfulness={**replace(one, measured=MEASURED).quality.summary},
            **writer.frame(Frame.quantized(one.coordinates, items, box)),
        )
        for step, one, items in maps
    ]
    writer.event(ReplayEvent(event="replay", view=config.method, frames=frames))


def _known(run: Run, labels: np.ndarray) -> np.ndarray | None:
    """Return the labels (n), -1 for one that is missing; None where all are."""
    known = known_labels(labels, DATASETS[run.config.dataset].classes)
    return known if (known >= 0).any() else None


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
        self._phase = ""

    def show(self, iteration: int, of: int, error: float | None, coordinates: np.ndarray) -> None:
        """Write a layout, unless the last one is recent."""
        if time.monotonic() >= self._due:
            self.latest = self.write(coordinates)
            self.writer.event(LayoutEvent(event="frame", iteration=iteration, of=of, error=error, frame=self.latest))
            self._due = time.monotonic() + FRAME_INTERVAL_S

    def tell(self, phase: str, iteration: int, of: int, *, step: int | None = None) -> None:
        """Log a phase that has no layout to show, unless the last one is recent and says the same."""
        if phase != self._phase or time.monotonic() >= self._due:
            event = PhaseEvent(event="phase", words=phase, iteration=iteration, of=of)
            if step is not None:
                event["step"] = step
            self.writer.event(event)
            self._phase, self._due = phase, time.monotonic() + FRAME_INTERVAL_S

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
        config: The projection; only its subset and its prefix count here.
        step: As in `Run.embeddings_at`.

    Raises:
        UserError: If there are no embeddings at this step, too few dimensions, or none of the subset.
    """
    embeddings, labels = run.embeddings_at(step)
    embeddings = config.cut(embeddings)
    if config.items is None:
        return embeddings, labels
    indices = run.tracked_indices
    items = np.arange(len(labels)) if step is None or indices is None else indices
    rows = np.isin(items, projected_items(run, config.replace(step=step, follow=False)))
    return embeddings[rows], labels[rows]
