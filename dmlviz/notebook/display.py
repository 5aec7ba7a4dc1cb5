"""The map of a run, of a training while it goes on, or of embeddings, as a widget."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.data import load
from dmlviz.data.class_names import UNLABELED, class_ids
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.data.import_path import import_table
from dmlviz.data.sprite_sheet import encode_sheet, sheet_count, tile_side
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport, SpriteSheets
from dmlviz.export.page_contents import RunContents, live_contents, page_contents, picture_of
from dmlviz.jobs.follower import Follower
from dmlviz.notebook.widget import MapWidget
from dmlviz.ops.labels import is_missing
from dmlviz.recording.inputs import read_embeddings, read_labels, recorded_dataset, to_numpy
from dmlviz.recording.pictures import to_pictures
from dmlviz.recording.run_writer import RunPlan, RunWriter
from dmlviz.runs.add_data import to_arrow
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder
from dmlviz.runs.training_run import train_and_record
from dmlviz.storage.text import one_line
from dmlviz.training.iterator import Training

START_S = 30.0  # seconds in which a training here should begin


def map_widget(
    thing: Any,
    labels: Any,
    images: Any,
    classes: Sequence[Any] | None,
    projection: str | ProjectionConfig | None,
    height: int,
    runs: str | Path | None,
    data: str | Path | None,
) -> MapWidget:
    """Return the widget that `dmlviz.show` shows; its arguments are explained there."""
    folder = None if data is None else Path(data)
    drawn = None if projection is None else ProjectionConfig.following(projection)
    if isinstance(thing, Training):
        return _show_training(thing, drawn, height, runs_folder(runs), folder)
    if isinstance(thing, Run):
        return _show_run(thing, drawn, height, folder)
    if drawn is not None:
        raise UserError("projection is for a run or a training; got embeddings: use dmlviz.projection.project.")
    return _show_embeddings(thing, labels, images, classes, height)


def _show_run(run: Run, drawn: ProjectionConfig | None, height: int, data: Path | None) -> MapWidget:
    export = RunExport.from_run(run, data_root=data)
    if drawn is None and run.state == "running":
        drawn = next((one.config for one in run.projections() if one.config.follow and one.state == "running"), None)
    follower = None if drawn is None else Follower(run, drawn)
    if run.state != "running" and (follower is None or follower.record is not None):
        return MapWidget(_contents(run, export.sheets, follower), run, height)
    labels = run.labels
    if labels is None:
        raise UserError(f"{run.title} has no embeddings yet: wait until its training has started.")
    widget = MapWidget(_live_contents(export, labels, follower), run, height)
    widget.follow(
        lambda final_run: _contents(final_run, export.sheets, follower), None if follower is None else follower.wait
    )
    return widget


def _show_training(
    training: Training, drawn: ProjectionConfig | None, height: int, runs: Path, data: Path | None
) -> MapWidget:
    training.take()
    config = training.config
    dataset = training.data or load(config.dataset, data)
    run = Runs(runs).create(config)
    export = RunExport(run, None, _sheets(dataset.test.images))
    follower = None if drawn is None else Follower(run, drawn)
    widget = MapWidget(_live_contents(export, dataset.test.labels, follower), run, height)

    def work() -> None:
        events = train_and_record(run, data=dataset, stop=lambda: widget.stopping)
        for _ in events if follower is None else follower.beside(events):
            pass
        if follower is not None and run.embedded:
            follower.wait()

    widget.follow(lambda final_run: _contents(final_run, export.sheets, follower), work)
    end = time.monotonic() + START_S
    while run.tracked_indices is None and widget.error is None and time.monotonic() < end:
        time.sleep(0.02)
    contents = _live_contents(export, dataset.test.labels, follower)  # now with the tracked images
    if widget.contents["near"] is None:  # else it is over already, and the widget shows the finished run
        widget.contents = contents
    return widget


def _live_contents(export: RunExport, labels: np.ndarray, follower: Follower | None) -> RunContents:
    contents = live_contents(export, labels)
    if follower is not None:
        contents["view"], contents["picture"] = follower.config.id, picture_of(export.run, follower.config)
    return contents


def _contents(run: Run, sheets: SpriteSheets | None, follower: Follower | None) -> RunContents:
    """Return the contents of a finished run, on the map that has followed it if that is whole."""
    return page_contents(RunExport(run, None if follower is None else follower.record, sheets))


def _show_embeddings(
    embeddings: Any, labels: Any, images: Any, classes: Sequence[Any] | None, height: int
) -> MapWidget:
    if hasattr(embeddings, "columns") and to_numpy(embeddings).dtype.kind not in "fiub":  # a table with words
        table, notes = to_arrow(embeddings)
        read = import_table(table, Path(), "the table", title="", notes=notes)
        if not isinstance(read, LabeledEmbeddings):
            raise UserError("dmlviz.show takes a table with vectors; got one of pictures: add it with dmlviz.add_data.")
        labels = np.array(read.classes, object)[read.labels] if labels is None else labels
        embeddings, images = read.embeddings, read.images if images is None else images
    shape = np.shape(to_numpy(embeddings))
    if len(shape) != 2:
        got = f"an array of shape {shape}" if shape else type(embeddings).__name__
        raise UserError(f"dmlviz.show takes embeddings as n × d numbers, a run, or a training; got {got}: pass one.")
    _check_finite(to_numpy(embeddings))
    points = read_embeddings(embeddings, 0, shape[0], None)
    ids, names = _read_classes(labels, classes, shape[0])
    pictures = None if images is None else to_pictures(images, len(ids))
    spec = recorded_dataset("Embeddings", pictures, ids, names)
    with tempfile.TemporaryDirectory(prefix="dmlviz-show-") as folder:
        plan = RunPlan(Path(folder), "Embeddings", _content_id(points), spec.to_dict(), 0)
        with RunWriter(plan, ids, points) as writer:
            writer.last = 0, points
            writer.end("", 0.0, 0.0, scored=False)
        export = RunExport(Run(writer.run.path), None, None if pictures is None else _sheets(pictures))
        contents = page_contents(export)
        contents["plain"] = True
    return MapWidget(contents, None, height)


def _check_finite(embeddings: np.ndarray) -> None:
    if embeddings.dtype.kind != "f":
        return
    bad = np.flatnonzero(~np.isfinite(embeddings).all(axis=1))
    if len(bad):
        raise UserError(
            f"Embeddings are finite; got NaN or infinity in {len(bad):,} of {len(embeddings):,} rows, first at index "
            f"{bad[0]:,}: leave these rows out."
        )


def _read_classes(labels: Any, classes: Sequence[Any] | None, n: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return class IDs (n) and names of labels of any kind, as `dmlviz.add_data` reads them: missing ones are gray."""
    if labels is None:
        return read_labels(None, classes, n)
    array = np.ma.getdata(labels) if np.ma.isMaskedArray(labels) else to_numpy(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (n,):
        raise UserError(
            f"There is one label for each of the {n:,} embeddings; got an array of shape {array.shape}: pass n labels, "
            "None for those that are missing."
        )
    if array.dtype.kind in "mM":
        array = np.where(np.isnat(array), "", array.astype(str))
    pairs = zip(array.tolist(), is_missing(labels).ravel(), strict=True)
    array = np.array([None if missing else label for label, missing in pairs], object)
    if classes is None:
        return class_ids(array, "labels")
    given = array != None  # noqa: E711 -- item by item
    names = tuple(str(name) for name in classes)
    if not {*array[given]} <= {*range(len(names))}:
        other = next(label for label in array[given] if label not in range(len(names)))
        raise UserError(
            f"With classes, labels are numbers from 0 to {len(names) - 1}; got {one_line(repr(other), 40)}: leave "
            "classes out, or name every class."
        )
    ids = np.where(given, array, len(names)).astype(np.int64)
    return ids, names if given.all() else (*names, UNLABELED)


def _content_id(points: np.ndarray) -> str:
    """Return an ID of the embeddings, so that different ones are different runs in a page."""
    from hashlib import sha256

    return sha256(points.tobytes()).hexdigest()[:16]


def _sheets(images: np.ndarray) -> SpriteSheets:
    pngs = tuple(encode_sheet(images, number) for number in range(sheet_count(len(images))))
    return SpriteSheets(tile_side(images), pngs)
