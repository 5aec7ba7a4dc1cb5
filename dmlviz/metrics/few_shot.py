"""Few-shot classification: episodes of some ways and shots, answered by the nearest prototype."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dmlviz.errors import UserError


@dataclass(frozen=True)
class Episode:
    """Images of one episode, as indices.

    Attributes:
        classes: The class of each way (w).
        support: The examples of each way (w × shots).
        queries: The images to be classified of each way (w × queries).
    """

    classes: np.ndarray
    support: np.ndarray
    queries: np.ndarray


def episodes(labels: np.ndarray, ways: int, shots: int, queries: int, count: int, seed: int = 0) -> Iterator[Episode]:
    """Draw episodes: different classes, and different images of each.

    Args:
        labels: Class IDs (n).
        ways: Classes in an episode.
        shots: Examples of each class.
        queries: Images of each class that are to be classified.
        count: Number of episodes.
        seed: Seed of the draws.

    Raises:
        UserError: If there are not enough classes, or too few images in one of them.
    """
    names, sizes = np.unique(labels, return_counts=True)
    fewest = min(sizes.tolist(), default=0)
    if len(names) < ways or fewest < shots + queries:
        raise UserError(
            f"Episodes of {ways} ways with {shots} shots and {queries} queries need {ways} classes of "
            f"{shots + queries} images; got {len(names)} classes, the smallest of {fewest} images: "
            "use fewer ways, shots or queries."
        )
    members = {name: np.flatnonzero(labels == name) for name in names}
    rng = np.random.default_rng(seed)
    for _ in range(count):
        classes = rng.choice(names, ways, replace=False)
        items = np.stack([rng.choice(members[name], shots + queries, replace=False) for name in classes])
        yield Episode(classes, items[:, :shots], items[:, shots:])


def nearest_prototype(embeddings: np.ndarray, episode: Episode) -> np.ndarray:
    """Classify the queries of an episode by the nearest mean of the examples.

    Args:
        embeddings: Embeddings (n × d).
        episode: The episode.

    Returns:
        The number of the way, for each query (w × queries).

    Reference:
        Snell, Swersky, Zemel: Prototypical networks for few-shot learning, 2017.
    """
    prototypes = embeddings[episode.support].mean(axis=1)
    squared = ((embeddings[episode.queries][:, :, None] - prototypes) ** 2).sum(axis=-1)
    answers: np.ndarray = squared.argmin(axis=-1)
    return answers


def episode_accuracies(
    embeddings: np.ndarray, labels: np.ndarray, ways: int, shots: int, queries: int, count: int, seed: int = 0
) -> np.ndarray:
    """Return the accuracy of each episode; arguments as `episodes`."""
    embeddings = np.asarray(embeddings, np.float32)
    right = [
        np.mean(nearest_prototype(embeddings, episode) == np.arange(ways)[:, None])
        for episode in episodes(labels, ways, shots, queries, count, seed)
    ]
    return np.array(right)
