"""The confidence of a net's answers: calibrated when it is first asked, on images that it was not trained on."""

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import Dataset, data_root, load
from dmlviz.data.corrections import as_trained
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.runs.answers import EmbeddedImages
from dmlviz.runs.oriented_gradients import ShapeDistance
from dmlviz.runs.query_confidence import (
    WEIGHTS,
    Calibration,
    Confidence,
    NeighborSignals,
    Space,
    vote,
    voting_neighbors,
)
from dmlviz.runs.run import Run
from dmlviz.storage.arrays import read_arrays
from dmlviz.storage.file_cache import stamp
from dmlviz.storage.files import atomic_write

MAX_CALIBRATED = 10_000  # images: with 2,000, another 4 to 6% than the 5% that are wanted are not sure
MAX_LIVE = 500  # while a net trains, which is not to wait for it
MAX_KNOWN = 20_000  # training images: with half as many, one letter in a hundred more passes
KEPT = "judge.npz"  # beside the files of the run: no part of it, so that archives lack it
_SOURCES = ("query_calibration.py", "oriented_gradients.py")  # which the arrays in it depend on


class Judge:
    """Says how sure the answers of a run's net are.

    It is calibrated on the run's test images, each without itself: no net was trained on them, and they are what is
    searched. If the data set is missing, it compares embeddings alone.

    Args:
        run: A finished run with a net.
        root: The data folder; None for the default one.
        items: Indices of the test images that are searched; all by default.
        compare_images: Whether shapes, parts and ink are compared, too.
        step: The snapshot whose tracked images calibrate it; None for all images of a finished run.
        kept: The `arrays` of another judge of the same net, which need not be computed then.

    Attributes:
        calibration: The calibration.
        arrays: What took seconds to compute; empty where embeddings alone are compared.
    """

    def __init__(
        self,
        run: Run,
        root: Path | None = None,
        items: np.ndarray | None = None,
        compare_images: bool = True,
        step: int | None = None,
        kept: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        embeddings, labels = run.embeddings_at(step)
        items = np.arange(len(labels)) if items is None else items
        embeddings, labels = embeddings[items], labels[items]
        self._dataset, self._labels = run.config.dataset, labels
        self._search, self._votes = NearestNeighbors(embeddings), voting_neighbors(labels)
        self._shapes: ShapeDistance | None = None
        self.arrays: dict[str, np.ndarray] = {}
        if kept is not None:
            self._shapes, self.calibration = ShapeDistance(kept), _calibration_of(kept)
            return
        rows = _evenly(len(labels), MAX_CALIBRATED if step is None else MAX_LIVE)
        images = None
        if compare_images and step is None and (data := _images_of(run, root)) is not None:
            # Training images are compared with: test images would be nearer to each other than new ones are to them.
            known = _evenly(len(data.train), MAX_KNOWN)
            self._shapes = _shapes(data.train.images[known], data.train.labels[known])
            images = data.test.images[items[rows]]
        signals = self._signals(*self._search.others(self._votes, rows), images)
        nouns = run.config.dataset_spec.said("images")
        of = "" if step is None else f" of the {len(labels):,} tracked"
        short, basis = f"test {nouns}", f"{len(rows):,}{of} test {nouns}, each against the others"
        self.calibration = Calibration(signals, signals.label == labels[rows], basis, short)
        if self._shapes is not None:
            said = {"basis": np.array(basis), "short": np.array(short), "right": self.calibration.right}
            counted = {"label": signals.label, "agreeing": signals.agreeing, "neighbors": np.array(signals.neighbors)}
            self.arrays = {**self._shapes.arrays, **counted, **said}
            self.arrays |= {str(space): distances for space, distances in signals.distances.items()}

    def signals(self, images: np.ndarray, embeddings: np.ndarray) -> NeighborSignals:
        """Return what the neighbors of prepared images say.

        Args:
            images: n × h × w or n × h × w × 3, uint8.
            embeddings: Their embeddings (n × d).
        """
        return self._signals(*self._search.search(embeddings, self._votes), images)

    def judge(self, images: np.ndarray, embeddings: np.ndarray) -> list[Confidence]:
        """Return how sure the answers to prepared images are; arguments as of `signals`."""
        return self.calibration.describe(self.signals(images, embeddings), DATASETS[self._dataset].classes)

    def _signals(
        self, distances: np.ndarray, neighbors: np.ndarray, images: np.ndarray | None = None
    ) -> NeighborSignals:
        label, agreeing = vote(self._labels[neighbors])
        spaces: dict[Space, np.ndarray] = {"embedding": distances.mean(axis=1)}
        if images is not None and self._shapes is not None:
            spaces["shape"], spaces["part"], spaces["ink"] = self._shapes.of(images, label)
        return NeighborSignals(spaces, label, agreeing, neighbors.shape[1])


_known_shapes: dict[str, ShapeDistance] = {}  # of the last data: no other training on them changes these


def _shapes(images: np.ndarray, labels: np.ndarray) -> ShapeDistance:
    key = sha256(images.tobytes() + labels.tobytes() + str(images.shape).encode()).hexdigest()
    if key not in _known_shapes:
        _known_shapes.clear()
        _known_shapes[key] = ShapeDistance.of_images(images, labels)
    return _known_shapes[key]


def _calibration_of(kept: Mapping[str, np.ndarray]) -> Calibration:
    distances = {space: kept[space] for space in WEIGHTS}
    signals = NeighborSignals(distances, kept["label"], kept["agreeing"], int(kept["neighbors"]))
    return Calibration(signals, kept["right"], str(kept["basis"]), str(kept["short"]))


@lru_cache(maxsize=2)  # 25 MB each
def _judge(path: Path, stamps: tuple[object, ...], root: Path | None) -> Judge:
    run, file = Run(path), path / KEPT
    sources = b"".join((Path(__file__).parent / name).read_bytes() for name in _SOURCES)
    state = np.array(sha256(sources + repr(stamps).encode()).hexdigest())
    with suppress(OSError, KeyError, DamagedFileError):  # of another net or version, or not there
        kept = read_arrays(file)
        if np.array_equal(kept["state"], state):
            return Judge(run, root, kept=kept)
    judge = Judge(run, root)
    with suppress(OSError, UserError):  # where there is no room, the next first answer takes as long
        if judge.arrays:
            with atomic_write(file) as written:
                np.savez_compressed(written, allow_pickle=False, **judge.arrays, state=state)
    return judge


def judge_of(run: Run, root: Path | None = None) -> Judge:
    """Return the judge of a finished run with a net; it is kept as long as the weights stay the same, in a file, too.

    Args:
        run: The run.
        root: The data folder; None for the default one.
    """
    return _judge(run.path, tuple(stamp(run.path / name) for name in ("weights.safetensors", "embeddings.npy")), root)


def confidence(run: Run, images: np.ndarray, reply: EmbeddedImages, root: Path | None) -> list[Confidence]:
    """Return the confidence of each answer in the `reply` of `dmlviz.runs.embed.embed_and_place` to `images`."""
    judge = Judge(run, step=reply["step"]) if "step" in reply else judge_of(run, root)
    return judge.judge(images, np.asarray(reply["embeddings"], np.float32))


def _images_of(run: Run, root: Path | None) -> Dataset | None:
    """Return the data set of a run whose net takes images; None where it takes features, or it is not here."""
    if run.recorded or DATASETS[run.config.dataset].features is not None:
        return None
    try:
        return as_trained(load(run.config.dataset, root), run.config, data_root(root))
    except UserError:
        return None


def _evenly(n: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
