"""Decisions about the training images of a data set, or about own vectors, from Python and from the command line."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cleaning.findings import StoredFindings
from dmlviz.data import data_root, num_train_images
from dmlviz.data.corrections import Corrections, deciding, load_corrections
from dmlviz.errors import UserError
from dmlviz.jobs.job_events import CLEANING_EVENT, CleaningFinished, CleaningProgress
from dmlviz.jobs.job_record import CleanOrder, JobRecord
from dmlviz.jobs.order import Order
from dmlviz.runs.run import Run
from dmlviz.runs.run_folders import CLEANING_FOLDER
from dmlviz.runs.store import Runs
from dmlviz.storage.files import read_json

VERSION = 5  # of the search and its files; findings of another version are not shown


class CleaningRecord(JobRecord[CleaningProgress, CleaningFinished, CleanOrder]):
    """A folder with `findings.json` and its pictures, `PART.png`; the order has the folder of the `run`."""

    kinds = CLEANING_EVENT

    @classmethod
    def of(cls, run: Run, runs: Runs) -> Self:
        """Return the record of a run as it was trained last; its folder need not be there."""
        return cls(runs.folder / CLEANING_FOLDER / f"{run.id}-{int(run.created.timestamp())}-{VERSION}")

    @property
    def findings(self) -> StoredFindings | None:
        """The findings so far; None before the first."""
        findings: StoredFindings | None = read_json(self.path / "findings.json")
        return findings if isinstance(findings, dict) else None


def cleaning(runs: Runs, run: Run) -> Order[CleaningRecord]:
    """Return the order of the search for errors in the training data of a run.

    Raises:
        UserError: If the run should have a net, and has none.
    """
    record = CleaningRecord.of(run, runs)
    if DATASETS[run.config.dataset].trainable and not (run.path / "weights.safetensors").exists():
        raise UserError(f"{run.title} has no net, so nothing can look through its training data.")

    def existing() -> CleaningRecord | None:
        is_done = record.state == "running" or (record.state == "finished" and record.findings is not None)
        return record if is_done else None

    def create() -> CleaningRecord:
        for earlier in record.path.parent.glob(f"{run.id}-*"):
            shutil.rmtree(earlier, ignore_errors=True)
        return CleaningRecord.create(record.path)

    return Order(
        folder=record.path,
        dataset=run.config.dataset,
        record=CleaningRecord,
        create=create,
        existing=existing,
        content={"kind": "clean", "run": str(run.path.resolve())},
        run=run.id,
        stop_timeout_s=3.0,
    )


def correct(
    dataset: str | Run,
    *,
    relabel: Mapping[int, str | int] | None = None,
    exclude: Iterable[int] = (),
    confirm: Iterable[int] = (),
    tag: Mapping[int, str] | None = None,
    undo: Iterable[int] = (),
    data: str | Path | None = None,
) -> Corrections:
    """Decide about training images of a data set and keep that beside the data, as `dmlviz clean RUN --relabel …` does.

    Args:
        dataset: Name of the data set; or a run, of own vectors: decisions are about its rows.
        relabel: New labels by image: the name of a class, or its ID.
        exclude: Images to leave out of trainings.
        confirm: Images whose label is right.
        tag: Words to remember images by; they change nothing.
        undo: Images whose decision is taken back.
        data: The data folder; by default that of the app.

    Returns:
        All decisions about the data set so far: `images` has them by image, `freeze()` keeps them for a training.

    Raises:
        UserError: For an image or a class that the data set does not have, or two decisions about one image; then
            nothing is kept.

    Examples:
        >>> import tempfile
        >>> corrections = correct("digits", relabel={17: "4"}, exclude=[23], data=tempfile.mkdtemp())
        >>> corrections.changes
        {17: 4, 23: -1}
    """
    root = data_root(data)
    DATASETS.add_search_path(root)
    run, name = (None, dataset) if isinstance(dataset, str) else (dataset, dataset.config.dataset)
    classes = DATASETS[name].classes
    labels = {image: _class_id(image, label, classes, name) for image, label in (relabel or {}).items()}
    actions = [("relabel", labels), ("exclude", exclude), ("confirm", confirm), ("undo", undo)]
    decisions = [(int(image), action) for action, images in actions for image in images]
    _check_one_each(decisions)
    decisions += [(int(image), "tag") for image in tag or {}]
    if not decisions:
        return load_corrections(root, name)
    count = num_train_images(name, root) if run is None else num_reviewed(run, root)
    with deciding(root, name):
        corrections = load_corrections(root, name)
        for image, action in decisions:
            word = (tag or {}).get(image) if action == "tag" else None
            corrections = corrections.decide(image, action, count, len(classes), labels.get(image), word)
        corrections.save(root)
    return corrections


def num_reviewed(run: Run, root: Path) -> int:
    """Return the number of what decisions are about: the training images of a run's data set, or its own vectors."""
    if DATASETS[run.config.dataset].trainable:
        return num_train_images(run.config.dataset, root)
    return len(run.known_labels)


def _check_one_each(decisions: Iterable[tuple[int, str]]) -> None:
    first: dict[int, str] = {}
    for image, action in decisions:
        if first.setdefault(image, action) != action:
            raise UserError(f"An image has one decision; got {first[image]} and {action} of image {image}: choose one.")


def _class_id(image: int, label: str | int, classes: tuple[str, ...], dataset: str) -> int:
    if isinstance(label, str) and label not in classes:
        raise UserError(f"A new label is a class of {dataset}, like {classes[0]}; got {label[:40]!r} of image {image}.")
    return classes.index(label) if isinstance(label, str) else int(label)
