"""Means with intervals, against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats

from dmlviz.labs.statistics import mean_row, mean_rows, t_interval


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
