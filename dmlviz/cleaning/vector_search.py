"""Search for faults in vectors that no net here has embedded: an imported table, a recording. No torch."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.cleaning.findings import (
    CANDIDATES,
    MAX_LISTED,
    MEASURED,
    RECALL,
    Finding,
    Findings,
    K,
    Progress,
    outlier_rows,
    say,
    suspect_rows,
)
from dmlviz.cleaning.measures import label_disagreement, vector_duplicates
from dmlviz.data.class_names import known_labels
from dmlviz.errors import DataUnavailableError, UserError
from dmlviz.ops.neighbor_index import NeighborIndex, NeighborTable
from dmlviz.runs.run import Run
from dmlviz.storage.text import counted

SAME_VECTOR = 0.01  # of the usual distance to the nearest others


class OwnVectors(NamedTuple):
    """The vectors of a run (n × d) with their numbers and class IDs (n).

    `noun` is what one is called, `step` that of the snapshot that has them; None for the end, or an import.
    """

    embeddings: np.ndarray
    items: np.ndarray
    labels: np.ndarray
    noun: str
    step: int | None


def own_vectors(run: Run) -> OwnVectors:
    """Return the vectors of a run without a net here: those of its end, or else of its last snapshot.

    Raises:
        UserError: If there are none yet.
    """
    if run.state == "running":
        raise run.lacks("embeddings of its end")
    step = None if run.embedded or not run.snapshot_steps else run.snapshot_steps[-1]
    embeddings, labels = run.embeddings_at(step)
    tracked = run.tracked_indices
    items = np.arange(len(labels)) if step is None or tracked is None else np.asarray(tracked)
    at = run.end_step if step is None and run.recorded else step
    return OwnVectors(embeddings, items, labels, run.config.dataset_spec.noun, at)


def pictures_of_vectors(dataset: str, data_root: Path) -> np.ndarray | None:
    """Return the pictures of own vectors (uint8, n × s × s or n × s × s × 3); None where there are none."""
    try:
        return custom_datasets.load_arrays(data_root, dataset)["test_images"]
    except DataUnavailableError:
        return None


def find_in_vectors(run: Run, go_on: Progress) -> Findings:
    """Look through all vectors of a run by the neighbors that they have among themselves.

    Vectors without a label are compared with all, but not by labels: they have none, and give none to others.

    Args:
        run: A run without a net here.
        go_on: Called several times a second.

    Raises:
        UserError: If the run has no embeddings yet, or too few.
    """
    embeddings, items, labels, noun, step = own_vectors(run)
    finite, notes = np.isfinite(embeddings).all(axis=1), []
    if not finite.all():
        embeddings, items, labels = embeddings[finite], items[finite], labels[finite]
        notes.append(f"{counted(int((~finite).sum()), noun)} with values that are not finite: left out.")
    if len(items) <= K:
        raise UserError(f"Neighbors are compared among more than {K} {noun}s; got {len(items):,}.")
    words = f"Finding the neighbors of {counted(len(items), noun)}"
    near = _neighbors(embeddings, CANDIDATES, partial(say, go_on, words, 0.0))
    classes = DATASETS[run.config.dataset].classes
    known = known_labels(labels, classes)
    labeled = np.flatnonzero(known >= 0)
    table, uncompared, suspects = near, 0, []
    if 0 < len(labeled) < len(items):
        notes.append(f"{counted(len(items) - len(labeled), noun)} without a label: not compared by labels.")
    if len(labeled) > K:
        if len(labeled) < len(items):
            words = f"Finding the neighbors of {counted(len(labeled), noun)} with a label"
            table = _neighbors(embeddings[labeled], K, partial(say, go_on, words, 0.5))
        disagreement = label_disagreement([table.indices[:, :K]], labels[labeled])
        suspects = [*suspect_rows(items[labeled], labels[labeled], classes, disagreement)]
        uncompared = int((~disagreement.compared).sum())
    go_on("Comparing vectors", 0.9)
    return Findings(
        run=run.id,
        dataset=run.config.dataset,
        images=len(items),
        uncompared=uncompared,
        steps=() if step is None else (step,),
        recall=min(near.recall, table.recall),
        rows=(
            *suspects,
            *_duplicates(embeddings, items, labels, known, near, noun),
            *outlier_rows(items, labels, near.distances),
        ),
        noun=noun,
        notes=tuple(notes),
    )


def _neighbors(points: np.ndarray, k: int, go_on: Callable[[], None]) -> NeighborTable:
    return NeighborIndex(points, min(k, len(points) - 1), RECALL, go_on, measured=MEASURED).table()


def _duplicates(
    points: np.ndarray, items: np.ndarray, labels: np.ndarray, known: np.ndarray, near: NeighborTable, noun: str
) -> Iterator[Finding]:
    pairs, shares = vector_duplicates(points, near.indices, near.distances, SAME_VECTOR)
    for (first, second), share in zip(pairs[:MAX_LISTED].tolist(), shares.tolist(), strict=False):
        alike = "The same vector as" if share == 0 else f"At {share:.1%} of the usual distance from"
        differs = known[first] != known[second] and known[first] >= 0
        other_label = f", which has {'another' if known[second] >= 0 else 'a'} label" if differs else ""
        yield Finding(
            kind="duplicate",
            image=int(items[second]),
            label=int(labels[second]),
            score=share,
            reason=f"{alike} {noun} {items[first]:,}{other_label}",
            suggestion=int(labels[first]) if differs else None,
            other=int(items[first]),
            other_label=int(labels[first]),
        )
