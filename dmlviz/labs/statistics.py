"""Means with intervals, for the figures of labs."""

from collections.abc import Sequence

import numpy as np

from dmlviz.labs.lab import FigureRow

CONFIDENCE = 0.95


def t_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean and its 95 % interval by Student's t.

    Args:
        values: At least two independent measurements.

    Returns:
        Mean, lower end, upper end.

    Example:
        >>> [round(value, 3) for value in t_interval([1.0, 2.0, 3.0])]
        [2.0, -0.484, 4.484]
    """
    from scipy import stats

    data = np.asarray(values, float)
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(data) - 1) * data.std(ddof=1) / np.sqrt(len(data))
    return float(data.mean()), float(data.mean() - half), float(data.mean() + half)


def mean_row(figure: str, series: str, x: float | str, values: Sequence[float]) -> FigureRow:
    """Return the row of a mean: with a 95 % t-interval of several values, without an interval of one."""
    if len(values) == 1:
        return FigureRow(figure=figure, series=series, x=x, y=float(values[0]))
    mean, low, high = t_interval(values)
    return FigureRow(figure=figure, series=series, x=x, y=mean, low=low, high=high, n=len(values))


def mean_rows(figure: str, series: str, points: Sequence[tuple[float | str, float | None]]) -> list[FigureRow]:
    """Return a row for each x, ascending where x is a number: the mean of its values; None is left out."""
    values: dict[float | str, list[float]] = {}
    for x, y in points:
        if y is not None:
            values.setdefault(x, []).append(y)
    columns = list(values)
    if all(isinstance(x, int | float) for x in columns):
        columns.sort(key=float)
    return [mean_row(figure, series, x, values[x]) for x in columns]
