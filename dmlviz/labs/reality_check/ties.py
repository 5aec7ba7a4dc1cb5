"""Losses that differ and losses that are tied: by test classes for the final scores, by folds for the search."""

from collections.abc import Sequence

import numpy as np

from dmlviz.labs.reality_check.contestants import Contestant, Dimension
from dmlviz.labs.reality_check.plan import best_settings, search_results
from dmlviz.labs.reality_check.rows import final_results
from dmlviz.labs.statistics import bootstrap_interval, t_interval
from dmlviz.studies.trial import TrialResult

DRAWS = 10_000  # of the bootstrap
NEAR_END = 0.05  # share of a range


def by_class(results: Sequence[TrialResult], contestant: Contestant) -> np.ndarray | None:
    """Return the separated MAP@R (%) of each seed and test class, seeds × classes; None without final runs."""
    runs = final_results(results, f"final-{contestant.key}")
    classes = [run.values["classes"] for run in runs if "classes" in run.values]
    return 100 * np.array(classes) if classes else None


def class_interval(scores: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of `by_class` and its 95 % bootstrap interval over the test classes, seeds averaged."""
    return bootstrap_interval(scores.mean(axis=0))


def difference(results: Sequence[TrialResult], one: Contestant, other: Contestant) -> tuple[float, float, float] | None:
    """Return `one` minus `other` in MAP@R (points) with its 95 % interval over seeds and test classes.

    Both are drawn anew at once: the seeds of each loss by itself, the classes for both together.
    """
    ours, theirs = by_class(results, one), by_class(results, other)
    if ours is None or theirs is None:
        return None
    rng, classes = np.random.default_rng(0), ours.shape[1]
    shares = rng.multinomial(classes, np.full(classes, 1 / classes), DRAWS) / classes

    def means(scores: np.ndarray) -> np.ndarray:
        seeds = len(scores)
        weights = rng.multinomial(seeds, np.full(seeds, 1 / seeds), DRAWS) / seeds
        return np.asarray(np.einsum("ds,sc,dc->d", weights, scores, shares))

    low, high = np.quantile(means(ours) - means(theirs), [0.025, 0.975])
    return float(ours.mean() - theirs.mean()), float(low), float(high)


def fold_difference(results: Sequence[TrialResult], one: Contestant, other: Contestant) -> tuple[float, float, float]:
    """Return `one` minus `other` in validation MAP@R (points) with its 95 % t-interval over the four folds."""
    ours, theirs = (_best_folds(results, contestant) for contestant in (one, other))
    return t_interval(list(100 * (ours - theirs)))


def ends_of_ranges(results: Sequence[TrialResult], contestant: Contestant) -> list[str]:
    """Return the chosen settings that lie within 5 % of an end of the range that was searched."""
    best = best_settings(search_results(contestant, results)) or {}
    tied = []
    for dimension in contestant.dimensions:
        if dimension.name in best and not NEAR_END <= _position(dimension, best[dimension.name]) <= 1 - NEAR_END:
            limits = f"{dimension.low:g} to {dimension.high:g}"
            tied.append(f"{contestant.title} {dimension.name} {best[dimension.name]:g} ({limits})")
    return tied


def _best_folds(results: Sequence[TrialResult], contestant: Contestant) -> np.ndarray:
    search = [result for result in search_results(contestant, results) if result.values]
    return np.array(max(search, key=lambda result: result.values["validation"]).values["folds"])


def _position(dimension: Dimension, value: float) -> float:
    low, high = np.log([dimension.low, dimension.high]) if dimension.log else (dimension.low, dimension.high)
    return float(((np.log(value) if dimension.log else value) - low) / (high - low))
