"""Corrections of a data set's training labels: an overlay file in the data folder; the data stay as they are.

`corrections/NAME.json` holds the decisions about the data set NAME so far. A training names a revision of them, by the
hash of what it changes: `corrections/NAME/REVISION.json` never changes, so that the training can be repeated.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data.dataset import Dataset
from dmlviz.errors import DamagedFileError, DataUnavailableError, UserError
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.files import ensure_dir, is_run_id, read_json, write_json
from dmlviz.storage.paths import data_root

FOLDER = "corrections"
EXCLUDED = -1  # the label of a training image that is left out: of no class that a training knows
MAX_TAG = 30  # characters

Action = Literal["confirm", "relabel", "exclude", "tag"]
ACTIONS: tuple[Action, ...] = get_args(Action)


class Correction(BaseModel):
    """A decision about a training image: its label is right ("confirm"), another one, or the image is left out.

    A `tag` alone changes nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Action
    label: int | None = Field(None, ge=0)
    tag: str = Field("", max_length=MAX_TAG)


@dataclass(frozen=True)
class Corrections:
    """The decisions about the training images of a data set, by image."""

    dataset: str
    images: Mapping[int, Correction] = field(default_factory=dict)

    @property
    def changes(self) -> dict[int, int]:
        """New labels by image, ascending; EXCLUDED for an image that is left out."""
        new = {
            image: EXCLUDED if correction.action == "exclude" else correction.label
            for image, correction in sorted(self.images.items())
            if correction.action in ("exclude", "relabel")
        }
        return {image: label for image, label in new.items() if label is not None}

    @property
    def revision(self) -> str | None:
        """Hash of the changes, 16 hexadecimal digits; None where there are none."""
        changes = self.changes
        if not changes:
            return None
        return hashlib.sha256(json.dumps([self.dataset, *changes.items()]).encode()).hexdigest()[:16]

    def decide(
        self, image: int, action: str, images: int, classes: int, label: int | None = None, tag: str | None = None
    ) -> "Corrections":
        """Return these with a decision about an image; the action "undo" takes the one that there is back.

        Args:
            image: Index of the training image.
            action: One of ACTIONS, or "undo".
            images: Number of training images of the data set.
            classes: Number of classes of the data set.
            label: The new label, for "relabel".
            tag: A word to remember the image by; None keeps the one that there is.

        Raises:
            UserError: For another action, or an image or a label that the data set does not have. A decision about
                such an image can be taken back.
        """
        decisions = dict(self.images)
        before = decisions.pop(image, None)
        kind = next((name for name in ACTIONS if name == action), None)
        if kind is None and action != "undo":
            raise UserError(f"A decision about an image is {', '.join(ACTIONS)} or undo; got {str(action)[:40]!r}.")
        if not 0 <= image < images and (kind or before is None):
            what = "training images" if DATASETS[self.dataset].trainable else "rows"
            raise UserError(f"The {what} of {self.dataset} have the numbers 0 to {images - 1:,}; got {image:,}.")
        if kind is None:
            return replace(self, images=decisions)
        if kind == "relabel" and (label is None or not 0 <= label < classes):
            raise UserError(f"A new label lies between 0 and {classes - 1}; got {label}.")
        if kind == "tag" and before is not None and before.action != "tag":
            kind, label = before.action, before.label
        words = (before.tag if before is not None else "") if tag is None else tag.strip()[:MAX_TAG]
        decisions[image] = Correction(action=kind, label=label if kind == "relabel" else None, tag=words)
        return replace(self, images=decisions)

    def save(self, root: str | Path | None = None) -> None:
        """Write the decisions so far into the data folder; by default that of the app."""
        write_json(ensure_dir(data_root(root) / FOLDER) / f"{self.dataset}.json", _to_json(self))

    def freeze(self, root: str | Path | None = None) -> str | None:
        """Keep the changes for a training in the data folder, and return their revision; None where there are none."""
        revision = self.revision
        if revision is not None:
            path = ensure_dir(data_root(root) / FOLDER / self.dataset) / f"{revision}.json"
            if not path.exists():
                images = {image: self.images[image] for image in self.changes}
                write_json(path, _to_json(replace(self, images=images)))
        return revision


@contextmanager
def deciding(root: Path, dataset: str) -> Iterator[None]:
    """Hold the decisions about a data set for one person or program at a time, to read, extend and save them.

    Raises:
        UserError: If another person or program holds them for seconds.
    """
    lock = FileLock(ensure_dir(root / FOLDER) / f".{dataset}.lock")
    if not lock.acquire(10.0):
        raise UserError(f"The corrections of {dataset} are in use by another program; try again in a few seconds.")
    try:
        yield
    finally:
        lock.release()


def load_corrections(root: Path, dataset: str, revision: str | None = None) -> Corrections:
    """Read the decisions about a data set so far, or a revision of them.

    Raises:
        DataUnavailableError: If there is no such revision on disk.
        DamagedFileError: If the file is damaged.
    """
    if revision is None:
        path = root / FOLDER / f"{dataset}.json"
    else:
        path = root / FOLDER / dataset / f"{revision}.json"
        if not is_run_id(revision) or not path.is_file():
            raise DataUnavailableError(
                f"There are no corrections {revision} of {dataset} in {root}: copy its folder {FOLDER} from where they "
                "were made."
            )
    if not path.is_file():
        return Corrections(dataset)
    content = read_json(path)
    try:
        images = {int(image): Correction.model_validate(fields) for image, fields in content["images"].items()}
    except (ValidationError, ValueError, TypeError, KeyError, AttributeError):
        raise DamagedFileError(path, "it does not hold decisions about images") from None
    read = Corrections(dataset, images)
    if revision is not None and read.revision != revision:
        raise DamagedFileError(path, "it does not hold the changes that it is named after")
    return read


def corrected(data: Dataset, revision: str | None, root: Path) -> Dataset:
    """Return a data set with the changes of a revision: new labels, EXCLUDED for training images that are left out.

    Raises:
        DataUnavailableError: If the revision is not on disk, or is of another data set.
    """
    if revision is None:
        return data
    changes = load_corrections(root, data.name, revision).changes
    wrong = [
        image
        for image, label in changes.items()
        if not 0 <= image < len(data.train) or not EXCLUDED <= label < len(data.classes)
    ]
    if wrong:
        raise DataUnavailableError(
            f"The corrections {revision} of {data.name} hold a decision about image {wrong[0]}, but it has "
            f"{len(data.train):,} training images and {len(data.classes):,} classes: take it back with "
            f"dmlviz clean RUN --undo {wrong[0]}."
        )
    labels = data.train.labels.copy()
    labels[list(changes)] = np.array(list(changes.values()))
    return replace(data, train=replace(data.train, labels=labels))


def _to_json(corrections: Corrections) -> dict[str, Any]:
    images = {str(image): one.model_dump(exclude_defaults=True) for image, one in sorted(corrections.images.items())}
    return {"dataset": corrections.dataset, "images": images}


def as_trained(data: Dataset, config: TrainConfig, root: Path) -> Dataset:
    """Return a data set with the training labels that a training of `config` sees; the test labels stay.

    Its corrections come first. Then `label_noise`, a share of the images of the training classes, get the label of
    another of these classes: the same images and labels for every seed, so that runs can be compared.

    Raises:
        DataUnavailableError: If the corrections are not on disk, or are of another data set.

    Examples:
        >>> from dmlviz.data import data_root, load
        >>> digits, config = load("digits"), TrainConfig(dataset="digits", label_noise=0.2)
        >>> noisy = as_trained(digits, config, data_root())
        >>> float((noisy.train.labels != digits.train.labels).mean().round(2))
        0.2
    """
    data = corrected(data, config.corrections, root)
    if config.label_noise == 0:
        return data
    labels, classes = data.train.labels.copy(), np.array(config.train_classes)
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.flatnonzero(np.isin(labels, classes)))
    rows = rows[: round(config.label_noise * len(rows))]
    shifts = rng.integers(1, len(classes), len(rows))
    labels[rows] = classes[(np.searchsorted(classes, labels[rows]) + shifts) % len(classes)]
    return replace(data, train=replace(data.train, labels=labels))
