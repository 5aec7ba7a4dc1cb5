"""What a run left on disk, readable at any moment: while it is written, and after it was cut off anywhere."""

import contextlib
import hashlib
import re
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import TypeAdapter

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import Config, ProjectionConfig, TrainConfig
from dmlviz.errors import MISSING, DamagedFileError, UserError
from dmlviz.ops.linear_projection import LinearProjection, default_kind, display_dims
from dmlviz.runs.frames import Box, dequantize
from dmlviz.storage.arrays import WHOLE, check_array, read_array, read_arrays, reading, read_shape, take
from dmlviz.storage.files import EventLog, FileLock, LogFollower, is_run_id
from dmlviz.storage.run_schema import DRAWING_EVENT, METRICS, PROJECTION, RUN, RUN_EVENT, one_line, read
from dmlviz.training.batch_record import BatchRecord

if TYPE_CHECKING:
    from dmlviz.ops.gallery import Gallery, Metric

C = TypeVar("C", bound=Config)
State = Literal["running", "finished", "stopped", "failed", "interrupted", "damaged"]
FINAL_STATES = ("finished", "stopped", "failed")
LIVE = "live"  # the view that a run plays by itself, beside the ids of its projections
MEASURES = ("trustworthiness", "continuity", "neighbors_kept")  # of a finished map, one number for each image

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")


class RunNotFoundError(UserError):
    """No run, or no part of one, goes by this name."""


class UnreadableRunError(DamagedFileError, RunNotFoundError):
    """A run, or a projection, of which not even the settings can be read."""


class Neighbor(NamedTuple):
    """A test image near another: its index in the official order, how far, and its class."""

    item: int
    distance: float
    label: int


class EventLogDir:
    """A folder that one process writes and any process reads: a log of events, frames, a lock held by the writer."""

    kinds: TypeAdapter[Any] = RUN_EVENT

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.log = EventLog(self.path / "events.jsonl", self.kinds)
        self.lock = FileLock(self.path / "lock")

    @property
    def id(self) -> str:
        """The hash of the config: 16 hexadecimal digits."""
        return self.path.name

    @property
    def state(self) -> State:
        """How it stands on disk; a log without an end is "running" while a living process writes it, or "interrupted"."""
        try:
            end = self.end
            if end is None and self.lock.locked:
                return "running"
            end = end or self.end  # the writer may have written the end and gone between the two looks
        except DamagedFileError:
            return "damaged"
        return end["event"] if end else "interrupted"

    @property
    def end(self) -> dict[str, Any] | None:
        """The last event when it is an end: finished, stopped (with scores) or failed (with a reason)."""
        last = self.log.last()
        return last if last and last["event"] in FINAL_STATES else None

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """Every event so far from number `after` (counted from 0) on."""
        return self.log.events(after)

    def follow(self, after: int = 0) -> LogFollower:
        """The events as numbered lines of JSON, as they come."""
        return LogFollower(self.log.path, after)

    def frame(self, frame: str) -> bytes:
        """The int16 positions of a frame by its hash; raise UnknownRun when there is none."""
        path = self.path / "frames" / f"{frame}.i16"
        if not is_run_id(frame) or not path.is_file():
            raise RunNotFoundError(f"Run {self.id} has no frame {str(frame)[:40]!r}.")
        with reading(path):
            content = path.read_bytes()
        if hashlib.sha256(content).hexdigest()[:16] != frame:
            raise DamagedFileError(path, "it was changed, or is cut off")
        return content

    def positions(self, frame: dict[str, Any]) -> np.ndarray:
        """Where the items of a frame lie (n × dims, float32), given what an event says of it."""
        self.sized(frame)
        return dequantize(self.frame(frame["id"]), frame["dims"], Box(tuple(frame["center"]), frame["scale"]))

    def sized(self, frame: dict[str, Any]) -> None:
        """Raise DamagedFileError where a frame's file is not there, or not as long as an event says."""
        path, wanted = self.path / "frames" / f"{frame['id']}.i16", 2 * frame["n"] * frame["dims"]
        try:
            size = path.stat().st_size
        except OSError:
            raise DamagedFileError(path, MISSING) from None
        if size != wanted:
            raise DamagedFileError(path, f"it should have {wanted:,} bytes; it has {size:,}")

    def _steps(self, folder: str, suffix: str) -> list[int]:
        """The steps that files of a folder are named after, rising."""
        found = [path.stem for path in (self.path / folder).glob(f"*{suffix}")]
        return sorted(int(stem) for stem in found if _NUMBER.fullmatch(stem))


class ProjectionRun(EventLogDir):
    """A projection of a run's embeddings: frames of the layout on its way, `coordinates` at the end."""

    kinds = DRAWING_EVENT

    @cached_property
    def config(self) -> ProjectionConfig:
        """What was asked for."""
        return _config(self.path / "projection.json", ProjectionConfig, PROJECTION)

    @property
    def coordinates(self) -> np.ndarray | None:
        """Where the images lie in the end (n × dims, float32; of a film one such table for each epoch)."""
        path, config = self.path / "coordinates.npy", self.config
        whole = config.step is None and not config.all_epochs
        items = read_shape(self.path.parent.parent / ("labels.npy" if whole else "tracked.npy"))
        shape = (None if items is None else items[0], config.dims)
        return read_array(path, "f", (None, *shape) if config.all_epochs else shape)

    @property
    def resume_state(self) -> tuple[int, np.ndarray] | None:
        """How many iterations a layout had behind it, and where the images lay then (n × dims), before it was cut off.

        None where it can only be begun anew: nothing was laid out yet, it is finished, a film, or another library's.
        """
        if not self.config.resumable or self.coordinates is not None:
            return None
        for event in reversed(self.events()):
            frame = event.get("frame")
            if frame and event.get("iteration"):
                return event["iteration"], self.positions(frame)
        return None

    @property
    def quality(self) -> dict[str, np.ndarray]:
        """How true the picture is at every test image (n, float32), by measure; empty before the end."""
        path, places = self.path / "faithfulness.npz", self.coordinates
        if not path.exists() or places is None:
            return {}
        stored = read_arrays(path)
        found = {name: take(path, stored, name, "f") for name in MEASURES}
        for values in found.values():
            check_array(path, values.shape, values.dtype, "f", (len(places),))
        return found


class Run(EventLogDir):
    """A training on disk. Raise UnknownRun when the folder holds none."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.info: dict[str, Any] = _described(self.path / "run.json", RUN)

    @cached_property
    def config(self) -> TrainConfig:
        """What was asked for; where the data are somebody's own, the run says itself what they are like."""
        return _config(self.path / "run.json", TrainConfig, RUN)

    @property
    def default_view(self) -> str:
        """The name of the projection that the run plays by itself."""
        return default_kind(self.config.embedding_dim, len(DATASETS[self.config.dataset].classes))

    @property
    def title(self) -> str:
        """What people call it, on one line."""
        return one_line(self.info["title"]) or self.id

    @property
    def tags(self) -> list[str]:
        """The words that people have put on it."""
        return [tag for tag in (one_line(tag, 30) for tag in self.info.get("tags", [])) if tag]

    @property
    def pinned(self) -> bool:
        """Whether it stays when older runs make room for new ones."""
        return bool(self.info.get("pinned"))

    @property
    def created(self) -> datetime:
        """When it was asked for."""
        return datetime.fromisoformat(self.info["created"])

    @property
    def embeddings(self) -> np.ndarray | None:
        """Every test image at the end (n × d, float32, official order); None before the end."""
        return read_array(self.path / "embeddings.npy", "f", (self._count("labels.npy"), self.config.embedding_dim))

    @property
    def embedded(self) -> bool:
        """Whether there are embeddings of all test images that can be read."""
        try:
            return self.embeddings is not None and self.labels is not None and self.tracked_indices is not None
        except DamagedFileError:
            return False

    @property
    def labels(self) -> np.ndarray | None:
        """The classes of the test images (n, official order); None before the start."""
        return self._indices("labels.npy", len(DATASETS[self.config.dataset].classes))

    @property
    def tracked_indices(self) -> np.ndarray | None:
        """Which test images the snapshots hold (indices, rising); None before the start."""
        images = self._count("labels.npy")
        if images is None and (self.path / "tracked.npy").exists():  # which is written later
            raise DamagedFileError(self.path / "labels.npy", MISSING)
        found = self._indices("tracked.npy", images or 0)
        if found is not None and (np.diff(found.astype(np.int64)) <= 0).any():
            raise DamagedFileError(self.path / "tracked.npy", "its indices do not rise")
        return found

    @property
    def metrics(self) -> dict[str, float]:
        """The scores on all test images; empty before the end."""
        try:
            found = read(METRICS, self.path / "metrics.json")
        except FileNotFoundError:
            return {}
        return {name: value for name, value in found.items() if value is not None}

    def score(self, name: str) -> float | None:
        """One of the scores; None where there is none, or where they cannot be read, as the run's damage says."""
        try:
            return self.metrics.get(name)
        except DamagedFileError:
            return None

    @property
    def linear_projection(self) -> LinearProjection | None:
        """How the embedding space is drawn in the replay; None before the end."""
        path, d = self.path / "basis.npz", self.config.embedding_dim
        if not path.exists():
            return None
        found = LinearProjection.load(path)
        dims = display_dims(d)
        for part, shape in (
            (found.mean, (d,)),
            (found.components, (dims, d)),
            (found.explained_variance_ratio, (dims,)),
        ):
            check_array(path, part.shape, part.dtype, "f", shape)
        return found

    @property
    def snapshot_steps(self) -> list[int]:
        """The steps at which the tracked images were embedded so far."""
        return self._steps("snapshots", ".npy")

    @property
    def checkpoint_steps(self) -> list[int]:
        """The steps at which the net was kept, so that a picture can be embedded as it would have been then."""
        return self._steps("nets", ".safetensors")

    def snapshot(self, step: int) -> np.ndarray:
        """The tracked images after `step` batches (n × d, float32), with all digits; older runs kept half of them."""
        shape = (self._count("tracked.npy"), self.config.embedding_dim)
        stored = read_array(self.path / "snapshots" / f"{int(step)}.npy", "f", shape)
        if stored is None:
            raise RunNotFoundError(f"Run {self.id} has no snapshot at step {step}.")
        return stored.astype(np.float32)

    @property
    def recorded_batch_steps(self) -> list[int]:
        """The steps whose batches were kept so far."""
        return self._steps("batches", ".npz")

    def batch(self, step: int) -> BatchRecord:
        """The batch of that step as the loss saw it; raise UnknownRun when it was not kept."""
        path = self.path / "batches" / f"{int(step)}.npz"
        if not path.is_file():
            raise RunNotFoundError(f"Run {self.id} kept no batch of step {step}.")
        found = BatchRecord.load(path)
        check_array(
            path, found.embeddings_before.shape, found.embeddings_before.dtype, "f", (None, self.config.embedding_dim)
        )
        if found.step != step:
            raise DamagedFileError(path, f"it holds the batch of step {found.step}")
        if not np.isin(found.labels, self.config.train_classes).all():
            raise DamagedFileError(path, "it holds classes that the run was not trained on")
        return found

    def _count(self, name: str) -> int | None:
        """How many entries an array of the run has; None when it is not there."""
        shape = read_shape(self.path / name)
        if shape is not None and len(shape) != 1:
            raise DamagedFileError(self.path / name, f"it should be a row of numbers; it has {len(shape)} dimensions")
        return shape[0] if shape is not None else None

    def _indices(self, name: str, end: int) -> np.ndarray | None:
        """A row of whole numbers from 0 up to but without `end`."""
        path = self.path / name
        found = read_array(path, WHOLE, (None,))
        if found is not None and len(found) == 0:
            raise DamagedFileError(path, "it holds no numbers")
        if found is not None and not 0 <= int(found.min()) <= int(found.max()) < end:
            raise DamagedFileError(path, f"its numbers run from {found.min()} to {found.max()}, beyond what there is")
        return found

    @property
    def embedded_steps(self) -> list[int]:
        """The steps at which the tracked images are known: those of the snapshots, and the end's."""
        end = (self.end or {}).get("step")
        return sorted({*self.snapshot_steps, *([end] if self.embedded and end is not None else [])})

    def embeddings_at(self, step: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Embeddings and labels of the tracked images after `step` batches; of all test images at the end when None.

        Raise UnknownRun where they are not there.
        """
        embeddings, labels, tracked, steps = self.embeddings, self.labels, self.tracked_indices, self.embedded_steps
        if labels is None or tracked is None or (step is None and embeddings is None):
            raise RunNotFoundError(
                f"{self.title} has no embeddings of its test images yet; wait for the end of its training."
            )
        if step is None:
            assert embeddings is not None  # as just seen
            return embeddings, labels
        if step not in steps:
            near = min(steps, key=lambda other: abs(other - step), default=0)
            raise RunNotFoundError(f"{self.title} has no epoch at step {step}; the nearest is at step {near}.")
        if embeddings is not None and step == steps[-1]:
            return embeddings[tracked], labels[tracked]
        return self.snapshot(step), labels[tracked]

    def neighbors(self, item: int, k: int, step: int | None = None, metric: "Metric" = "euclidean") -> list[Neighbor]:
        """The k test images nearest to test image `item` in the embedding, itself left out, nearest first.

        Among all test images at the end of the run; among the tracked ones at a `step`, or while it still trains.
        Raise UserError when the item is not among them.
        """
        gallery, items = self._gallery(step, metric)
        row = int(np.searchsorted(items, item))
        if row == len(items) or items[row] != item:
            raise UserError(
                f"Image {item} is not among the {len(items):,} test images embedded at this step; pick another."
            )
        distances, rows = gallery.kneighbors(row, k)
        return self._to_neighbors(distances, items, rows)

    def neighbors_of_point(
        self, embedding: np.ndarray, k: int, step: int | None = None, metric: "Metric" = "euclidean"
    ) -> list[Neighbor]:
        """The k test images nearest to a point of the embedding space (d), nearest first."""
        gallery, items = self._gallery(step, metric)
        distances, rows = gallery.search(np.asarray(embedding, np.float32).reshape(1, -1), k)
        return self._to_neighbors(distances, items, rows)

    def projections(self) -> list[ProjectionRun]:
        """Every projection that was asked for, finished or not, whose settings can be read."""
        found = []
        for path in sorted((self.path / "projections").glob("*/projection.json")):
            if is_run_id(path.parent.name):
                drawing = ProjectionRun(path.parent)
                with contextlib.suppress(UnreadableRunError):
                    _ = drawing.config
                    found.append(drawing)
        return found

    def drawing(self, projection: str) -> ProjectionRun:
        """The projection of that id; raise UnknownRun when there is none."""
        if is_run_id(projection) and (self.path / "projections" / projection / "projection.json").is_file():
            return ProjectionRun(self.path / "projections" / projection)
        raise RunNotFoundError(f"Run {self.id} has no projection {str(projection)[:40]!r}.")

    def _gallery(self, step: int | None, metric: "Metric") -> tuple["Gallery", np.ndarray]:
        path, labels, tracked = self.path / "embeddings.npy", self.labels, self.tracked_indices
        if step is None and not path.exists():
            step = (self.snapshot_steps or [0])[-1]
        if step is not None:
            path = self.path / "snapshots" / f"{int(step)}.npy"
        if labels is None or tracked is None or not path.exists():
            raise RunNotFoundError(f"Run {self.id} has no embeddings{'' if step is None else f' at step {step}'}.")
        items = np.arange(len(labels)) if step is None else np.asarray(tracked)
        _one_thread()
        return _gallery(self.path, step, path.stat().st_mtime_ns, metric), items

    def _to_neighbors(self, distances: np.ndarray, items: np.ndarray, rows: np.ndarray) -> list[Neighbor]:
        labels = self.labels
        assert labels is not None  # the gallery had them
        found = [
            (int(items[row]), float(far)) for far, row in zip(distances.ravel(), rows.ravel(), strict=True) if row >= 0
        ]
        return [Neighbor(item, far, int(labels[item])) for item, far in found]


def _described(path: Path, schema: TypeAdapter[Any]) -> dict[str, Any]:
    """What the file says, read anew only where it was written anew; a copy, whose fields may be set."""
    return dict(_parsed(path, schema, _stamp(path)))


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        why = MISSING if isinstance(error, FileNotFoundError) else str(error.strerror).lower()
        raise UnreadableRunError(path, why) from None
    return found.st_ino, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4096)
def _parsed(path: Path, schema: TypeAdapter[Any], stamp: tuple[int, int, int]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = read(schema, path)
    except FileNotFoundError:
        raise UnreadableRunError(path, MISSING) from None
    except DamagedFileError as error:
        raise UnreadableRunError(path, error.reason) from None
    if is_run_id(path.parent.name) and found["id"] != path.parent.name:
        raise UnreadableRunError(path, f"it is that of {found['id']}")
    return found


def _config(path: Path, kind: type[C], schema: TypeAdapter[Any]) -> C:
    return _validated(path, kind, schema, _stamp(path))


@lru_cache(maxsize=4096)
def _validated(path: Path, kind: type[C], schema: TypeAdapter[Any], stamp: tuple[int, int, int]) -> C:
    told = _parsed(path, schema, stamp)
    if "dataset" in told:
        DATASETS.register(told["dataset"])
    try:
        return kind(**told["config"])
    except UserError as error:
        raise UnreadableRunError(path, one_line(str(error), 300).rstrip(".")) from None


def _one_thread() -> None:
    """Let FAISS search on the calling thread alone: for one query, waking others costs 100 times the search."""
    import faiss

    faiss.omp_set_num_threads(1)


@lru_cache(maxsize=8)
def _gallery(path: Path, step: int | None, stamp: int, metric: "Metric") -> "Gallery":
    from dmlviz.ops.gallery import Gallery

    run = Run(path)
    labels, tracked = run.labels, run.tracked_indices
    if labels is None or tracked is None:  # removed since the caller looked
        raise RunNotFoundError(f"Run {run.id} has no classes of its images.")
    embeddings = run.embeddings if step is None else run.snapshot(step)
    return Gallery(np.asarray(embeddings, np.float32), labels if step is None else labels[tracked], metric)
