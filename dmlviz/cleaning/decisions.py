"""Decisions about the training images of a data set, or about own vectors, from Python and from the command line."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import data_root, num_train_images
from dmlviz.data.corrections import Corrections, deciding, load_corrections
from dmlviz.errors import UserError
from dmlviz.runs.run import Run


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

    Example:
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
