"""Means with intervals, for the figures of labs, and words that follow the intervals."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dmlviz.labs.lab import FigureRow

CONFIDENCE = 0.95


def t_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean and its 95% interval by Student's t.

    Args:
        values: At least two independent measurements.

    Returns:
        Mean, lower end, upper end.

    Examples:
        >>> [round(value, 3) for value in t_interval([1.0, 2.0, 3.0])]
        [2.0, -0.484, 4.484]
    """
    from scipy import stats

    data = np.asarray(values, float)
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(data) - 1) * data.std(ddof=1) / np.sqrt(len(data))
    return float(data.mean()), float(data.mean() - half), float(data.mean() + half)


def mean_row(figure: str, series: str, x: float | str, values: Sequence[float]) -> FigureRow:
    """Return the row of a mean: with a 95% t-interval of several values, without an interval of one."""
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


def compare(first: FigureRow, second: FigureRow) -> Literal["higher", "lower", "unclear"]:
    """Return whether the first value is clearly higher or lower than the second: their intervals do not overlap.

    A value without an interval is exact, as that of raw pixels. Of two of them each may be that of a single training,
    so that nothing is clear.
    """
    if first.low is None and second.low is None:
        return "unclear"
    (first_low, first_high), (second_low, second_high) = _ends(first), _ends(second)
    if first_low > second_high:
        return "higher"
    return "lower" if first_high < second_low else "unclear"


def caveat(first: FigureRow, second: FigureRow, form: str) -> str:
    """Return what is to be said after two values that do not differ clearly; "" after others.

    Args:
        first: One value.
        second: The other.
        form: Format of numbers, as in "{:.1%}".

    Examples:
        >>> row = FigureRow(figure="", series="", x=0, y=2.0, low=1.0, high=3.0, n=3)
        >>> caveat(row, row, "{:.0f}°")
        ' (no clear difference: the 95% intervals, 1° to 3° and 1° to 3°, overlap)'
    """
    if compare(first, second) != "unclear":
        return ""
    if first.low is None and second.low is None:
        return " (one training each: the difference may be chance)"
    ends = [" to ".join(form.format(end) for end in _ends(row)) for row in (first, second) if row.low is not None]
    if len(ends) == 1:
        return f" (no clear difference: the 95% interval, {ends[0]}, holds both)"
    return f" (no clear difference: the 95% intervals, {' and '.join(ends)}, overlap)"


def ties(best: FigureRow, others: Sequence[FigureRow]) -> list[FigureRow]:
    """Return the rows whose values do not differ clearly from the best; none of them is the best itself."""
    return [row for row in others if row is not best and compare(best, row) == "unclear"]


def named_best(best: FigureRow, others: Sequence[FigureRow]) -> str:
    """Return the name (x) of the best row, and to which others it has no clear difference."""
    tied = [str(row.x) for row in ties(best, others)]
    return f"{best.x}, without a clear difference to {' and '.join(tied)}" if tied else str(best.x)


def _ends(row: FigureRow) -> tuple[float, float]:
    return (row.y if row.low is None else row.low), (row.y if row.high is None else row.high)
