"""Common code of the labs on identities: their results by net, and the values of several seeds."""

from collections.abc import Callable, Sequence
from typing import Any

from dmlviz.labs.identity_nets import NETS
from dmlviz.labs.lab import FigureRow
from dmlviz.labs.statistics import mean_row
from dmlviz.studies.trial import TrialResult


def by_net(results: Sequence[TrialResult]) -> dict[str, list[TrialResult]]:
    """Return the results that have values by the title of their net, in the order of `NETS`."""
    trials = [result for result in results if result.values and "net" in result.trial.settings]
    groups = {
        title: [result for result in trials if result.trial.settings["net"] == net] for net, (title, _) in NETS.items()
    }
    return {title: group for title, group in groups.items() if group}


def having(name: str, group: Sequence[TrialResult]) -> list[TrialResult]:
    """Return the results that have this value; a trial that goes on may not have it yet."""
    return [result for result in group if name in result.values]


def seed_rows(
    figure: str, series: str, xs: Sequence[float], group: Sequence[TrialResult], values: Callable[[TrialResult], Any]
) -> list[FigureRow]:
    """Return a row for each x: the mean over the seeds of what `values` gives for it, with a 95 % t-interval."""
    if not group:
        return []
    columns = list(zip(*(values(result) for result in group), strict=True))
    return [mean_row(figure, series, x, column) for x, column in zip(xs, columns, strict=True)]
