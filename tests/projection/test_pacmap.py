"""PaCMAP and LocalMAP against their papers: pairs by brute force, gradients by the slope of the loss in plain loops."""

import numpy as np
import pytest

from dmlviz.config import ProjectionConfig
from dmlviz.ops.neighbor_index import exact_table
from dmlviz.projection import out_of_sample, pacmap, project
from dmlviz.projection.threads import Helpers

POINTS = np.random.default_rng(0).standard_normal((90, 5)).astype(np.float32) ** 3  # of uneven density
PAIRS = pacmap.choose_pairs(POINTS, exact_table(POINTS, 60), 10, 0.5, 2.0, 3)
D = np.linalg.norm(POINTS[:, None].astype(float) - POINTS, axis=2)


def test_neighbors_are_nearest_by_the_distance_scaled_with_that_to_the_fourth_to_sixth_neighbor():
    ordered = np.sort(D, axis=1)  # the point itself comes first
    for i in range(90):
        candidates = np.argsort(D[i])[1:61]
        scaled = [D[i, j] ** 2 / (ordered[i, 4:7].mean() * ordered[j, 4:7].mean()) for j in candidates]
        assert set(PAIRS.near[i]) == set(candidates[np.argsort(scaled)[:10]])
    assert (np.sort(PAIRS.near) != np.sort(np.argsort(D)[:, 1:11])).any()


def test_mid_near_points_are_the_second_nearest_of_six():
    assert PAIRS.mid.shape == (90, 5)
    order = np.argsort(np.argsort(D, axis=1), axis=1) / 89  # 0 is the point itself
    ranks = np.take_along_axis(order, PAIRS.mid, axis=1)
    assert ranks.min() > 1 / 89  # never itself nor its nearest
    assert ranks.mean() == pytest.approx(2 / 7, abs=0.02)  # of the second smallest of six numbers from 0 to 1
    assert all(len(set(row)) == 5 for row in PAIRS.mid)


def test_further_points_are_others_that_are_no_neighbors_and_all_come_up_alike():
    assert PAIRS.further.shape == (90, 20)
    for i in range(90):
        assert not {i, *PAIRS.near[i]} & set(PAIRS.further[i])
        assert len(set(PAIRS.further[i])) == 20
    assert np.bincount(PAIRS.further.ravel(), minlength=90).min() > 8


def loss(y: np.ndarray, weights: tuple[float, float, float], near_loss) -> float:
    """The sum over all pairs, as equation 1 of the paper has it."""
    total = 0.0
    for weight, pairs, of in zip(
        weights, PAIRS, (near_loss, lambda d: d / (10_000 + d), lambda d: 1 / (1 + d)), strict=True
    ):
        for i, row in enumerate(pairs):
            for j in row:
                total += weight * of(1 + ((y[i] - y[j]) ** 2).sum())
    return total


def near_of_localmap(d: float) -> float:
    """The integral of 5/√x times the slope of x / (10 + x) from 0 to d, by Simpson's rule in √x."""
    root = np.linspace(0, np.sqrt(d), 201)
    slope = 100 / (10 + root**2) ** 2
    return float((root[1] / 3) * (slope[0] + 4 * slope[1:-1:2].sum() + 2 * slope[2:-1:2].sum() + slope[-1]))


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize(
    ("iteration", "weights", "is_local"),
    [
        (0, (2, 1000, 1), False),
        (50, (2, 501.5, 1), False),
        (100, (3, 3, 1), True),
        (200, (1, 0, 1), False),
        (449, (1, 0, 1), True),
    ],
)
def test_gradients_are_the_slopes_of_the_loss(iteration, weights, is_local, dims, is_compiled, monkeypatch):
    if not is_compiled:
        monkeypatch.setattr(pacmap, "compiled", lambda load: None)
    y = 3 * np.random.default_rng(1).standard_normal((90, dims))
    with Helpers() as helpers:
        forces = pacmap.Forces(PAIRS, 450, 0, is_local, helpers)
        gradient = forces.gradient(np.ascontiguousarray(y.T, np.float32), iteration).T
    near_loss = near_of_localmap if is_local and iteration >= 200 else lambda d: d / (10 + d)
    for i, axis in ((0, 0), (17, 1), (80, dims - 1)):
        ends = []
        for step in (-1e-3, 1e-3):
            moved = y.copy()
            moved[i, axis] += step
            ends.append(loss(moved, weights, near_loss))
        assert gradient[i, axis] == pytest.approx((ends[1] - ends[0]) / 2e-3, rel=2e-3, abs=1e-4)


@pytest.mark.parametrize("is_compiled", [True, False])
def test_further_points_of_localmap_are_drawn_anew_from_those_within_reach(is_compiled, monkeypatch):
    if not is_compiled:
        monkeypatch.setattr(pacmap, "compiled", lambda load: None)
    y = np.ascontiguousarray(12 * np.random.default_rng(2).standard_normal((2, 90)), np.float32)
    with Helpers() as helpers:
        forces = pacmap.Forces(PAIRS, 450, 0, True, helpers)
        drawn = forces._nearby(y, 210)
        assert (forces._nearby(y, 220) != drawn).any()
    apart = np.linalg.norm(y.T[:, None] - y.T, axis=2)
    met = 0
    for i in range(90):
        nearby = set(np.flatnonzero(apart[i] <= 10)) - {i, *PAIRS.near[i]}
        count = min(20, len(nearby))
        assert set(drawn[i, :count]) <= nearby
        assert len(set(drawn[i, :count])) == count
        assert (drawn[i, count:] == PAIRS.further[i, count:]).all()
        met += count
    assert met > 500


def test_adam_steps_as_kingma_and_ba_write_it():
    y = np.ascontiguousarray(np.random.default_rng(4).standard_normal((2, 90)), np.float32)
    expected, mean, square = y.astype(float), 0.0, 0.0
    moments = np.zeros((2, *y.shape), np.float32)
    with Helpers() as helpers:
        forces = pacmap.Forces(PAIRS, 450, 0, False, helpers)
        for t in range(1, 6):
            gradient = forces.gradient(y, t - 1).astype(float)
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
            expected = y - (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-7)
            y = forces.step(y, moments, t - 1, 1.0)
            np.testing.assert_allclose(
                y, expected, atol=5e-3
            )  # where a gradient changes its sign, small numbers differ


@pytest.mark.parametrize("is_local", [False, True])
def test_the_slope_of_a_new_points_loss_is_right(is_local):
    low_dim = 5 * np.random.default_rng(5).standard_normal((200, 2))
    neighbors = np.arange(20).reshape(2, 10)
    objective = out_of_sample._pacmap_objective(low_dim, neighbors, 20, is_local)
    y, rows = np.array([[1.0, -2.0], [0.3, 4.0]]), slice(0, 2)
    around = (np.stack([low_dim, low_dim]), np.ones((2, 200)))
    _, gradient = objective(y, rows, around)
    for axis in range(2):
        step = np.eye(2)[axis] * 1e-5
        low, high = (objective(y + side * step, rows, around)[0] for side in (-1, 1))
        np.testing.assert_allclose(gradient[:, axis], (high - low) / 2e-5, rtol=1e-3, atol=1e-5)


def test_localmap_keeps_more_neighbors_than_pacmap(digits):
    """The purpose of the local adjustment: false neighbors pull less."""
    kept = {
        m: project(digits[0], ProjectionConfig(method=m)).quality.overall["neighbors_kept"]
        for m in ("pacmap", "localmap")
    }
    assert kept["localmap"] > kept["pacmap"] + 0.01


def test_more_than_a_hundred_dimensions_are_drawn_by_their_first_components():
    random = np.random.default_rng(0)
    plane = random.standard_normal((200, 3)) @ random.standard_normal((3, 300)) + 0.01 * random.standard_normal(
        (200, 300)
    )
    drawn = project(plane, ProjectionConfig(method="pacmap"))
    assert drawn.quality.overall["trustworthiness"] > 0.95
    assert drawn.place(plane[:3] * 1.001).shape == (3, 2)
