"""Distances are exact, and gradients finite."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from dmlviz.errors import UserError
from dmlviz.ops import pairwise, reductions

torch.set_num_threads(1)
EACH_KIND = pytest.mark.parametrize("kind", pairwise.DISTANCES)


def points(n=9, d=5, seed=0, dtype=torch.float64):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def plain(x, y, kind):
    if kind == "cosine":
        return 1 - torch.nn.functional.cosine_similarity(x[:, None], y, dim=2)
    distance = (x[:, None] - y).square().sum(dim=2).sqrt()
    return distance**2 if kind == "sqeuclidean" else distance


@EACH_KIND
def test_distances_equal_direct_differences(kind):
    x, y = points(), points(n=4, seed=1)
    torch.testing.assert_close(pairwise.cross_distance(x, y, kind), plain(x, y, kind), rtol=1e-12, atol=1e-12)
    expected = plain(x, x, kind).fill_diagonal_(0)
    torch.testing.assert_close(pairwise.distance_matrix(x, kind), expected, rtol=1e-12, atol=1e-12)


@EACH_KIND
def test_gradients_are_those_of_finite_differences(kind):
    x, y = points().requires_grad_(), points(n=4, seed=1).requires_grad_()
    assert gradcheck(lambda x: pairwise.distance_matrix(x, kind), x)
    assert gradcheck(lambda x, y: pairwise.cross_distance(x, y, kind), (x, y))
    assert gradcheck(lambda x: pairwise.safe_norm(x), x)


@EACH_KIND
def test_a_point_is_at_no_distance_from_itself(kind):
    for dtype in (torch.float32, torch.float64):
        assert torch.equal(
            pairwise.distance_matrix(100 + points(50, 7, dtype=dtype), kind).diagonal(), torch.zeros(50, dtype=dtype)
        )


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 64), size=st.sampled_from([1e-2, 1.0, 10.0]))
def test_distances_survive_an_offset_of_100(seed, d, size):
    x = (100 + size * points(20, d, seed)).float()
    near = x[0].clone()
    near[0] += 1e-3
    x = torch.cat([x, near[None]])
    exact = plain(x.double(), x.double(), "euclidean")
    torch.testing.assert_close(pairwise.distance_matrix(x).double(), exact, rtol=1e-6, atol=1e-5)


def test_coincident_points_have_distance_and_gradient_zero():
    x = points(6, dtype=torch.float32)
    x[3] = x[1]
    x.requires_grad_()
    distance = pairwise.distance_matrix(x)
    assert distance[1, 3] == distance[3, 1] == 0
    distance[1, 3].backward()
    assert torch.equal(x.grad, torch.zeros_like(x))
    proxy = x.detach()[:1].clone().requires_grad_()
    pairwise.cross_distance(x, proxy)[0, 0].backward()
    assert torch.equal(proxy.grad, torch.zeros_like(proxy))


def test_forces_on_near_points_have_their_true_direction():
    x = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1e-3, 0.0], [-3.0, 2.0, 5.0]], requires_grad=True)
    pairwise.distance_matrix(x)[0, 1].backward()
    torch.testing.assert_close(x.grad[0], torch.tensor([0.0, -1.0, 0.0]), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("apart", [1e-4, 1e-6])
@pytest.mark.parametrize("far", [1e3, 1e4, 1e5])
def test_a_far_point_does_not_make_near_ones_coincide(far, apart, dtype):
    near = torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=dtype) * apart / 5
    x = torch.cat([near, torch.tensor([[far, -far]], dtype=dtype)]).requires_grad_()
    proxies = x.detach().clone().requires_grad_()
    direction = torch.tensor([-0.6, -0.8], dtype=dtype)
    for distance, leaf in ((pairwise.distance_matrix(x), x), (pairwise.cross_distance(x.detach(), proxies), proxies)):
        torch.testing.assert_close(distance[0, 1].item(), apart, rtol=1e-6, atol=0)
        torch.testing.assert_close(distance[0, 2].item(), far * 2**0.5, rtol=1e-6, atol=0)
        distance[0, 1].backward()
        torch.testing.assert_close(leaf.grad[1], -direction, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(x.grad[0], direction, rtol=1e-3, atol=1e-3)
    squared = pairwise.distance_matrix(x, "sqeuclidean")[0, 1]
    torch.testing.assert_close(squared.item(), apart**2, rtol=1e-6, atol=0)


@pytest.mark.slow
@EACH_KIND
def test_second_derivatives_are_those_of_finite_differences(kind):
    x, y = points(6, 3).requires_grad_(), points(4, 3, seed=1).requires_grad_()
    assert gradgradcheck(lambda x: pairwise.distance_matrix(x, kind), x)
    assert gradgradcheck(lambda x, y: pairwise.cross_distance(x, y, kind), (x, y))


def test_the_softmax_and_directions_at_any_size_have_second_derivatives():
    mask = torch.tensor([[True, True, False, True], [True, False, True, True], [False] * 4])
    values = points(3, 4).requires_grad_()
    assert gradgradcheck(lambda v: reductions.masked_logsumexp(v, mask), values)
    assert gradgradcheck(lambda v: reductions.masked_logsumexp(v, mask, 0), values)
    x = points(4).requires_grad_()
    assert gradgradcheck(pairwise.l2_normalize, x)
    # As the direction does not change with the size, its n-th derivatives fall with the n-th power of it.
    first, second = (_of_penalty(scale) for scale in (1.0, 1e-18))
    torch.testing.assert_close(first, second * 1e-18**3, rtol=1e-4, atol=0)


def _of_penalty(scale):
    x = (scale * points(4)).requires_grad_()
    (gradient,) = torch.autograd.grad(pairwise.l2_normalize(x)[:, 0].sum(), x, create_graph=True)
    return torch.autograd.grad(gradient.square().sum(), x)[0]


@EACH_KIND
@pytest.mark.parametrize("size", [0.0, 1e-20, 1e20])
def test_gradients_are_finite_at_any_size(kind, size):
    x = (size * points(8, dtype=torch.float32)).requires_grad_()
    distance = pairwise.distance_matrix(x, kind)
    assert distance.isfinite().all()
    distance.sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("size", [1e-25, 1e-3, 1.0, 1e25])
def test_directions_have_length_one_at_any_size(size):
    x = (size * points(8)).float()
    torch.testing.assert_close(pairwise.l2_normalize(x), torch.nn.functional.normalize(points(8)).float())
    torch.testing.assert_close(pairwise.cosine_matrix(x).diagonal(), torch.ones(8))


def test_a_zero_row_has_no_direction_and_can_leave():
    x = torch.zeros(2, 3, requires_grad=True)
    assert torch.equal(pairwise.l2_normalize(x), torch.zeros(2, 3))
    pairwise.l2_normalize(x).sum().backward()
    assert torch.equal(x.grad, torch.ones(2, 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(dtype):
    x = points(dtype=torch.float32).to(dtype)
    for compute in (pairwise.distance_matrix, pairwise.cosine_matrix, pairwise.l2_normalize, pairwise.safe_norm):
        assert torch.equal(compute(x), compute(x.float()))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(compute(x), compute(x.float()))


def test_gradients_too_large_for_half_precision_saturate():
    x = torch.full((1, 1), 2.0, dtype=torch.float16, requires_grad=True)
    (pairwise.upcast_half(x) * 1e6).sum().backward()
    assert x.grad.item() == torch.finfo(torch.float16).max


def test_points_and_proxies_may_differ_in_precision():
    x, proxies = points(dtype=torch.float32).half().requires_grad_(), points(n=4, seed=1).requires_grad_()
    distance = pairwise.cross_distance(x, proxies)
    assert distance.dtype == torch.float64
    distance.sum().backward()
    assert x.grad.dtype == torch.float16
    assert proxies.grad.dtype == torch.float64


def test_nan_stays_nan():
    x = points()
    x[2, 1] = torch.nan
    assert pairwise.distance_matrix(x)[0, 1].isnan()
    assert pairwise.cosine_matrix(x)[2, 0].isnan()


@EACH_KIND
def test_no_points_no_distances(kind):
    x = torch.zeros(0, 3, requires_grad=True)
    assert pairwise.distance_matrix(x, kind).shape == (0, 0)
    assert pairwise.cross_distance(x, points(2, 3), kind).shape == (0, 2)
    pairwise.distance_matrix(x, kind).sum().backward()


def test_an_unknown_distance_is_named():
    with pytest.raises(UserError, match="one of euclidean, sqeuclidean, cosine; got 'manhattan'"):
        pairwise.distance_matrix(points(), "manhattan")


def test_backward_keeps_the_points_and_one_matrix():
    kept = []
    x = points(100, 10, dtype=torch.float32).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        pairwise.distance_matrix(x)
    assert sum(kept) <= 100 * 100 + 3 * 100 * 10


# Reductions


def test_reductions_count_what_is_selected():
    values = torch.tensor([[1.0, 0.0], [5.0, -2.0]])
    mask = torch.tensor([[True, True], [False, True]])
    assert reductions.reduce(values, mask, "mean") == pytest.approx(-1 / 3)
    assert reductions.reduce(values, mask, "nonzero") == -0.5
    assert reductions.reduce(values, mask, "sum") == -1.0
    assert reductions.reduce(values, mask, "none").tolist() == [1.0, 0.0, -2.0]
    assert reductions.masked_max(values, mask).tolist() == [1.0, -2.0]
    assert reductions.masked_min(values, mask).tolist() == [0.0, -2.0]
    torch.testing.assert_close(reductions.masked_logsumexp(values, mask)[0], values[0].logsumexp(0))
    with pytest.raises(UserError, match="mean, nonzero, sum, none; got 'median'"):
        reductions.reduce(values, mask, "median")


@pytest.mark.parametrize("reduction", ["mean", "nonzero", "sum"])
def test_nothing_selected_is_zero_with_a_graph_and_nan_is_nan(reduction):
    values = torch.tensor([1.0, torch.nan], requires_grad=True)
    nothing = reductions.reduce(values, torch.tensor([False, False]), reduction)
    assert nothing == 0
    nothing.backward()
    assert torch.equal(values.grad, torch.zeros(2))
    assert reductions.reduce(values, torch.tensor([True, False]), reduction) == 1
    assert reductions.reduce(values, torch.tensor([True, True]), reduction).isnan()


def test_extremes_of_nothing_stay_finite_and_without_gradient():
    values = points(2, 3).requires_grad_()
    nothing = torch.zeros(2, 3, dtype=torch.bool)
    for compute in (reductions.masked_max, reductions.masked_min, reductions.masked_logsumexp):
        extreme = compute(values, nothing)
        assert (extreme - 2 * extreme).isfinite().all()
        assert extreme.abs().min() > 1e30
        (gradient,) = torch.autograd.grad(extreme.sum(), values)
        assert torch.equal(gradient, torch.zeros_like(gradient))
        assert compute(points(2, 3)[:, :0], nothing[:, :0]).shape == (2,)


def test_softplus_is_exact_at_both_ends():
    x = torch.tensor([-300.0, -30.0, 0.0, 25.0, 39.0, 300.0], dtype=torch.float64)
    exact = torch.logaddexp(x, torch.zeros_like(x))
    torch.testing.assert_close(reductions.softplus(x), exact, rtol=1e-15, atol=0)


def test_safe_sqrt_has_no_infinite_slope():
    x = torch.tensor([-1e-9, 0.0, 4.0], requires_grad=True)
    assert pairwise.safe_sqrt(x).tolist() == [0.0, 0.0, 2.0]
    pairwise.safe_sqrt(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.25]
