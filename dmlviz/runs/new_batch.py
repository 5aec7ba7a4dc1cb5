"""New images over the map of a run, which stays: where they lie, whether they are of the same cloud, what drifted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.metrics.classification import majority_vote
from dmlviz.metrics.two_sample import FEWEST, PERMUTATIONS, TwoSampleTest, holm, pooled_neighbors, two_sample_test
from dmlviz.projection.out_of_sample import place_on
from dmlviz.runs.projection_run import projected_items
from dmlviz.runs.run import ProjectionRun, Run

FAR = 0.99  # of the test images are nearer to another one than a new image that nothing is near to
MOST_BY_LOSS = 500  # on t-SNE and UMAP; more lie between their nearest neighbors, for the time it takes
MOST_PERMUTATIONS = 9999


@dataclass(frozen=True)
class ClassDrift:
    """The test of the images of a class: its ID, the result, and the p-value by Holm for all classes."""

    label: int
    test: TwoSampleTest
    p: float


@dataclass(frozen=True)
class NewBatch:
    """New images over a map.

    Attributes:
        embeddings: Their embeddings (n × d).
        places: Their places on the map (n × 2 or 3).
        labels: Their class IDs (n): given, or else the most frequent of the 5 nearest test images; -1 for a class
            that the run does not have.
        labeled: Whether labels were given.
        nearest: The nearest test image of each (n).
        distances: Its distance (n).
        far: The images whose nearest test image is farther than that of 99 % of the test images, the farthest first.
        limit: That distance.
        overall: The test of all images; None for fewer than five.
        classes: The tests of the classes with five images or more on both sides, those that drifted first.
        unknown: The number of images without a class of the run, where others have one.
    """

    embeddings: np.ndarray
    places: np.ndarray
    labels: np.ndarray
    labeled: bool
    nearest: np.ndarray
    distances: np.ndarray
    far: np.ndarray
    limit: float
    overall: TwoSampleTest | None
    classes: list[ClassDrift]
    unknown: int


def place(run: Run, images: np.ndarray, names: Sequence[str] = (), projection: ProjectionRun | None = None) -> NewBatch:
    """Embed new images, place them on a map of the run and compare them with its test images.

    The map stays as it is. The test images are the right ones to compare with: the net was not trained on them either.

    Args:
        run: A finished run with a net.
        images: Images (uint8, n × h × w or n × h × w × 3), prepared as those of the run's data set.
        names: The class name of each, "" for none; by default none has a name.
        projection: A finished projection of the run; None for its own view.

    Raises:
        UserError: If the run has no net or is not finished, or for images of another size.

    Example:
        `place(Runs(folder).find("latest"), data.load("fashion_mnist").test.images).overall`
    """
    from dmlviz.runs.embed import CHUNK, embed  # loads torch

    old, known = run.embeddings, run.known_labels
    if old is None:
        raise run.lacks("embeddings of all test images")
    if not len(images):
        raise UserError("A new batch has at least one image.")
    parts = [embed(run, images[at : at + CHUNK]) for at in range(0, len(images), CHUNK)]
    new = np.concatenate(parts)
    if not (np.isfinite(old).all() and np.isfinite(new).all()):
        raise UserError(f"The net of {run.title} gives NaN or infinity: its training diverged. Choose another run.")
    pooled = pooled_neighbors(old, new)
    distances, limit = pooled.distances[:, 0], float(np.quantile(pooled.within, FAR))
    own = {name: label for label, name in enumerate(DATASETS[run.config.dataset].classes)}
    given = np.array([own.get(name, -1) for name in names], np.int64)
    labeled = bool((given >= 0).any())
    of_new = given if labeled else majority_vote(known[pooled.nearest])
    far = np.flatnonzero(distances > limit)
    return NewBatch(
        new,
        _places(run, projection, old, new),
        of_new,
        labeled,
        pooled.nearest[:, 0],
        distances,
        far[np.argsort(-distances[far], kind="stable")],
        limit,
        two_sample_test(pooled) if min(pooled.sizes) >= FEWEST else None,
        _drifts(old, known, new, of_new),
        int(np.count_nonzero(of_new < 0)) if labeled else 0,
    )


def _drifts(old: np.ndarray, labels: np.ndarray, new: np.ndarray, of_new: np.ndarray) -> list[ClassDrift]:
    counts = [np.bincount(ids[ids >= 0], minlength=int(labels.max(initial=0)) + 1) for ids in (labels, of_new)]
    names = np.flatnonzero((counts[0] >= FEWEST) & (counts[1][: len(counts[0])] >= FEWEST))
    permutations = int(np.clip(40 * len(names) - 1, PERMUTATIONS, MOST_PERMUTATIONS))  # Holm multiplies by the number
    parts = [pooled_neighbors(old[labels == name], new[of_new == name]) for name in names]
    tests = [two_sample_test(part, permutations) for part in parts]
    drifts = [
        ClassDrift(int(name), test, p)
        for name, test, p in zip(names, tests, holm([test.p for test in tests]), strict=True)
    ]
    return sorted(drifts, key=lambda one: (one.p, -one.test.share))


def _places(run: Run, projection: ProjectionRun | None, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    if projection is None:
        if run.linear_projection is None:
            raise run.lacks("map")
        return run.linear_projection.project(new)
    coordinates, config = projection.coordinates, projection.config
    if coordinates is None or not config.whole:
        raise UserError("New images lie on a finished map of the end of a run: compute one with dmlviz project.")
    inputs = old[projected_items(run, config)]
    return place_on(config, inputs, coordinates, new, quick=len(new) > MOST_BY_LOSS)
