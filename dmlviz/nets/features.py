"""Data sets of features: a pretrained backbone computes features of each image once, and a head learns from them.

`add_features` keeps images, labels and features as a data set of its own, and the weights of the backbone beside it in
the data folder, so that a picture added later can be processed alike (`features_of`).
"""

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_spec import Features
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import Dataset, data_root, load
from dmlviz.data.backbone_weights import FOLDER, lock_of, weights_file
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.nets.backbones import Backbone, Weights, complete, digest, find_weights, read_weights, save_weights
from dmlviz.ops.torch_state import default_device
from dmlviz.storage.arrays import read_array
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.files import ensure_dir, write_array

BLOCK = 16  # images whose features are written together, so that little is lost when it is stopped
VERSION = 1  # raised when the same images and weights give other features
_LARGEST = float(np.finfo(np.float16).max)


def add_features(
    dataset: str,
    backbone: str,
    *,
    weights: str | Path | None = None,
    title: str = "",
    data: str | Path | None = None,
    unfinished: Path | None = None,
    progress: Callable[[int, int], object] = lambda done, of: None,
) -> str:
    """Compute what a pretrained backbone makes of each image of a data set, as a data set to train heads on.

    Features that were computed before an interruption are not computed again, nor is a data set that is there already.

    Args:
        dataset: Name of a data set of images.
        backbone: Name in `dmlviz.catalog.backbones.BACKBONES`, or `timm:NAME` for any other net of timm.
        weights: File of the backbone's weights, of safetensors or torch.save; by default its library downloads them.
        title: Title; by default that of the data set and of the backbone.
        data: The data folder; by default that of the app.
        unfinished: Folder for the features until all are computed; by default one in the data folder.
        progress: Called before images are computed and at the end, with the number of images done, and of all.

    Returns:
        The name of the new data set, for `TrainConfig(dataset=…)`.

    Raises:
        UserError: For an unknown name, a data set without images, weights of another net, or while another process
            computes the same.

    Example: docs/BACKBONES.md
    """
    root = data_root(data)
    DATASETS.add_search_path(root)
    declared = DATASETS[dataset]
    if not declared.trainable or declared.features is not None:
        raise UserError(
            f"Features are computed of the images of a data set to train on; {declared.title} holds vectors already: "
            "choose the data set of its images."
        )
    spec = complete(backbone)
    content = find_weights(spec, None if weights is None else Path(weights))
    source = load(dataset, root)
    about = Features(backbone=spec.name, weights=digest(content), dimensions=spec.dimensions, mean=0.0, std=1.0)
    name, kept = _name(source, about), weights_file(root, spec.name, about.weights)
    if custom_datasets.load_description(root, name) is None:
        blocks = ensure_dir(unfinished or kept.parent) / f".{name}"
        with _alone_in(blocks, declared.title):
            if custom_datasets.load_description(root, name) is None:  # no other process was faster
                features = _compute(Backbone(spec, content).to(default_device()), source, blocks, progress)
                _keep(content, kept)  # last, so that an abandoned computation leaves nothing large
                of_training = features["train"].astype(np.float32)
                about = replace(about, mean=float(of_training.mean()), std=max(float(of_training.std()), 1e-6))
                _save(root, name, source, features, about, title)
                shutil.rmtree(blocks, ignore_errors=True)
    _keep(content, kept)
    return name


@contextlib.contextmanager
def _alone_in(blocks: Path, title: str) -> Iterator[None]:
    """Make the folder of what is computed for this process alone; it is deleted at the end where nothing is in it."""
    lock = FileLock(lock_of(blocks))
    if not lock.acquire(0.0):
        raise UserError(
            f"Another process is computing these features of {title}: wait until it ends, and give the same command "
            "again to get their data set."
        )
    try:
        ensure_dir(blocks)
        yield
    finally:
        with contextlib.suppress(OSError):
            blocks.rmdir()  # only if it is empty
        if not blocks.exists():
            lock.path.unlink(missing_ok=True)
        lock.release()


def features_of(dataset: str, images: np.ndarray) -> np.ndarray:
    """Return what the backbone of a data set makes of images (uint8, n × s × s or n × s × s × 3).

    Images of the data set are looked up, which takes no time: nets were trained on these very features.

    Returns:
        float32, n × dimensions.

    Raises:
        UserError: If the backbone is needed, and its weights are not on this machine.
    """
    folder = DATASETS.folder(dataset)
    known = {} if folder is None else _known(folder)
    rows = []
    for image in images:
        row = known.get(_key(image))
        rows.append(_computed(dataset, image.tobytes(), image.shape) if row is None else row)
    return np.stack(rows).astype(np.float32)


@lru_cache(maxsize=64)  # a picture is embedded with each checkpoint of a run
def _computed(dataset: str, pixels: bytes, shape: tuple[int, ...]) -> np.ndarray:
    name, weights = _found(dataset, "A new picture")
    image = np.frombuffer(pixels, np.uint8).reshape(1, *shape)
    features: np.ndarray = _in_half(_backbone(name, weights).features(image))[0]
    return features


def backbone_of(dataset: str, purpose: str) -> Backbone:
    """Return the backbone of a data set of features, anew, with the weights that made the features.

    Args:
        dataset: Name of the data set.
        purpose: Subject of the error message.

    Raises:
        UserError: If its weights are not on this machine.
    """
    name, weights = _found(dataset, purpose)
    return Backbone(complete(name), read_weights(complete(name), weights))


def check_weights(dataset: str, purpose: str) -> None:
    """Refuse a data set of features whose backbone's weights are missing or damaged; any other passes.

    Args:
        dataset: Name of the data set.
        purpose: Subject of the error message.

    Raises:
        UserError: If they are not on this machine.
    """
    if DATASETS[dataset].features is not None:
        _backbone(*_found(dataset, purpose))


def _found(dataset: str, purpose: str) -> tuple[str, Path]:
    """Return the name of a data set's backbone and the file of its weights; raise UserError if that is not on disk."""
    declared, folder = DATASETS[dataset], DATASETS.folder(dataset)
    assert declared.features is not None
    of = declared.features
    weights = None if folder is None else weights_file(folder.parents[1], of.backbone, of.weights)
    if weights is None or not weights.exists():
        raise UserError(
            f"{purpose} needs the file of weights {weights_file(Path(), of.backbone, of.weights).name}, which is not "
            f"in the folder {FOLDER} of the data folder here: copy it from where the features were computed, or add "
            f"the same images and run dmlviz data features IMAGES --backbone {of.backbone} with the same weights."
        )
    return declared.features.backbone, weights


@lru_cache(maxsize=2)
def _backbone(name: str, weights: Path) -> Backbone:
    return Backbone(complete(name), read_weights(complete(name), weights))


@lru_cache(maxsize=4)
def _known(folder: Path) -> dict[int, np.ndarray]:
    """Return the features of a data set's images, by the keys of the images."""
    known: dict[int, np.ndarray] = {}
    for part in custom_datasets.PARTS:
        keys, features = (
            read_array(folder / f"{part}_keys.npy"),
            read_array(folder / custom_datasets.features_file(part)),
        )
        if keys is not None and features is not None:
            known.update(zip(keys.tolist(), np.asarray(features), strict=False))
    return known


def _key(image: np.ndarray) -> int:
    return int.from_bytes(hashlib.blake2b(image.tobytes(), digest_size=8).digest(), "little")


def _compute(
    net: Backbone, source: Dataset, folder: Path, progress: Callable[[int, int], object]
) -> dict[str, np.ndarray]:
    """Return the features (n × d, float16) of both parts; blocks that the folder holds already are read."""
    of, done = len(source.train) + len(source.test), 0
    parts = {}
    for part, split in zip(custom_datasets.PARTS, (source.train, source.test), strict=True):
        blocks = []
        for start in range(0, len(split), BLOCK):
            images, path = split.images[start : start + BLOCK], folder / f"{part}-{start}.npy"
            block = _read_block(path, (len(images), net.spec.dimensions))
            if block is None:
                progress(done, of)
                block = _in_half(net.features(images))
                write_array(path, block)
            blocks.append(block)
            done += len(images)
        parts[part] = np.concatenate(blocks) if blocks else np.empty((0, net.spec.dimensions), np.float16)
    progress(of, of)
    return parts


def _read_block(path: Path, shape: tuple[int, int]) -> np.ndarray | None:
    with contextlib.suppress(DamagedFileError):
        known = read_array(path, "f", shape)
        return None if known is None else np.array(known)
    return None


def _keep(weights: Weights, path: Path) -> None:
    if not path.exists():
        ensure_dir(path.parent)
        save_weights(weights, path)


def _in_half(features: np.ndarray) -> np.ndarray:
    """Return features as float16; raise UserError for what is not a number."""
    if not np.isfinite(features).all():
        raise UserError(
            "Features are numbers; with these weights some are not finite: the file is damaged, get it again."
        )
    return features.clip(-_LARGEST, _LARGEST).astype(np.float16)


def _save(
    root: Path, name: str, source: Dataset, features: Mapping[str, np.ndarray], about: Features, title: str
) -> None:
    declared, spec = DATASETS[source.name], complete(about.backbone)
    usual = f"{declared.title}, {spec.title}"
    if usual in {DATASETS[other].title for other in custom_datasets.list_names(root) if other in DATASETS}:
        usual += f" ({about.weights[:6]})"  # the same images with other weights
    described = replace(
        declared,
        name=name,
        title=title or usual,
        summary=f"What {spec.title} makes of each image, {spec.dimensions} numbers. {declared.summary}",
        mean=source.mean,
        std=source.std,
        recipe=None,
        features=about,
    )
    parts: dict[str, np.ndarray] = {}
    for part, split in zip(custom_datasets.PARTS, (source.train, source.test), strict=True):
        parts[f"{part}_labels"] = split.labels
        parts[f"{part}_features"] = features[part]
        parts[f"{part}_keys"] = np.array([_key(image) for image in split.images], np.uint64)
        parts[f"{part}_images"] = split.images
    own = DATASETS.folder(source.name) if custom_datasets.is_custom(source.name) else None

    def copy_columns(folder: Path) -> None:
        for part in custom_datasets.PARTS:
            columns = custom_datasets.columns_file(part)
            if own is not None and (own / columns).exists():
                shutil.copyfile(own / columns, folder / columns)

    custom_datasets.save(root, name, described.to_dict(), parts, copy_columns)


def _name(source: Dataset, about: Features) -> str:
    """Return a name by content: of the images, their labels and classes, the backbone and its weights."""
    content = hashlib.sha256("\0".join((str(VERSION), about.backbone, about.weights, *source.classes)).encode())
    for split in (source.train, source.test):
        for array in (split.images, split.labels):
            content.update(str(array.shape).encode())
            content.update(np.ascontiguousarray(array).data)
    return custom_datasets.PREFIX + content.hexdigest()[:16]
