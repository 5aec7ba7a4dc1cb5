"""Data of figures: embeddings, measured curves, captions. Imports no Plotly."""

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlviz import metrics
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FIGURES
from dmlviz.data.class_names import UNLABELED, has_label, short_names
from dmlviz.errors import UserError
from dmlviz.figures.history import History, history
from dmlviz.metrics import curves, distance_histograms
from dmlviz.metrics.inputs import read_finite
from dmlviz.runs.run import Run, RunNotFoundError

_Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Images:
    """Embeddings with labels.

    Attributes:
        embeddings: Embeddings (n × d).
        labels: Class IDs (n).
        classes: Class names by ID; () if unknown.
        about: Caption: which images, how many, after which step.
        items: Indices of the images in the data set; None for all test images.
    """

    embeddings: Any
    labels: np.ndarray
    classes: tuple[str, ...]
    about: str
    items: np.ndarray | None = None


@dataclass(frozen=True)
class Measured:
    """Measured data of a figure, class names, and a caption; `name` for the legend where it is one of several."""

    data: Any
    classes: tuple[str, ...]
    about: str
    name: str = ""


def images(embeddings: Any, labels: Any = None, step: int | None = None) -> Images:
    """Return the embeddings of a run or of arrays.

    Args:
        embeddings: A run, or embeddings (n × d).
        labels: Class IDs (n), for arrays.
        step: A step of the run; by default its end, or its last snapshot while it trains.

    Raises:
        UserError: If the run has no embeddings of that step, or for arrays without labels.
    """
    if isinstance(embeddings, Run):
        return _of_run(embeddings, step)
    if labels is None:
        raise UserError("Embeddings need class IDs: pass labels too, or pass a run.")
    labels = labels.detach().cpu().numpy() if hasattr(labels, "detach") else np.asarray(labels)
    about = f"{len(labels):,} embeddings in {len(np.unique(labels)):,} classes"
    return Images(embeddings, labels, (), about)


def _of_run(run: Run, step: int | None) -> Images:
    dataset, is_final = DATASETS[run.config.dataset], step is None and run.embeddings is not None
    if step is None and not is_final:
        steps = run.embedded_steps
        if not steps:
            raise RunNotFoundError(f"{run.title} has no embeddings yet: wait until training has started.")
        step = steps[-1]
    embeddings, labels = run.embeddings_at(step)
    items = None if is_final else run.tracked_indices
    mask = has_label(labels, dataset.classes)
    if not mask.all() and len(dataset.classes) > 1:  # what has no label is of no class
        items = np.flatnonzero(mask) if items is None else np.asarray(items)[mask]
        embeddings, labels = embeddings[mask], labels[mask]
    if not dataset.trainable and not run.recorded:
        return Images(embeddings, labels, dataset.classes, f"{len(labels):,} vectors of {dataset.title}", items)
    last = run.end_step
    at = last if is_final else step
    which = dataset.said("test images")
    which = which if is_final else f"tracked {which}"
    when = "" if at is None else f" after step {at:,}" + (", the end" if at == last else "")
    about = f"{len(labels):,} {which} of {dataset.title}{when}"
    return Images(embeddings, labels, dataset.classes, about, items)


def confusion(embeddings: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return `metrics.confusion` of finite embeddings; raise UserError for others, whose counts would all be 0."""
    read_finite(embeddings, labels)
    return metrics.confusion(embeddings, labels)


MEASURES: dict[str, Callable[..., Any]] = {
    "recall_at_k": curves.recall_at_k,
    "roc": curves.roc,
    "precision_recall": curves.precision_recall,
    "distance_histogram": distance_histograms.distance_histogram,
    "confusion_matrix": confusion,
    "scores_by_dimension": curves.scores_by_dimension,
}


def measure(name: str, run: Run, step: int | None = None) -> Measured:
    """Measure the data of a run's figure, except the map, which is drawn from a `RunExport`.

    Args:
        name: Name of the figure.
        run: The run.
        step: A step of the run; by default its end.

    Raises:
        UserError: For an unknown figure, or if there is no data yet.
    """
    _ = FIGURES[name]
    if name == "training_curves":
        curves_of_run = history(run)
        return Measured(curves_of_run, (), curves_of_run.about)
    source = images(run, step=step)
    if source.classes == (UNLABELED,):
        raise UserError(f"This curve compares classes; {run.title} has no labels: add its data with a label.")
    return Measured(MEASURES[name](source.embeddings, source.labels), source.classes, source.about)


def columns(measured: Measured) -> _Columns:
    """Return the drawn values as table columns by name."""
    data = measured.data
    if isinstance(data, curves.RecallAtK):
        return {"k": data.ks, "recall": data.recall}
    if isinstance(data, curves.Roc):
        points = curves.outline(data.false_positives, data.recall)
        series = {"distance": data.thresholds, "false_positive_rate": data.false_positives, "recall": data.recall}
        return {name: values[points] for name, values in series.items()}
    if isinstance(data, curves.PrecisionRecall):
        points = curves.outline(data.recall, data.precision)
        series = {"distance": data.thresholds, "recall": data.recall, "precision": data.precision}
        return {name: values[points] for name, values in series.items()}
    if isinstance(data, distance_histograms.DistanceHistogram):
        return {"from": data.edges[:-1], "to": data.edges[1:], "one_class": data.same, "two_classes": data.different}
    if isinstance(data, curves.ScoresByDimension):
        return {name: getattr(data, name) for name in ("dimensions", "precision_at_1", "map_at_r")}
    if isinstance(data, History):
        return data.columns()
    names, counts = data
    class_names = np.array([class_name(measured.classes, name) for name in names])
    rows, nearest = np.meshgrid(class_names, class_names, indexing="ij")
    return {"class": rows.ravel(), "class_of_nearest": nearest.ravel(), "images": counts.ravel()}


def class_name(classes: tuple[str, ...], label: int) -> str:
    """Return the name of a class; its ID if unknown."""
    return classes[label] if 0 <= label < len(classes) else str(label)


def drawn_name(classes: tuple[str, ...], label: int) -> str:
    """Return the name of a class as Plotly draws it, which else takes marks in a text for its own: short, escaped."""
    return html.escape(class_name(short_names(classes), label), quote=False).replace("%{", "%&#123;")
