"""Search for faults in the training data of a finished run, or in own vectors. Loads torch when it embeds."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

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
    ambiguous_rows,
    dynamics_cells,
    outlier_rows,
    say,
    suspect_rows,
)
from dmlviz.cleaning.measures import label_disagreement, leaks, near_duplicates
from dmlviz.cleaning.vector_search import find_in_vectors
from dmlviz.data import Dataset, data_root, load
from dmlviz.data.corrections import corrected
from dmlviz.errors import UserError
from dmlviz.ops.neighbor_index import NeighborIndex, NeighborTable
from dmlviz.ops.training_dynamics import spread, training_dynamics
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.training.validation_split import split_training_images

FIRST_LOOK = 4_000  # images, where there are more than twice as many
FIRST_SHARE = 0.05  # of the work
MAX_NETS = 5  # of a run's checkpoints, beside the final net; fewer where there are very many images
MAX_EMBEDDED = 120_000  # images by checkpoints, but those of three at least
CHUNK = 500  # images per forward pass
SAME_PIXELS = 0.03  # root mean square difference of pixels, of 1: what a person sees as the same picture
MAX_TEST = 10_000


def clean(run: Run | str, *, data: str | Path | None = None, runs: str | Path | None = None) -> Findings:
    """Find possible faults in the training data of a finished run, or in own vectors, as `dmlviz clean RUN` does.

    Args:
        run: A run, or the ID or title of one.
        data: The data folder; by default that of the app.
        runs: The runs folder, for an ID or a title; by default that of the app.

    Returns:
        Findings for a person to look at; `dmlviz.correct` decides about it.

    Raises:
        UserError: If there is no such run, or it has neither a net nor vectors of its own.

    Examples:
        >>> clean("Digits in the plane, triplets").images
        1201
    """
    root = data_root(data)
    DATASETS.add_search_path(root)
    return find(run if isinstance(run, Run) else Runs(runs).find(run), root)


def find(
    run: Run,
    data_root: Path,
    go_on: Progress = lambda words, share: None,
    on_first: Callable[[Findings], object] | None = None,
) -> Findings:
    """Look through the training and validation images of a finished run, as its nets embed them, or its own vectors.

    Args:
        run: A run with weights, or one that another program has embedded.
        data_root: Folder of the data sets.
        go_on: Called several times a second.
        on_first: Called with the suspects among FIRST_LOOK of the images, where there are many more.

    Raises:
        UserError: If the run has no net.
    """
    if not DATASETS[run.config.dataset].trainable:
        return find_in_vectors(run, go_on)
    if not (run.path / "weights.safetensors").exists():
        raise run.lacks("net to look through its training data with")
    said = run.config.dataset_spec.said
    dataset = corrected(load(run.config.dataset, data_root), run.config.corrections, data_root)
    split = split_training_images(run.config, dataset.train.labels)
    rows = np.sort(np.concatenate([split.train, split.validation]))
    if len(rows) <= K:
        raise UserError(said(f"Neighbors are compared among more than {K} images; got {len(rows):,}."))
    nets = min(MAX_NETS, max(3, MAX_EMBEDDED // len(rows)))
    steps, last = spread(run.checkpoint_steps, nets), run.end_step or 0

    def found(among: np.ndarray, tables: list[NeighborTable], rest: list[Finding], whole: bool = True) -> Findings:
        labels = dataset.train.labels[among]
        neighbors = [table.indices[:, :K] for table in tables]
        disagreement = label_disagreement(neighbors, labels)
        learned = [near for near, step in zip(neighbors, (*steps, None), strict=True) if step not in (0, last)]
        dynamics = training_dynamics(learned, labels) if whole and len(learned) > 1 else None
        others = () if dynamics is None else ambiguous_rows(among, labels, dynamics, disagreement.suggestion)
        return Findings(
            run=run.id,
            dataset=run.config.dataset,
            images=len(among),
            uncompared=int((~disagreement.compared).sum()),
            steps=(*steps, last),
            recall=min(table.recall for table in tables),
            rows=(*suspect_rows(among, labels, dataset.classes, disagreement, " over the training"), *others, *rest),
            noun=said("training image"),
            cells=() if dynamics is None else tuple(dynamics_cells(among, dynamics)),
        )

    if on_first is not None and len(rows) > 2 * FIRST_LOOK:
        few = np.sort(np.random.default_rng(0).choice(rows, FIRST_LOOK, replace=False))
        tables, _ = _by_nets(run, dataset.train.images[few], steps, _part(go_on, 0, FIRST_SHARE))
        on_first(found(few, tables, [], whole=False))
    images, test = dataset.train.images[rows], dataset.test.first(MAX_TEST)
    tables, index = _by_nets(run, images, steps, _part(go_on, FIRST_SHARE, 0.9))
    near = tables[-1]
    same = 0.0 if run.config.dataset_spec.of_points else SAME_PIXELS  # a point beside another is another one
    go_on(said("Comparing pixels"), 0.9)
    rest = [*_duplicates(dataset, rows, near_duplicates(images, near.indices, same))]
    compare = said("Comparing pixels with the test images")
    embeddings = embed_in_chunks(run, test.images, None, lambda share: go_on(compare, 0.92 + 0.06 * share))
    go_on(compare, 0.98)
    rest += _leaks(dataset, rows, leaks(images, test.images, index.search(embeddings), same))
    rest += outlier_rows(rows, dataset.train.labels[rows], near.distances)
    return found(rows, tables, [replace(one, reason=said(one.reason)) for one in rest])


def _by_nets(
    run: Run, images: np.ndarray, steps: list[int], go_on: Progress
) -> tuple[list[NeighborTable], NeighborIndex]:
    """Return the nearest others of each image by the nets of some steps and by the final one, and its index."""
    tables, nets = [], [*steps, None]
    for number, step in enumerate(nets):
        tell = _part(go_on, number / len(nets), (number + 1) / len(nets))
        among, by = run.config.dataset_spec.said(f"{len(images):,} images"), f"net {number + 1} of {len(nets)}"
        embeddings = embed_in_chunks(run, images, step, partial(_part(tell, 0, 0.5), f"Embedding {among} by {by}"))
        k = min(CANDIDATES if step is None else K, len(images) - 1)
        finding = f"Finding the neighbors of {among} by {by}"
        index = NeighborIndex(embeddings, k, RECALL, partial(say, tell, finding, 0.5), measured=MEASURED)
        tables.append(index.table())
    return tables, index


def _part(go_on: Progress, begin: float, end: float) -> Progress:
    """Return the progress of a part of the work, which takes it from one share to another."""
    return lambda words, share: go_on(words, begin + share * (end - begin))


def embed_in_chunks(
    run: Run, images: np.ndarray, step: int | None = None, go_on: Callable[[float], object] = lambda share: None
) -> np.ndarray:
    """Embed any number of images with the final net of a run, or that of a checkpoint."""
    from dmlviz.runs.embed import embed

    parts = []
    for at in range(0, len(images), CHUNK):
        go_on(at / len(images))
        parts.append(embed(run, images[at : at + CHUNK], step))
    return np.concatenate(parts)


def _duplicates(dataset: Dataset, rows: np.ndarray, found: tuple[np.ndarray, np.ndarray]) -> Iterator[Finding]:
    labels, (pairs, differences) = dataset.train.labels, found
    for (first, second), difference in zip(rows[pairs[:MAX_LISTED]].tolist(), differences.tolist(), strict=False):
        same = labels[first] == labels[second]
        yield Finding(
            kind="duplicate",
            image=second,
            label=int(labels[second]),
            score=difference,
            reason=f"{_alike(difference)} training image {first:,}" + ("" if same else ", which has another label"),
            suggestion=None if same else int(labels[first]),
            other=first,
            other_label=int(labels[first]),
        )


def _leaks(dataset: Dataset, rows: np.ndarray, found: tuple[np.ndarray, np.ndarray]) -> Iterator[Finding]:
    pairs, differences = found
    for (row, other), difference in zip(pairs[:MAX_LISTED].tolist(), differences.tolist(), strict=False):
        yield Finding(
            kind="leak",
            image=int(rows[row]),
            label=int(dataset.train.labels[rows[row]]),
            score=difference,
            reason=f"{_alike(difference)} test image {other:,}",
            other=other,
            other_label=int(dataset.test.labels[other]),
        )


def _alike(difference: float) -> str:
    return "The same pixels as" if difference == 0 else f"Pixels differ by {difference:.1%} from"
