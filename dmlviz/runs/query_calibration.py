"""The confidence of a net's answers: calibrated when it is first asked, on images that it was not trained on."""

import time
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import Dataset, data_root, load
from dmlviz.data.corrections import as_trained
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.nets.fine_tuned import FineTunedNet
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.runs.answers import EmbeddedImages
from dmlviz.runs.embed import CHUNK, net_input, trained_net
from dmlviz.runs.oriented_gradients import ShapeDistance
from dmlviz.runs.query_confidence import (
    NEIGHBORS,
    WEIGHTS,
    Calibration,
    Confidence,
    NeighborSignals,
    Space,
    vote,
)
from dmlviz.runs.run import Run
from dmlviz.storage.arrays import read_arrays
from dmlviz.storage.file_cache import stamp
from dmlviz.storage.files import atomic_write
from dmlviz.training.validation_split import split_training_images

if TYPE_CHECKING:
    from dmlviz.nets.models import EmbeddingNet

MAX_CALIBRATED = 2000  # images: fewer move the limits by chance
FEW = 400  # validation images: with fewer, test images calibrate, too
MAX_LIVE = 500  # while a net trains, which is not to wait for it
MAX_FEATURES, MAX_SHAPES = 6000, 20_000  # training images: with fewer, noise and letters are not far enough from them
PROBE = 50  # images, which say how fast the net is
KEPT = "judge.npz"  # beside the files of the run: no part of it, so that archives lack it
_SOURCES = ("query_calibration.py", "oriented_gradients.py")  # which the arrays in it depend on
SLOW_S = 2e-3  # of processor time for an image; the test images, which are embedded already, calibrate slower nets


class Judge:
    """Says how sure the answers of a run's net are.

    It is calibrated on the run's validation images and, where these are few, on test images, each without itself. If
    there are none, the data set is missing, or the net is slow, test images calibrate it by their embeddings alone.

    Args:
        run: A finished run with a net.
        root: The data folder; None for the default one.
        searched: Indices of the test images that are searched; all by default.
        compare_features: Whether features and shapes are compared, too.
        step: The snapshot whose tracked images calibrate it; None for all images of a finished run.
        kept: The `arrays` of another judge of the same net, which need not be computed then.

    Attributes:
        calibration: The calibration.
        arrays: What took seconds to compute; empty where features and shapes are not compared.
    """

    def __init__(
        self,
        run: Run,
        root: Path | None = None,
        items: np.ndarray | None = None,
        compare_features: bool = True,
        step: int | None = None,
        kept: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        embeddings, labels = run.embeddings_at(step)
        items = np.arange(len(labels)) if items is None else items
        embeddings, labels = embeddings[items], labels[items]
        self._dataset, self._labels = run.config.dataset, labels
        self._search = NearestNeighbors(embeddings)
        self._net: _FeatureNet | None = None
        self._references: NearestNeighbors | None = None
        self._shapes: ShapeDistance | None = None
        self.arrays: dict[str, np.ndarray] = {}
        if kept is not None:
            net = trained_net(run)
            assert not isinstance(net, FineTunedNet)  # for which none is kept
            self._net = _FeatureNet(net, run.config.dataset)
            self._references = NearestNeighbors(kept["references"], "cosine")
            self._shapes, self.calibration = ShapeDistance(kept), _calibration_of(kept)
            return
        held_out = None if step is not None else _held_out(run, root)
        features, nouns = np.empty(0), run.config.dataset_spec.said("images")
        if held_out is not None:
            self._net, data, rows, others = held_out
            images, true = data.train.images[rows], data.train.labels[rows]
            if compare_features:  # with other training images: test images would be nearer to theirs than these are
                known = others[_evenly(len(others), MAX_FEATURES)]
                features = _in_bytes(self._net.forward(data.train.images[known])[0])
                self._references = NearestNeighbors(features, "cosine")
                known = others[_evenly(len(others), MAX_SHAPES)]
                self._shapes = _shapes(data.train.images[known], data.train.labels[known])
            signals = self.signals(images, self._net.forward(images)[1])
            short, basis = f"validation {nouns}", f"{len(rows):,} validation {nouns}"
            if len(rows) < FEW and len(labels) > 1:
                tested = _evenly(len(labels), MAX_CALIBRATED - len(rows))
                images, true = data.test.images[items[tested]], np.concatenate([true, labels[tested]])
                signals += self._signals(*self._search.others(NEIGHBORS, tested), images)
                short = f"validation and test {nouns}"
                basis = f"{len(rows):,} validation and {len(tested):,} test {nouns}"
        else:
            rows = _evenly(len(labels), MAX_CALIBRATED if step is None else MAX_LIVE)
            signals, true = self._signals(*self._search.others(NEIGHBORS, rows)), labels[rows]
            short, basis = f"test {nouns}", f"{len(rows):,} test {nouns}, each against the others"
        self.calibration = Calibration(signals, signals.label == true, basis, short)
        if self._shapes is not None:
            said = {"basis": np.array(basis), "short": np.array(short), "right": self.calibration.right}
            counted = {"label": signals.label, "agreeing": signals.agreeing, "neighbors": np.array(signals.neighbors)}
            self.arrays = dict(self._shapes.arrays, **counted, **said, references=features)
            self.arrays |= {str(space): distances for space, distances in signals.distances.items()}

    def signals(self, images: np.ndarray, embeddings: np.ndarray) -> NeighborSignals:
        """Return what the neighbors of prepared images say.

        Args:
            images: n × h × w or n × h × w × 3, uint8.
            embeddings: Their embeddings (n × d).
        """
        return self._signals(*self._search.search(embeddings, NEIGHBORS), images)

    def judge(self, images: np.ndarray, embeddings: np.ndarray) -> list[Confidence]:
        """Return how sure the answers to prepared images are; arguments as of `signals`."""
        return self.calibration.describe(self.signals(images, embeddings), DATASETS[self._dataset].classes)

    def _signals(
        self, distances: np.ndarray, neighbors: np.ndarray, images: np.ndarray | None = None
    ) -> NeighborSignals:
        label, agreeing = vote(self._labels[neighbors])
        spaces: dict[Space, np.ndarray] = {"embedding": distances.mean(axis=1)}
        if images is not None and self._net is not None and self._references is not None and self._shapes is not None:
            found, _ = self._references.search(self._net.forward(images)[0], NEIGHBORS)
            spaces |= {"features": found.mean(axis=1), "shape": self._shapes.of(images, label)}
        return NeighborSignals(spaces, label, agreeing, neighbors.shape[1])


_known_shapes: dict[str, ShapeDistance] = {}  # of the last data: no other training on them changes these


def _shapes(images: np.ndarray, labels: np.ndarray) -> ShapeDistance:
    key = sha256(images.tobytes() + labels.tobytes() + str(images.shape).encode()).hexdigest()
    if key not in _known_shapes:
        _known_shapes.clear()
        _known_shapes[key] = ShapeDistance.of_images(images, labels)
    return _known_shapes[key]


def _in_bytes(features: np.ndarray) -> np.ndarray:
    """Return features (n × f) of any length as int8, a quarter of their size: their directions are compared."""
    largest = np.abs(features).max(axis=1, keepdims=True)
    return np.rint(127 * features / np.where(largest > 0, largest, 1)).astype(np.int8)


def _calibration_of(kept: Mapping[str, np.ndarray]) -> Calibration:
    distances = {space: kept[space] for space in WEIGHTS}
    signals = NeighborSignals(distances, kept["label"], kept["agreeing"], int(kept["neighbors"]))
    return Calibration(signals, kept["right"], str(kept["basis"]), str(kept["short"]))


@lru_cache(maxsize=2)  # 40 MB each
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
                np.savez(written, allow_pickle=False, **judge.arrays, state=state)
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


class _FeatureNet:
    """A copy of a net that also gives its features: what its first linear layer takes."""

    def __init__(self, net: "EmbeddingNet", dataset: str) -> None:
        self._net = deepcopy(net)
        self._spec = DATASETS[dataset]
        self._lock = Lock()
        self._inputs: list[Tensor] = []
        first = next(part for part in self._net.modules() if isinstance(part, nn.Linear))
        first.register_forward_pre_hook(lambda _, inputs: self._inputs.append(inputs[0]))

    def forward(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return features (n × f) and embeddings (n × d) of images (uint8)."""
        with self._lock, torch.inference_mode():
            self._inputs.clear()
            parts = [self._net(net_input(self._spec, images[at : at + CHUNK])) for at in range(0, len(images), CHUNK)]
            features, embeddings = torch.cat(self._inputs), torch.cat(parts)
            self._inputs.clear()
        return features.numpy(), embeddings.numpy()


def _held_out(run: Run, root: Path | None) -> tuple[_FeatureNet, Dataset, np.ndarray, np.ndarray] | None:
    """Return net, data set, validation images and other training images (rows); None where test images calibrate."""
    if run.recorded or DATASETS[run.config.dataset].features is not None:
        return None  # the backbone takes seconds for an image
    try:
        data = as_trained(load(run.config.dataset, root), run.config, data_root(root))
    except UserError:  # it is not on this machine
        return None
    rows = split_training_images(run.config, data.train.labels).validation
    net = trained_net(run)
    if not len(rows) or isinstance(net, FineTunedNet) or not any(isinstance(part, nn.Linear) for part in net.modules()):
        return None
    feature_net = _FeatureNet(net, run.config.dataset)
    feature_net.forward(data.test.images[:2])  # what is slow the first time
    start = time.thread_time()
    feature_net.forward(data.test.images[:PROBE])
    is_slow = time.thread_time() - start > PROBE * SLOW_S
    others = np.setdiff1d(np.arange(len(data.train)), rows)
    return None if is_slow else (feature_net, data, rows[_evenly(len(rows), MAX_CALIBRATED)], others)


def _evenly(n: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
