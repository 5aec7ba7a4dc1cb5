import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.manifold import TSNE, trustworthiness
from sklearn.manifold._utils import _binary_search_perplexity

from dmlviz.config import ProjectionConfig
from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.projection import project
from dmlviz.projection.affinities import conditional_probabilities, joint_probabilities, prune
from dmlviz.projection.attraction import Attraction
from dmlviz.projection.euclidean_form import prepare
from dmlviz.projection.repulsion import FFTRepulsion, exact_repulsion

SHORT = ProjectionConfig(method="tsne", params={"iterations": 100})


def divergence(points, places, perplexity=30.0):
    """KL(P ‖ Q) over all pairs, P from 3 × perplexity neighbors."""
    squared, found = EuclideanSearch(prepare(points, "euclidean")).others(int(3 * perplexity))
    p = joint_probabilities(conditional_probabilities(squared, perplexity), found).toarray()
    q = 1 / (1 + np.square(places[:, None].astype(np.float64) - places[None]).sum(axis=2))
    np.fill_diagonal(q, 0)
    q /= q.sum()
    some = p > 0
    return float((p[some] * np.log(p[some] / q[some])).sum())


@pytest.fixture(scope="module")
def drawn(digits):
    return project(digits[0], ProjectionConfig(method="tsne"))


@pytest.mark.slow
def test_the_map_is_as_good_as_scikit_learns(digits, drawn):
    theirs = TSNE(random_state=0).fit_transform(digits[0])
    assert divergence(digits[0], drawn.coordinates) <= 1.02 * divergence(digits[0], theirs)
    ours_kept, theirs_kept = (trustworthiness(digits[0], y, n_neighbors=10) for y in (drawn.coordinates, theirs))
    assert ours_kept >= theirs_kept - 0.005


def test_the_error_is_the_divergence_over_all_pairs(digits, drawn):
    assert drawn.error == pytest.approx(divergence(digits[0], drawn.coordinates), rel=0.01)


def test_a_start_is_taken_and_a_finished_map_stays_as_good(digits, drawn):
    shifted = drawn.coordinates + np.float32([5, -3])
    shown = []
    again = project(digits[0], SHORT, lambda *frame: shown.append(frame) and None, start=shifted)
    assert (shown[0][3] == shifted).all()
    assert again.error < 1.005 * drawn.error  # on the plateau, rounding says which of the two is lower
    moved = again.coordinates - drawn.coordinates
    assert np.median(np.linalg.norm(moved - moved.mean(axis=0), axis=1)) < 0.1 * np.ptp(drawn.coordinates)


def test_cosine_sees_directions_only(digits):
    config = SHORT.replace(params={"iterations": 100, "metric": "cosine"})
    lengths = np.random.default_rng(0).uniform(0.5, 2, (700, 1)).astype(np.float32)
    unit = digits[0] / np.linalg.norm(digits[0], axis=1, keepdims=True)
    np.testing.assert_allclose(project(unit, config).error, project(unit * lengths, config).error, rtol=0.05)


def test_torch_tensors_and_half_precision_are_taken(digits):
    halves = torch.from_numpy(digits[0]).half()
    assert (project(halves, SHORT).coordinates == project(halves.float().numpy(), SHORT).coordinates).all()


def test_affinities_equal_scikit_learns(digits):
    squared, _ = EuclideanSearch(digits[0]).others(60)
    theirs = _binary_search_perplexity(squared, 20.0, 0)
    np.testing.assert_allclose(conditional_probabilities(squared, 20), theirs, atol=1e-5)


@pytest.mark.parametrize("perplexity", [2, 20, 55])
def test_every_row_of_affinities_has_the_perplexity(digits, perplexity):
    p = conditional_probabilities(EuclideanSearch(digits[0]).others(60)[0], perplexity)
    np.testing.assert_allclose(np.exp(-(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)), perplexity, rtol=1e-4)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_affinities_of_equal_points_are_even():
    p = conditional_probabilities(np.zeros((3, 10), np.float32), 5)
    np.testing.assert_allclose(p, 0.1)


def test_joint_affinities_are_symmetric_and_sum_to_1(digits):
    squared, found = EuclideanSearch(digits[0]).others(60)
    p = joint_probabilities(conditional_probabilities(squared, 20), found).toarray()
    np.testing.assert_allclose(p, p.T)
    assert p.sum() == pytest.approx(1)
    assert (np.diag(p) == 0).all()


def test_the_heaviest_affinities_hold_their_share_and_are_the_heaviest(digits):
    squared, found = EuclideanSearch(digits[0]).others(60)
    whole = joint_probabilities(conditional_probabilities(squared, 20), found)
    part = prune(whole, 0.9)
    kept = whole.toarray()[part.toarray() > 0]
    left = whole.data[whole.data < kept.min()]
    assert 0.9 <= kept.sum() < 0.91
    assert len(kept) + len(left) == whole.nnz
    assert part.sum() == pytest.approx(1)


def naive_attraction(p, y):
    apart = y[:, None] - y[None]
    return (p[:, :, None] * apart / (1 + np.square(apart).sum(axis=2, keepdims=True))).sum(axis=1)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize(("n", "few", "together"), [(3, 512, 8192), (40, 8, 8192), (200, 1, 30), (200, 90, 30)])
def test_attraction_equals_the_naive_sum(n, dims, few, together, monkeypatch):
    monkeypatch.setattr("dmlviz.projection.attraction._MIN_DEGREE", few)
    monkeypatch.setattr("dmlviz.projection.attraction._SEGMENTS", together)
    rng = np.random.default_rng(n)
    crowded = rng.random(n) ** 3  # a few points have nearly all others as neighbors, most of them few, one has none
    dense = np.where(rng.random((n, n)) < np.add.outer(crowded, crowded) / 2, rng.random((n, n)), 0)
    dense = np.triu(dense, 1) + np.triu(dense, 1).T
    dense[-1] = dense[:, -1] = 0
    dense[0, 1] = dense[1, 0] = 0.5
    dense /= dense.sum()
    y = rng.standard_normal((n, dims)) * 3
    attraction = Attraction(csr_matrix(dense))
    at = torch.from_numpy(y.T.astype(np.float32))
    np.testing.assert_allclose(attraction(at).T, naive_attraction(dense, y), atol=1e-6)
    p = dense[dense > 0]
    logs = np.log1p(np.square(y[:, None] - y[None]).sum(axis=2))
    assert attraction.cross_entropy(at) == pytest.approx((dense * logs).sum(), rel=1e-5)
    assert attraction.entropy == pytest.approx(-(p * np.log(p)).sum(), rel=1e-5)


def naive_repulsion(y):
    apart = y[:, None] - y[None]
    closeness = 1 / (1 + np.square(apart).sum(axis=2, keepdims=True))
    return closeness.sum() - len(y), (apart * closeness**2).sum(axis=1)


@pytest.mark.parametrize("dims", [2, 3])
def test_exact_repulsion_equals_the_naive_sum(dims):
    y = np.random.default_rng(0).standard_normal((345, dims)) * 10
    total, push = exact_repulsion(torch.from_numpy(y.T.astype(np.float32)))
    expected_total, expected_push = naive_repulsion(y)
    assert float(total) == pytest.approx(expected_total, rel=1e-5)
    np.testing.assert_allclose(push.T, expected_push, atol=1e-4)


@pytest.mark.parametrize(("dims", "width"), [(2, 0.1), (2, 1), (2, 12), (3, 0.1), (3, 1), (3, 4)])
@pytest.mark.parametrize(("spacing", "off"), [(0.5, 0.06), (0.3, 0.01)])
def test_the_field_comes_close_to_the_exact_repulsion(dims, spacing, off, width):
    y = torch.randn(dims, 1500, generator=torch.Generator().manual_seed(0)) * width
    total, push = FFTRepulsion(dims, spacing)(y)
    expected_total, expected_push = exact_repulsion(y)
    assert float(total) == pytest.approx(float(expected_total), rel=1e-3)
    assert float((push - expected_push).norm()) < off * float(expected_push.norm())


def test_a_field_serves_a_map_that_grows_and_shrinks():
    field = FFTRepulsion(2, 0.5)
    y = torch.randn(2, 1000, generator=torch.Generator().manual_seed(0))
    for width in (1e-4, 0.1, 20, 3, 60):
        total, push = field(y * width)
        assert float(total) == pytest.approx(float(exact_repulsion(y * width)[0]), rel=1e-3)
        assert push.sum(1).abs().max() < 1e-2


def test_a_map_too_large_for_the_grid_gets_a_coarser_one():
    y = torch.randn(2, 800, generator=torch.Generator().manual_seed(0))
    y[:, 0] = 1000
    total, push = FFTRepulsion(2, 0.3)(y)
    assert torch.isfinite(push).all()
    assert float(total) == pytest.approx(float(exact_repulsion(y)[0]), rel=0.01)
