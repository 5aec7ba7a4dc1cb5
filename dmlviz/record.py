"""What a run left on disk, readable at any moment: while it is written, and after it was cut off anywhere."""

from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from zipfile import BadZipFile

import numpy as np

from dmlviz.bases import Basis
from dmlviz.batches import SeenBatch
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data.declared import DATASETS
from dmlviz.errors import UserError
from dmlviz.files import Follower, Lock, Log, is_id, read_array, read_json
from dmlviz.frames import Box, restore

if TYPE_CHECKING:
    from dmlviz.gallery import Gallery, Metric

State = Literal["running", "finished", "stopped", "failed", "cut off"]
ENDS = ("finished", "stopped", "failed")


class UnknownRun(UserError):
    """No run, or no part of one, goes by this name."""


class Neighbour(NamedTuple):
    """A test image near another: its index in the official order, how far, and its class."""

    item: int
    distance: float
    label: int


class Record:
    """A folder that one process writes and any process reads: a log of events, frames, a lock held by the writer."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.log = Log(self.path / "events.jsonl")
        self.lock = Lock(self.path / "lock")

    @property
    def id(self) -> str:
        """The hash of the config: 16 hexadecimal digits."""
        return self.path.name

    @property
    def state(self) -> State:
        """How it stands on disk; a log without an end is "running" while a living process writes it, or "cut off"."""
        end = self.end
        if end is None and self.lock.held:
            return "running"
        end = end or self.end  # the writer may have written the end and gone between the two looks
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
            raise UnknownRun(f"Run {self.id} has no frame {frame!r}.")
        return path.read_bytes()


class Drawing(Record):
    """A projection of a run's embeddings: frames of the layout on its way, `coordinates` at the end."""

    @cached_property
    def config(self) -> ProjectionConfig:
        """What was asked for."""
        return ProjectionConfig(**_described(self.path / "projection.json")["config"])

    @property
    def coordinates(self) -> np.ndarray | None:
        """Where the images lie in the end (n × dims, float32; of a film one such table for each epoch)."""
        return read_array(self.path / "coordinates.npy")

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
                box = Box(tuple(frame["centre"]), frame["scale"])
                return event["iteration"], restore(self.frame(frame["id"]), frame["dims"], box)
        return None

    @property
    def faithfulness(self) -> dict[str, np.ndarray]:
        """How true the picture is at every test image (n, float32), by measure; empty before the end."""
        path = self.path / "faithfulness.npz"
        if not path.exists():
            return {}
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)


class Run(Record):
    """A training on disk. Raise UnknownRun when the folder holds none."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.info: dict[str, Any] = _described(self.path / "run.json")

    @cached_property
    def config(self) -> TrainConfig:
        """What was asked for; where the data are somebody's own, the run says itself what they are like."""
        if "dataset" in self.info:
            DATASETS.tell(self.info["dataset"])
        return TrainConfig(**self.info["config"])

    @property
    def title(self) -> str:
        """What people call it."""
        return self.info["title"]

    @property
    def tags(self) -> list[str]:
        """The words that people have put on it."""
        return list(self.info.get("tags", []))

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
        return read_array(self.path / "embeddings.npy")

    @property
    def labels(self) -> np.ndarray | None:
        """The classes of the test images (n, official order); None before the start."""
        return read_array(self.path / "labels.npy")

    @property
    def watched(self) -> np.ndarray | None:
        """Which test images the snapshots hold (indices, rising); None before the start."""
        return read_array(self.path / "watched.npy")

    @property
    def metrics(self) -> dict[str, float]:
        """The scores on all test images; empty before the end."""
        return read_json(self.path / "metrics.json") or {}

    @property
    def basis(self) -> Basis | None:
        """How the embedding space is drawn in the replay; None before the end."""
        path = self.path / "basis.npz"
        return Basis.load(path) if path.exists() else None

    @property
    def snapshot_steps(self) -> list[int]:
        """The steps at which the watched images were embedded so far."""
        return sorted(int(path.stem) for path in (self.path / "snapshots").glob("[0-9]*.npy"))

    @property
    def kept_steps(self) -> list[int]:
        """The steps at which the net was kept, so that a picture can be embedded as it would have been then."""
        return sorted(int(path.stem) for path in (self.path / "nets").glob("[0-9]*.safetensors"))

    def snapshot(self, step: int) -> np.ndarray:
        """The watched images after `step` batches (n × d, float32), with all digits; older runs kept half of them."""
        stored = read_array(self.path / "snapshots" / f"{int(step)}.npy")
        if stored is None:
            raise UnknownRun(f"Run {self.id} has no snapshot at step {step}.")
        return stored.astype(np.float32)

    @property
    def batch_steps(self) -> list[int]:
        """The steps whose batches were kept so far."""
        return sorted(int(path.stem) for path in (self.path / "batches").glob("[0-9]*.npz"))

    def batch(self, step: int) -> SeenBatch:
        """The batch of that step as the loss saw it; raise UnknownRun when it was not kept."""
        path = self.path / "batches" / f"{int(step)}.npz"
        if not path.is_file():
            raise UnknownRun(f"Run {self.id} kept no batch of step {step}.")
        try:
            return SeenBatch.load(path)
        except (KeyError, ValueError, OSError, BadZipFile):
            raise UnknownRun(f"The batch of step {step} of run {self.id} cannot be read; train it again.") from None

    @property
    def epochs(self) -> list[int]:
        """The steps at which the watched images are known: those of the snapshots, and the end's."""
        end = (self.end or {}).get("step")
        return sorted({*self.snapshot_steps, *([end] if self.embeddings is not None and end is not None else [])})

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
        """Every projection that was asked for, finished or not."""
        found = sorted((self.path / "projections").glob("*/projection.json"))
        return [Drawing(path.parent) for path in found if is_id(path.parent.name)]

    def drawing(self, projection: str) -> Drawing:
        """The projection of that id; raise UnknownRun when there is none."""
        if is_id(projection) and (self.path / "projections" / projection / "projection.json").is_file():
            return Drawing(self.path / "projections" / projection)
        raise UnknownRun(f"Run {self.id} has no projection {projection!r}.")

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
        return _gallery(path, path.stat().st_mtime_ns, self.path / "labels.npy", metric), items

    def _named(self, distances: np.ndarray, items: np.ndarray, rows: np.ndarray) -> list[Neighbour]:
        labels = self.labels
        assert labels is not None  # the gallery had them
        found = [
            (int(items[row]), float(far)) for far, row in zip(distances.ravel(), rows.ravel(), strict=True) if row >= 0
        ]
        return [Neighbour(item, far, int(labels[item])) for item, far in found]


def _described(path: Path) -> dict[str, Any]:
    described = read_json(path)
    if not isinstance(described, dict) or "config" not in described:
        raise UnknownRun(f"{path.parent.name} holds no readable {path.name}; delete the folder and train again.")
    return described


def _one_thread() -> None:
    """Let FAISS search on the calling thread alone: for one query, waking others costs 100 times the search."""
    import faiss

    faiss.omp_set_num_threads(1)


@lru_cache(maxsize=8)
def _gallery(path: Path, stamp: int, labels: Path, metric: "Metric") -> "Gallery":
    from dmlviz.gallery import Gallery

    embeddings, classes = np.load(path, allow_pickle=False), np.load(labels, allow_pickle=False)
    if path.parent.name == "snapshots":
        classes = classes[np.load(path.parent.parent / "watched.npy", allow_pickle=False)]
    return Gallery(embeddings.astype(np.float32), classes, metric)
