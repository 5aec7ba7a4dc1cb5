"""What a figure is made of: images and the words about them, and the numbers that are drawn. Loads no Plotly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlviz import metrics
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.figures import FIGURES
from dmlviz.errors import UserError
from dmlviz.figures.history import History, history
from dmlviz.metrics import curves
from dmlviz.runs.run import Run, RunNotFoundError

_Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Images:
    """Embeddings (n × d) with class ids (n); `classes` are all class names by id, () where nobody has told them.

    `about` says which images these are, how many, and after which step; `items` are their numbers in the official
    order, None where these are all.
    """

    embeddings: Any
    labels: np.ndarray
    classes: tuple[str, ...]
    about: str
    items: np.ndarray | None = None


@dataclass(frozen=True)
class Measured:
    """The numbers of a figure, with what there is to say about the images."""

    data: Any
    classes: tuple[str, ...]
    about: str


def images(embeddings: Any, labels: Any = None, step: int | None = None) -> Images:
    """Those of a run after `step` batches, or of plain arrays.

    Without a step the end of the run is meant, and of one that still trains its last snapshot. Raises UserError where
    a run has no embeddings of that step, and for arrays without labels.
    """
    if isinstance(embeddings, Run):
        return _of_run(embeddings, step)
    if labels is None:
        raise UserError("Embeddings are drawn with their class ids; give labels too, or a run in place of both.")
    labels = labels.detach().cpu().numpy() if hasattr(labels, "detach") else np.asarray(labels)
    about = f"{len(labels):,} embeddings in {len(np.unique(labels)):,} classes"
    return Images(embeddings, labels, (), about)


def _of_run(run: Run, step: int | None) -> Images:
    declared, whole = DATASETS[run.config.dataset], step is None and run.embeddings is not None
    if step is None and not whole:
        known = run.embedded_steps
        if not known:
            raise RunNotFoundError(
                f"{run.title} has no embeddings yet; its first ones are there when the training has begun."
            )
        step = known[-1]
    embeddings, labels = run.embeddings_at(step)
    items = None if whole else run.tracked_indices
    if declared.size == 0:
        return Images(embeddings, labels, declared.classes, f"{len(labels):,} vectors of {declared.title}", items)
    last = (run.end or {}).get("step")
    which, at = ("test images", last) if whole else ("tracked test images", step)
    when = "" if at is None else f" after step {at:,}" + (", the end" if at == last else "")
    about = f"{len(labels):,} {which} of {declared.title}{when}"
    return Images(embeddings, labels, declared.classes, about, items)


MEASURES: dict[str, Callable[..., Any]] = {
    "recall_at_k": curves.recall_at_k,
    "roc": curves.roc,
    "precision_recall": curves.precision_recall,
    "distance_histogram": curves.distance_histogram,
    "confusion_matrix": metrics.confusion,
}


def measure(name: str, run: Run, step: int | None = None) -> Measured:
    """The numbers of a run's figure; raise UserError for an unknown figure and where there is nothing to draw yet.

    The map is left out: it is drawn of what `Kept` holds.
    """
    _ = FIGURES[name]
    if name == "training_curves":
        read = history(run)
        return Measured(read, (), read.about)
    found = images(run, step=step)
    return Measured(MEASURES[name](found.embeddings, found.labels), found.classes, found.about)


def columns(measured: Measured) -> _Columns:
    """The numbers that are drawn, as a table's columns by name."""
    data = measured.data
    if isinstance(data, curves.RecallAtK):
        return {"k": data.ks, "recall": data.recall}
    if isinstance(data, curves.Roc):
        drawn = curves.outline(data.false_positives, data.recall)
        named = {"distance": data.thresholds, "false_positive_rate": data.false_positives, "recall": data.recall}
        return {name: values[drawn] for name, values in named.items()}
    if isinstance(data, curves.PrecisionRecall):
        drawn = curves.outline(data.recall, data.precision)
        named = {"distance": data.thresholds, "recall": data.recall, "precision": data.precision}
        return {name: values[drawn] for name, values in named.items()}
    if isinstance(data, curves.DistanceHistogram):
        return {"from": data.edges[:-1], "to": data.edges[1:], "one_class": data.same, "two_classes": data.different}
    if isinstance(data, History):
        return data.columns()
    names, counts = data
    called = np.array([class_name(measured.classes, name) for name in names])
    rows, found = np.meshgrid(called, called, indexing="ij")
    return {"class": rows.ravel(), "class_of_nearest": found.ravel(), "images": counts.ravel()}


def class_name(classes: tuple[str, ...], label: int) -> str:
    """What a class is called; its id where nobody has told."""
    return classes[label] if 0 <= label < len(classes) else str(label)
