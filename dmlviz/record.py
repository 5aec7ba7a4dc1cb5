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

from dmlviz.arrays import WHOLE, checked, read_array, read_arrays, reading, shape_of, take
from dmlviz.bases import Basis, native_dims
from dmlviz.batches import SeenBatch
from dmlviz.config import Config, ProjectionConfig, TrainConfig
from dmlviz.data.declared import DATASETS
from dmlviz.errors import MISSING, DamagedFileError, UserError
from dmlviz.files import Follower, Lock, Log, is_id
from dmlviz.frames import Box, restore
from dmlviz.run_schema import DRAWING_EVENT, METRICS, PROJECTION, RUN, RUN_EVENT, one_line, read

if TYPE_CHECKING:
    from dmlviz.gallery import Gallery, Metric

C = TypeVar("C", bound=Config)
State = Literal["running", "finished", "stopped", "failed", "cut off", "damaged"]
ENDS = ("finished", "stopped", "failed")
MEASURES = ("trustworthiness", "continuity", "neighbours_kept")  # of a finished map, one number for each image

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")


class UnknownRun(UserError):
    """No run, or no part of one, goes by this name."""


class UnreadableRun(DamagedFileError, UnknownRun):
    """A run, or a projection, of which not even the settings can be read."""


class Neighbour(NamedTuple):
    """A test image near another: its index in the official order, how far, and its class."""

    item: int
    distance: float
    label: int


class Record:
    """A folder that one process writes and any process reads: a log of events, frames, a lock held by the writer."""

    kinds: TypeAdapter[Any] = RUN_EVENT

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.log = Log(self.path / "events.jsonl", self.kinds)
        self.lock = Lock(self.path / "lock")

    @property
    def id(self) -> str:
        """The hash of the config: 16 hexadecimal digits."""
        return self.path.name

    @property
    def state(self) -> State:
        """How it stands on disk; a log without an end is "running" while a living process writes it, or "cut off"."""
        try:
            end = self.end
            if end is None and self.lock.held:
                return "running"
            end = end or self.end  # the writer may have written the end and gone between the two looks
        except DamagedFileError:
            return "damaged"
        return end["event"] if end else "cut off"

    @property
    def end(self) -> dict[str, Any] | None:
        """The last event when it is an end: finished, stopped (with scores) or failed (with a reason)."""
        last = self.log.last()
        return last if last and last["event"] in ENDS else None

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """Every event so far from number `after` (counted from 0) on."""
        return self.log.events(after)

    def follow(self, after: int = 0) -> Follower:
        """The events as numbered lines of JSON, as they come."""
        return Follower(self.log.path, after)

    def frame(self, frame: str) -> bytes:
        """The int16 positions of a frame by its hash; raise UnknownRun when there is none."""
        path = self.path / "frames" / f"{frame}.i16"
        if not is_id(frame) or not path.is_file():
            raise UnknownRun(f"Run {self.id} has no frame {str(frame)[:40]!r}.")
        with reading(path):
            content = path.read_bytes()
        if hashlib.sha256(content).hexdigest()[:16] != frame:
            raise DamagedFileError(path, "it was changed, or is cut off")
        return content

    def positions(self, frame: dict[str, Any]) -> np.ndarray:
        """Where the items of a frame lie (n × dims, float32), given what an event says of it."""
        self.sized(frame)
        return restore(self.frame(frame["id"]), frame["dims"], Box(tuple(frame["centre"]), frame["scale"]))

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


class Drawing(Record):
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
        whole = config.step is None and not config.film
        items = shape_of(self.path.parent.parent / ("labels.npy" if whole else "watched.npy"))
        shape = (None if items is None else items[0], config.dims)
        return read_array(path, "f", (None, *shape) if config.film else shape)

    @property
    def reached(self) -> tuple[int, np.ndarray] | None:
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
    def faithfulness(self) -> dict[str, np.ndarray]:
        """How true the picture is at every test image (n, float32), by measure; empty before the end."""
        path, places = self.path / "faithfulness.npz", self.coordinates
        if not path.exists() or places is None:
            return {}
        stored = read_arrays(path)
        found = {name: take(path, stored, name, "f") for name in MEASURES}
        for values in found.values():
            checked(path, values.shape, values.dtype, "f", (len(places),))
        return found


class Run(Record):
    """A training on disk. Raise UnknownRun when the folder holds none."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.info: dict[str, Any] = _described(self.path / "run.json", RUN)

    @cached_property
    def config(self) -> TrainConfig:
        """What was asked for; where the data are somebody's own, the run says itself what they are like."""
        return _config(self.path / "run.json", TrainConfig, RUN)

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
            return self.embeddings is not None and self.labels is not None and self.watched is not None
        except DamagedFileError:
            return False

    @property
    def labels(self) -> np.ndarray | None:
        """The classes of the test images (n, official order); None before the start."""
        return self._indices("labels.npy", len(DATASETS[self.config.dataset].classes))

    @property
    def watched(self) -> np.ndarray | None:
        """Which test images the snapshots hold (indices, rising); None before the start."""
        images = self._count("labels.npy")
        if images is None and (self.path / "watched.npy").exists():  # which is written later
            raise DamagedFileError(self.path / "labels.npy", MISSING)
        found = self._indices("watched.npy", images or 0)
        if found is not None and (np.diff(found.astype(np.int64)) <= 0).any():
            raise DamagedFileError(self.path / "watched.npy", "its indices do not rise")
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
    def basis(self) -> Basis | None:
        """How the embedding space is drawn in the replay; None before the end."""
        path, d = self.path / "basis.npz", self.config.embedding_dim
        if not path.exists():
            return None
        found = Basis.load(path)
        dims = native_dims(d)
        for part, shape in ((found.mean, (d,)), (found.components, (dims, d)), (found.explained, (dims,))):
            checked(path, part.shape, part.dtype, "f", shape)
        return found

    @property
    def snapshot_steps(self) -> list[int]:
        """The steps at which the watched images were embedded so far."""
        return self._steps("snapshots", ".npy")

    @property
    def kept_steps(self) -> list[int]:
        """The steps at which the net was kept, so that a picture can be embedded as it would have been then."""
        return self._steps("nets", ".safetensors")

    def snapshot(self, step: int) -> np.ndarray:
        """The watched images after `step` batches (n × d, float32), with all digits; older runs kept half of them."""
        shape = (self._count("watched.npy"), self.config.embedding_dim)
        stored = read_array(self.path / "snapshots" / f"{int(step)}.npy", "f", shape)
        if stored is None:
            raise UnknownRun(f"Run {self.id} has no snapshot at step {step}.")
        return stored.astype(np.float32)

    @property
    def batch_steps(self) -> list[int]:
        """The steps whose batches were kept so far."""
        return self._steps("batches", ".npz")

    def batch(self, step: int) -> SeenBatch:
        """The batch of that step as the loss saw it; raise UnknownRun when it was not kept."""
        path = self.path / "batches" / f"{int(step)}.npz"
        if not path.is_file():
            raise UnknownRun(f"Run {self.id} kept no batch of step {step}.")
        found = SeenBatch.load(path)
        checked(path, found.before.shape, found.before.dtype, "f", (None, self.config.embedding_dim))
        if found.step != step:
            raise DamagedFileError(path, f"it holds the batch of step {found.step}")
        if not np.isin(found.labels, self.config.seen_classes).all():
            raise DamagedFileError(path, "it holds classes that the run was not trained on")
        return found

    def _count(self, name: str) -> int | None:
        """How many entries an array of the run has; None when it is not there."""
        shape = shape_of(self.path / name)
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
    def epochs(self) -> list[int]:
        """The steps at which the watched images are known: those of the snapshots, and the end's."""
        end = (self.end or {}).get("step")
        return sorted({*self.snapshot_steps, *([end] if self.embedded and end is not None else [])})

    def epoch(self, step: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Embeddings and labels of the watched images after `step` batches; of all test images at the end when None.

        Raise UnknownRun where they are not there.
        """
        embeddings, labels, watched, steps = self.embeddings, self.labels, self.watched, self.epochs
        if labels is None or watched is None or (step is None and embeddings is None):
            raise UnknownRun(
                f"{self.title} has no embeddings of its test images yet; wait for the end of its training."
            )
        if step is None:
            assert embeddings is not None  # as just seen
            return embeddings, labels
        if step not in steps:
            near = min(steps, key=lambda other: abs(other - step), default=0)
            raise UnknownRun(f"{self.title} has no epoch at step {step}; the nearest is at step {near}.")
        if embeddings is not None and step == steps[-1]:
            return embeddings[watched], labels[watched]
        return self.snapshot(step), labels[watched]

    def neighbours(self, item: int, k: int, step: int | None = None, metric: "Metric" = "euclidean") -> list[Neighbour]:
        """The k test images nearest to test image `item` in the embedding, itself left out, nearest first.

        Among all test images at the end of the run; among the watched ones at a `step`, or while it still trains.
        Raise UserError when the item is not among them.
        """
        gallery, items = self._gallery(step, metric)
        row = int(np.searchsorted(items, item))
        if row == len(items) or items[row] != item:
            raise UserError(
                f"Image {item} is not among the {len(items):,} test images embedded at this step; pick another."
            )
        distances, rows = gallery.neighbours_of(row, k)
        return self._named(distances, items, rows)

    def nearest(
        self, embedding: np.ndarray, k: int, step: int | None = None, metric: "Metric" = "euclidean"
    ) -> list[Neighbour]:
        """The k test images nearest to a point of the embedding space (d), nearest first."""
        gallery, items = self._gallery(step, metric)
        distances, rows = gallery.search(np.asarray(embedding, np.float32).reshape(1, -1), k)
        return self._named(distances, items, rows)

    def drawings(self) -> list[Drawing]:
        """Every projection that was asked for, finished or not, whose settings can be read."""
        found = []
        for path in sorted((self.path / "projections").glob("*/projection.json")):
            if is_id(path.parent.name):
                drawing = Drawing(path.parent)
                with contextlib.suppress(UnreadableRun):
                    _ = drawing.config
                    found.append(drawing)
        return found

    def drawing(self, projection: str) -> Drawing:
        """The projection of that id; raise UnknownRun when there is none."""
        if is_id(projection) and (self.path / "projections" / projection / "projection.json").is_file():
            return Drawing(self.path / "projections" / projection)
        raise UnknownRun(f"Run {self.id} has no projection {str(projection)[:40]!r}.")

    def _gallery(self, step: int | None, metric: "Metric") -> tuple["Gallery", np.ndarray]:
        path, labels, watched = self.path / "embeddings.npy", self.labels, self.watched
        if step is None and not path.exists():
            step = (self.snapshot_steps or [0])[-1]
        if step is not None:
            path = self.path / "snapshots" / f"{int(step)}.npy"
        if labels is None or watched is None or not path.exists():
            raise UnknownRun(f"Run {self.id} has no embeddings{'' if step is None else f' at step {step}'}.")
        items = np.arange(len(labels)) if step is None else np.asarray(watched)
        _one_thread()
        return _gallery(self.path, step, path.stat().st_mtime_ns, metric), items

    def _named(self, distances: np.ndarray, items: np.ndarray, rows: np.ndarray) -> list[Neighbour]:
        labels = self.labels
        assert labels is not None  # the gallery had them
        found = [
            (int(items[row]), float(far)) for far, row in zip(distances.ravel(), rows.ravel(), strict=True) if row >= 0
        ]
        return [Neighbour(item, far, int(labels[item])) for item, far in found]


def _described(path: Path, schema: TypeAdapter[Any]) -> dict[str, Any]:
    """What the file says, read anew only where it was written anew; a copy, whose fields may be set."""
    return dict(_parsed(path, schema, _stamp(path)))


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        why = MISSING if isinstance(error, FileNotFoundError) else str(error.strerror).lower()
        raise UnreadableRun(path, why) from None
    return found.st_ino, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4096)
def _parsed(path: Path, schema: TypeAdapter[Any], stamp: tuple[int, int, int]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = read(schema, path)
    except FileNotFoundError:
        raise UnreadableRun(path, MISSING) from None
    except DamagedFileError as error:
        raise UnreadableRun(path, error.why) from None
    if is_id(path.parent.name) and found["id"] != path.parent.name:
        raise UnreadableRun(path, f"it is that of {found['id']}")
    return found


def _config(path: Path, kind: type[C], schema: TypeAdapter[Any]) -> C:
    return _validated(path, kind, schema, _stamp(path))


@lru_cache(maxsize=4096)
def _validated(path: Path, kind: type[C], schema: TypeAdapter[Any], stamp: tuple[int, int, int]) -> C:
    told = _parsed(path, schema, stamp)
    if "dataset" in told:
        DATASETS.tell(told["dataset"])
    try:
        return kind(**told["config"])
    except UserError as error:
        raise UnreadableRun(path, one_line(str(error), 300).rstrip(".")) from None


def _one_thread() -> None:
    """Let FAISS search on the calling thread alone: for one query, waking others costs 100 times the search."""
    import faiss

    faiss.omp_set_num_threads(1)


@lru_cache(maxsize=8)
def _gallery(path: Path, step: int | None, stamp: int, metric: "Metric") -> "Gallery":
    from dmlviz.gallery import Gallery

    run = Run(path)
    labels, watched = run.labels, run.watched
    if labels is None or watched is None:  # removed since the caller looked
        raise UnknownRun(f"Run {run.id} has no classes of its images.")
    embeddings = run.embeddings if step is None else run.snapshot(step)
    return Gallery(np.asarray(embeddings, np.float32), labels if step is None else labels[watched], metric)
