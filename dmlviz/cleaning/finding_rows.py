"""The findings that neighbors give: suspect labels and outliers, of images and of vectors alike. No torch."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dmlviz.cleaning.findings import Finding
from dmlviz.cleaning.measures import Disagreement, outlier_ratios, outliers, suspects

Progress = Callable[[str, float], object]  # called with what is being done, and the share that is done; may raise

K = 10  # neighbors; for labels no more than there are others of an image's class
CANDIDATES = 20  # nearest neighbors by embedding among which near duplicates are sought
RECALL = 0.97  # of the neighbors, wanted of the index
MEASURED = 250  # images on which the recall is measured
MAX_LISTED = 400  # findings of a kind
FAR = 2.0  # times the median distance to the neighbors
MOST_OUTLIERS = 0.01  # of all images


def say(go_on: Progress, words: str, share: float) -> None:
    """Say what is being done."""
    go_on(words, share)


def suspect_rows(
    items: np.ndarray, labels: np.ndarray, classes: Sequence[str], disagreement: Disagreement, when: str = ""
) -> Iterator[Finding]:
    """Return the suspect labels.

    Args:
        items: Numbers of the images or vectors (n).
        labels: Their class IDs (n).
        classes: Class names.
        disagreement: That of their neighbors.
        when: Words about these neighbors.
    """
    for row in suspects(disagreement)[:MAX_LISTED].tolist():
        other = int(disagreement.suggestion[row])
        support = float(disagreement.support[row])
        yield Finding(
            kind="suspect",
            image=int(items[row]),
            label=int(labels[row]),
            score=support,
            reason=f"{support:.0%} of its neighbors{when} are {classes[other]}",
            suggestion=other,
        )


def outlier_rows(items: np.ndarray, labels: np.ndarray, distances: np.ndarray) -> Iterator[Finding]:
    """Return the outliers by the distances to the nearest others (n × K or more); the others as above."""
    ratios = outlier_ratios(distances[:, :K])
    for row in outliers(ratios, FAR, MOST_OUTLIERS)[:MAX_LISTED].tolist():
        ratio = float(min(ratios[row], 1e6))
        yield Finding(
            kind="outlier",
            image=int(items[row]),
            label=int(labels[row]),
            score=ratio,
            reason=f"Its neighbors are {ratio:.1f} times as far as usual",
        )
