"""The files of a run: the name of each, how it is read, when a run must have it, and what of a run depends on it."""

import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from dmlviz.errors import DamagedFileError
from dmlviz.runs.gallery import Gallery
from dmlviz.runs.run import LOSS_WEIGHTS, Run
from dmlviz.storage.arrays import read_shape, reading
from dmlviz.storage.regular_file import open_regular, regular_path

PARTS = ("scores", "map", "neighbors", "net", "earlier epochs", "batches", "columns", "gallery")
_POINTS = ("map", "neighbors", "earlier epochs", "batches")
_DIGITS = {"STEP": "(?:0|[1-9][0-9]{0,8})", "ID": "[0-9a-f]{16}"}


@dataclass(frozen=True)
class RunFile:
    """A file of a run, or one for each step.

    Attributes:
        name: Name below the run's folder, with / between its parts; STEP stands for a step, ID for a hash.
        parts: The parts of the run, of PARTS, that depend on it.
        read: Reads it; raises DamagedFileError. Called with the run, and the step where there is one for each. Log and
            frames, and the files of projections, are read with their events.
        since: When a run must have it: "started", "validation", "complete", "trained"; or the event of its step.
        holds: The part that only runs with this file have; every run has the others.
        glance: Reads no more than its header, where `read` reads all.
    """

    name: str
    parts: tuple[str, ...] = ()
    read: Callable[..., object] = lambda run: None
    since: str = ""
    holds: str = ""
    glance: Callable[[Run, int], object] | None = None

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The names of such files."""
        return re.compile(re.sub("STEP|ID", lambda word: _DIGITS[word[0]], re.escape(self.name)))

    @property
    def is_of_step(self) -> bool:
        """Return whether there is one for each step."""
        return "STEP" in self.name


def file_named(name: str) -> RunFile | None:
    """Return what a file of this name is in a run; None if it belongs to none. No such name leads out of its folder."""
    return next((file for file in FILES if file.pattern.fullmatch(name)), None)


def _reader_of_tensors(name: str) -> Callable[..., None]:
    """Return what reads the header of a safetensors file, which implies its length."""

    def read(run: Run, step: int | None = None) -> None:
        from safetensors import SafetensorError, safe_open

        path = run.path / name.replace("STEP", str(step))
        try:
            with reading(path), regular_path(path) as file, safe_open(file, "numpy") as tensors:
                tensors.keys()
        except SafetensorError:
            raise DamagedFileError(path, "it is cut off or changed") from None

    return read


def _tensors(name: str, part: str, since: str = "", holds: str = "") -> RunFile:
    return RunFile(name, (part,), _reader_of_tensors(name), since, holds)


def _snapshot_header(run: Run, step: int) -> None:
    path, tracked = run.path / f"snapshots/{step}.npy", read_shape(run.path / "tracked.npy")
    shape = read_shape(path)
    if shape is None or len(shape) != 2 or shape[1] != run.config.embedding_dim or (tracked and tracked[0] != shape[0]):
        raise DamagedFileError(path, "it does not hold the embeddings of the tracked images")


def _batch_header(run: Run, step: int) -> None:
    path = run.path / f"batches/{step}.npz"
    with reading(path), open_regular(path) as file, zipfile.ZipFile(file):
        pass


def _threshold(run: Run) -> None:
    from dmlviz.runs.thresholds import kept_threshold  # which reads data sets, too

    kept_threshold(run)


FILES = (
    RunFile("run.json"),
    RunFile("labels.npy", _POINTS, lambda run: run.labels, "started"),
    RunFile("tracked.npy", _POINTS, lambda run: run.tracked_indices, "started"),
    RunFile("scored.npy", ("scores",), lambda run: run.scored_indices, "validation"),
    RunFile("embeddings.npy", ("neighbors",), lambda run: run.embeddings, "complete"),
    RunFile("metrics.json", ("scores",), lambda run: run.metrics, "complete"),
    RunFile("basis.npz", ("net", "batches"), lambda run: run.linear_projection, "complete"),
    RunFile("columns.parquet", ("columns",), lambda run: run.columns, holds="columns"),
    RunFile("events.jsonl", ("map",)),
    _tensors(LOSS_WEIGHTS, "net"),
    _tensors("weights.safetensors", "net", "trained", "net"),
    RunFile("thresholds.json", ("net",), _threshold),
    RunFile("frames/ID.i16", ("map",)),
    RunFile("snapshots/STEP.npy", ("earlier epochs",), Run.snapshot, "snapshot", "earlier epochs", _snapshot_header),
    RunFile("batches/STEP.npz", ("batches",), Run.batch, "batch", "batches", _batch_header),
    _tensors("nets/STEP.safetensors", "earlier epochs", "checkpoint"),
    RunFile("gallery/index.json", ("gallery",), lambda run: Gallery(run).pictures(), holds="gallery"),
    RunFile("gallery/ID.png"),
    RunFile("projections/ID/projection.json"),
    RunFile("projections/ID/events.jsonl"),
    RunFile("projections/ID/coordinates.npy"),
    RunFile("projections/ID/faithfulness.npz"),
    RunFile("projections/ID/frames/ID.i16"),
)
