"""Looks through the training data of a finished run. Loads torch when it embeds."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cleaning.findings import Finding, Findings
from dmlviz.cleaning.measures import label_disagreement, leaks, near_duplicates, outlier_ratios, suspects
from dmlviz.data import Dataset, data_root, load
from dmlviz.data.corrections import corrected
from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.training.validation_split import split_training_images

K = 10  # neighbors; for labels no more than there are others of an image's class
MAX_NETS = 5  # of a run's checkpoints, beside the final net
MAX_LISTED = 400  # findings of a kind
CHUNK = 500  # images per forward pass
SAME_PIXELS = 0.03  # root mean square difference of pixels, of 1: what a person sees as the same picture
FAR = 2.0  # times the median distance to the neighbors
MAX_TEST = 10_000


def clean(run: Run | str, *, data: str | Path | None = None, runs: str | Path | None = None) -> Findings:
    """Find what may be wrong with the training data of a finished run, as `dmlviz clean RUN` does.

    Args:
        run: a run, or the ID or title of one.
        data: the data folder; by default that of the app.
        runs: the runs folder, for an ID or a title; by default that of the app.

    Returns:
        What a person should look at; `dmlviz.correct` decides about it.

    Raises:
        UserError: if there is no such run, or it has no net.
    """
    root = data_root(data)
    DATASETS.add_search_path(root)
    return find(run if isinstance(run, Run) else Runs(runs).find(run), root)


def find(run: Run, data_root: Path, go_on: Callable[[str], object] = lambda stage: None) -> Findings:
    """Look through the training and validation images of a finished run, as its nets embed them.

    Args:
        run: a run with weights.
        data_root: Folder of the data sets.
        go_on: Called with what is done next.

    Raises:
        UserError: If the run has no net.
    """
    dataset = corrected(load(run.config.dataset, data_root), run.config.corrections, data_root)
    split = split_training_images(run.config, dataset.train.labels)
    rows = np.sort(np.concatenate([split.train, split.validation]))
    if len(rows) <= K:
        raise UserError(f"Neighbors are compared among more than {K} images; got {len(rows)}.")
    images, labels = dataset.train.images[rows], dataset.train.labels[rows]
    go_on("embedding the training images")
    steps = spread(run.checkpoint_steps, MAX_NETS)
    final = embed_in_chunks(run, images)
    go_on("comparing labels with neighbors")
    disagreement = label_disagreement(_each(run, images, steps, final), labels, K)
    findings = [*_suspects(dataset, rows, disagreement)]
    go_on("comparing pictures")
    findings += _duplicates(dataset, rows, images, final)
    test = dataset.test.first(MAX_TEST)
    findings += _leaks(dataset, rows, (images, final), (test.images, embed_in_chunks(run, test.images)))
    findings += _outliers(dataset, rows, outlier_ratios(final, K))
    last = int((run.end or {}).get("step", 0))
    uncompared = int((~disagreement.compared).sum())
    return Findings(run.id, run.config.dataset, len(rows), uncompared, (*steps, last), tuple(findings))


def spread(steps: list[int], most: int) -> list[int]:
    """Return at most so many of the steps, evenly spread, the first and the last among them.

    Example:
        >>> spread([0, 5, 9, 14, 20], 3), spread([], 3), spread([4], 3)
        ([0, 9, 20], [], [4])
    """
    places = np.linspace(0, len(steps) - 1, min(most, len(steps))).round().astype(int)
    return [steps[place] for place in places.tolist()]


def embed_in_chunks(run: Run, images: np.ndarray, step: int | None = None) -> np.ndarray:
    """Embed any number of images with the final net of a run, or that of a checkpoint."""
    from dmlviz.runs.embed import embed

    return np.concatenate([embed(run, images[at : at + CHUNK], step) for at in range(0, len(images), CHUNK)])


def _each(run: Run, images: np.ndarray, steps: list[int], final: np.ndarray) -> Iterator[np.ndarray]:
    for step in steps:
        yield embed_in_chunks(run, images, step)
    yield final


def _suspects(dataset: Dataset, rows: np.ndarray, disagreement: Any) -> Iterator[Finding]:
    labels = dataset.train.labels[rows]
    for row in suspects(disagreement)[:MAX_LISTED].tolist():
        other = int(disagreement.suggestion[row])
        support = float(disagreement.support[row])
        yield Finding(
            kind="suspect",
            image=int(rows[row]),
            label=int(labels[row]),
            score=support,
            reason=f"{support:.0%} of its neighbors over the training are {dataset.classes[other]}",
            suggestion=other,
        )


def _duplicates(dataset: Dataset, rows: np.ndarray, images: np.ndarray, final: np.ndarray) -> Iterator[Finding]:
    labels = dataset.train.labels
    pairs, differences = near_duplicates(images, final, SAME_PIXELS)
    for (first, second), difference in zip(rows[pairs[:MAX_LISTED]].tolist(), differences.tolist(), strict=False):
        same = labels[first] == labels[second]
        yield Finding(
            kind="duplicate",
            image=second,
            label=int(labels[second]),
            score=difference,
            reason=f"{_alike(difference)} training image {first}" + ("" if same else ", which has another label"),
            suggestion=None if same else int(labels[first]),
            other=first,
            other_label=int(labels[first]),
        )


def _leaks(
    dataset: Dataset, rows: np.ndarray, train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]
) -> Iterator[Finding]:
    pairs, differences = leaks(train, test, SAME_PIXELS)
    for (row, other), difference in zip(pairs[:MAX_LISTED].tolist(), differences.tolist(), strict=False):
        yield Finding(
            kind="leak",
            image=int(rows[row]),
            label=int(dataset.train.labels[rows[row]]),
            score=difference,
            reason=f"{_alike(difference)} test image {other}",
            other=other,
            other_label=int(dataset.test.labels[other]),
        )


def _outliers(dataset: Dataset, rows: np.ndarray, ratios: np.ndarray) -> Iterator[Finding]:
    order = np.argsort(-ratios, kind="stable")
    for row in order[ratios[order] >= FAR][:MAX_LISTED].tolist():
        ratio = float(min(ratios[row], 1e6))
        yield Finding(
            kind="outlier",
            image=int(rows[row]),
            label=int(dataset.train.labels[rows[row]]),
            score=ratio,
            reason=f"Its neighbors are {ratio:.1f} times as far as usual",
        )


def _alike(difference: float) -> str:
    return "The same pixels as" if difference == 0 else f"Pixels differ by {difference:.1%} from"
