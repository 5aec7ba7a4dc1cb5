"""The Poincaré ball against its formulas: distances, the maps at the center, means, geodesics, isometries, the rim."""

import math

import pytest
import torch

from dmlviz.errors import UserError
from dmlviz.ops.spaces import SPACES, Plane, PoincareBall, space

CURVATURES = (0.1, 1.0, 4.0)


def cloud(seed, n=12, d=2, spread=0.8):
    return spread * torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def moebius(x, y, c):
    """x ⊕ y of two points of the ball (Ungar 2008)."""
    xy, xx, yy = (x * y).sum(), (x * x).sum(), (y * y).sum()
    return ((1 + 2 * c * xy + c * yy) * x + (1 - c * xx) * y) / (1 + 2 * c * xy + c * c * xx * yy)


@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_distances_are_those_of_the_moebius_sum(curvature, d):
    ball, x = PoincareBall(curvature), cloud(d, d=d)
    z = ball.drawn(x)
    root = math.sqrt(curvature)
    expected = [[2 / root * math.atanh(root * moebius(-a, b, curvature).norm()) for b in z] for a in z]
    assert torch.allclose(ball.distances(x), torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("curvature", CURVATURES)
def test_the_distance_to_the_center_is_2_artanh_r_and_twice_the_length(curvature):
    ball, x = PoincareBall(curvature), cloud(1)
    root, center = math.sqrt(curvature), torch.zeros(1, 2, dtype=torch.float64)
    found = ball.distances(torch.cat([center, x]))[0, 1:]
    assert torch.allclose(found, 2 / root * torch.atanh(root * ball.drawn(x).norm(dim=1)))
    assert torch.allclose(found, 2 * x.norm(dim=1))
    assert torch.allclose(ball.rows(ball.drawn(x)), x)


def test_moving_the_whole_ball_changes_no_distance_and_takes_mean_and_line_along():
    ball, x = PoincareBall(), cloud(2)
    by = torch.tensor([0.5, -0.3], dtype=torch.float64)

    def moved(rows):
        return ball.rows(torch.stack([moebius(by, point, 1.0) for point in ball.drawn(rows)]))

    assert torch.allclose(ball.distances(moved(x)), ball.distances(x))
    assert torch.allclose(ball.mean(moved(x)), moved(ball.mean(x)[None])[0])
    assert torch.allclose(ball.line(*moved(x[:2]), 9), moved(ball.line(x[0], x[1], 9)))


@pytest.mark.parametrize("given", [Plane(), *map(PoincareBall, CURVATURES)], ids=["plane", "c .1", "c 1", "c 4"])
def test_a_line_goes_from_end_to_end_in_equal_parts_of_the_shortest_way_and_the_mean_of_two_is_its_middle(given):
    start, end = cloud(3, n=2)
    line = given.line(start, end, 9)
    assert torch.allclose(line[[0, -1]], torch.stack([start, end]))
    whole = given.distances(torch.stack([start, end]))[0, 1]
    assert torch.allclose(given.distances(line)[0], whole * torch.linspace(0, 1, 9, dtype=torch.float64))
    assert torch.allclose(given.mean(torch.stack([start, end])), line[4])
    assert torch.allclose(given.line(start, start, 3), start.expand(3, -1))


def test_a_geodesic_is_an_arc_that_meets_the_rim_at_right_angles():
    ball = PoincareBall()
    z = ball.drawn(ball.line(*cloud(4, n=2), 20))
    # (x − m)² = m² − 1 for all points of it: 2 m·x = x² + 1
    middle = torch.linalg.lstsq(2 * z, z.square().sum(dim=1) + 1).solution
    assert torch.allclose(2 * z @ middle, z.square().sum(dim=1) + 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_the_rim_at_the_center_and_between_equal_points_all_is_finite(dtype):
    ball = PoincareBall()
    x = torch.tensor([[1e4, 0], [1e4, 1e-3], [0, 0], [0, 0], [1e-12, 0], [8, 0], [-8, 0]], dtype=dtype)
    x.requires_grad_()
    d, z = ball.distances(x), ball.drawn(x)
    assert d.diagonal().eq(0).all()
    assert d[2, 3] == 0
    assert d.detach().max().item() == pytest.approx(4 * ball.radius, rel=1e-5)
    assert (z.norm(dim=1) < 1).all()
    (first,) = torch.autograd.grad(d.sum() + z.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert torch.isfinite(torch.cat([first, second, ball.mean(x)[None]])).all()
    line = ball.line(x[5], x[6], 5).detach()
    assert torch.allclose(line[:, 0], torch.tensor([8.0, 4, 0, -4, -8], dtype=dtype), atol=1e-4)


def test_gradients_and_second_derivatives_are_those_of_differences():
    ball, x = PoincareBall(0.5), cloud(5, n=4).requires_grad_()
    for function in (ball.distances, ball.drawn, ball.mean):
        assert torch.autograd.gradcheck(function, x)
        assert torch.autograd.gradgradcheck(function, x)


def test_what_is_no_ball_no_point_of_it_and_no_space_is_refused():
    for arguments in ((0.0,), (-1.0,), (math.inf,), (math.nan,)):
        with pytest.raises(UserError, match="curvature of a Poincaré ball is positive"):
            PoincareBall(*arguments)
    with pytest.raises(UserError, match="up to 8 with a curvature of 1; got 9"):
        PoincareBall(1.0, 9.0)
    with pytest.raises(UserError, match="nearer than 1 to its center"):
        PoincareBall().rows(torch.tensor([[1.0, 0.0]]))
    with pytest.raises(UserError, match="poincare"):
        space("poincaré")
    assert space("poincare") is SPACES["poincare"]
