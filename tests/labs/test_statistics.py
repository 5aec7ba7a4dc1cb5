"""Means with intervals, against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats

from dmlviz.labs.lab import FigureRow
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.registry import LABS
from dmlviz.labs.statistics import caveat, compare, mean_row, mean_rows, named_best, t_interval, ties


@pytest.mark.parametrize("count", [2, 3, 10])
def test_the_interval_is_that_of_scipy(count):
    values = np.random.default_rng(count).normal(size=count)
    mean, low, high = t_interval(values.tolist())
    expected = stats.t.interval(0.95, count - 1, loc=values.mean(), scale=stats.sem(values))
    assert mean == pytest.approx(values.mean())
    assert (low, high) == pytest.approx(expected)


def test_the_interval_covers_the_true_mean_in_19_of_20_samples():
    rng = np.random.default_rng(0)
    intervals = [t_interval(rng.normal(3, 2, 5).tolist()) for _ in range(2000)]
    assert np.mean([low < 3 < high for _, low, high in intervals]) == pytest.approx(0.95, abs=0.015)


def test_one_value_has_no_interval():
    row = mean_row("f", "s", 1, [0.5])
    assert (row.y, row.low, row.high, row.n) == (0.5, None, None, 1)


def test_rows_are_sorted_by_number_and_leave_nothing_known_out():
    rows = mean_rows("f", "s", [(10, 1.0), (2, 4.0), (10, 3.0), (2, None)])
    assert [(row.x, row.y, row.n) for row in rows] == [(2, 4.0, 1), (10, 2.0, 2)]
    assert [row.x for row in mean_rows("f", "s", [("b", 1.0), ("a", 2.0)])] == ["b", "a"]


def row(y, low=None, high=None, x="a"):
    return FigureRow(figure="f", series="s", x=x, y=y, low=low, high=high, n=1 if low is None else 3)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (row(3, 2, 4), row(1, 0, 1.9), "higher"),
        (row(1, 0, 1.9), row(3, 2, 4), "lower"),
        (row(3, 2, 4), row(1, 0, 2), "unclear"),  # they touch
        (row(3, 2, 4), row(1), "higher"),  # pixels are exact
        (row(3, 2, 4), row(2.5), "unclear"),
        (row(3), row(1), "unclear"),  # one training each
    ],
)
def test_values_differ_clearly_when_their_intervals_do_not_overlap(first, second, expected):
    assert compare(first, second) == expected
    assert bool(caveat(first, second, "{:.0f}")) == (expected == "unclear")


def test_what_is_not_clear_is_said_with_its_reason():
    wide, narrow = row(0.7, 0.5, 0.9), row(0.6, 0.55, 0.65)
    assert caveat(wide, narrow, "{:.0%}").endswith("intervals, 50% to 90% and 55% to 65%, overlap)")
    assert caveat(wide, row(0.6), "{:.0%}").endswith("interval, 50% to 90%, holds both)")
    assert caveat(row(0.7), row(0.6), "{:.0%}") == " (one training each: the difference may be chance)"


def test_the_best_is_named_with_those_that_tie_with_it():
    best, tied, worse = row(0.9, 0.8, 1, "x"), row(0.7, 0.6, 0.85, "y"), row(0.5, 0.4, 0.6, "z")
    assert ties(best, [best, tied, worse]) == [tied]
    assert named_best(best, [best, tied, worse]) == "x, without a clear difference to y"
    assert named_best(best, [best, worse]) == "x"


def test_intervals_end_at_what_is_possible():
    assert row(0.9, 0.7, 1.1).within((0, 1)) == row(0.9, 0.7, 1)
    assert row(0.9).within((0, 1)) == row(0.9)


@pytest.mark.parametrize("name", [name for name in LABS if ready_made(name) is not None])
def test_no_ready_made_interval_reaches_beyond_what_is_possible(name):
    lab, bounds = LABS[name], {spec.name: spec.bounds for spec in LABS[name].figures}
    for one in lab.rows(ready_made(name).results()):
        if one.low is not None and name != "reality-check":  # in % with all intervals far from both ends
            assert bounds[one.figure] is not None, one.figure
            assert bounds[one.figure][0] <= one.low <= one.y <= one.high <= bounds[one.figure][1], one
