import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from dmlviz.errors import UserError
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.projection import map_ranks, projection_quality
from dmlviz.projection.euclidean_form import near, prepare
from dmlviz.projection.quality import MEASURES


@pytest.fixture(scope="module")
def flat(digits):
    return LinearProjection.pca(digits[0]).project(digits[0])


def brute_force(points, places, k):
    """The four measures of every point, written from their definitions."""
    n = len(points)
    there, here = (np.linalg.norm(x[:, None].astype(float) - x[None], axis=2) for x in (points, places))
    found = []
    for i in range(n):
        others = np.delete(np.arange(n), i)
        near_there, near_here = (others[np.argsort(d[i, others], kind="stable")][:k] for d in (there, here))
        worst = k * (2 * n - 3 * k - 1) / 2
        strangers = sum(max(0, (there[i, others] < there[i, j]).sum() + 1 - k) for j in near_here)
        torn = sum(max(0, (here[i, others] < here[i, j]).sum() + 1 - k) for j in near_there)
        kept = len(np.intersect1d(near_there, near_here)) / k
        correlation = np.corrcoef(there[i, others], here[i, others])[0, 1]
        found.append((1 - strangers / worst, 1 - torn / worst, kept, correlation))
    pairs = ~np.eye(n, dtype=bool)
    return np.array(found).T, np.corrcoef(there[pairs], here[pairs])[0, 1]


def test_every_point_has_the_values_of_the_definitions(digits, flat):
    points, places = digits[0][:150], flat[:150]
    expected, correlation = brute_force(points, places, 10)
    ours = projection_quality(points, places)
    for measure, values in zip(MEASURES, expected, strict=True):
        np.testing.assert_allclose(ours.per_point[measure], values, atol=1e-4, err_msg=measure)
    for measure, values in zip(MEASURES[:3], expected, strict=False):
        assert ours.overall[measure] == pytest.approx(values.mean(), abs=1e-5)
    assert ours.overall["distance_correlation"] == pytest.approx(correlation, abs=1e-4)


@pytest.mark.parametrize("k", [1, 5, 30])
def test_trustworthiness_equals_scikit_learns_and_continuity_its_mirror(digits, flat, k):
    # Without equal distances, which may be ranked either way.
    points = digits[0] + np.random.default_rng(0).uniform(0, 0.05, digits[0].shape)
    ours = projection_quality(points, flat, k).overall
    assert ours["trustworthiness"] == pytest.approx(trustworthiness(points, flat, n_neighbors=k), abs=2e-5)
    assert ours["continuity"] == pytest.approx(trustworthiness(flat, points, n_neighbors=k), abs=2e-5)


def tight(rng):
    points = rng.normal(size=64) + 0.001 * rng.normal(size=(1000, 64))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def flung(rng):
    points = rng.normal(size=(1000, 64))
    points[0] *= 100
    return points


def collapsed(rng):
    return np.eye(10, 64)[rng.integers(10, size=1000)] + 3e-5 * rng.normal(size=(1000, 64))


def mirrored(rng):
    points = collapsed(rng)
    return points[:500].repeat(2, axis=0) * np.tile([1, -1], 500)[:, None] + 1e-6 * rng.normal(size=(1000, 64))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("made", [tight, flung, collapsed, mirrored])
def test_tight_and_far_flung_points_are_ranked_as_scikit_learn_ranks_them(made, kind):
    rng = np.random.default_rng(0)
    points = made(rng).astype(kind)
    places = (points @ rng.normal(size=(64, 2))).astype(kind)
    ours = projection_quality(points, places).overall
    points, places = points.astype(np.float64), places.astype(np.float64)
    assert ours["trustworthiness"] == pytest.approx(trustworthiness(points, places, n_neighbors=10), abs=1e-6)
    assert ours["continuity"] == pytest.approx(trustworthiness(places, points, n_neighbors=10), abs=1e-6)


def test_cosine_is_measured_by_cosine(digits, flat):
    ours = projection_quality(digits[0], flat, 5, metric="cosine").overall["trustworthiness"]
    assert ours == pytest.approx(trustworthiness(digits[0], flat, n_neighbors=5, metric="cosine"), abs=1e-4)


def test_a_map_that_is_the_embedding_is_faithful_in_every_point():
    points = np.random.default_rng(0).standard_normal((200, 2))
    ours = projection_quality(points, points * 3 + 1)
    assert all(value == pytest.approx(1, abs=1e-6) for value in ours.overall.values())
    assert all(values == pytest.approx(np.ones(200), abs=1e-5) for values in ours.per_point.values())


def test_a_random_map_keeps_nothing(digits):
    ours = projection_quality(digits[0], np.random.default_rng(0).standard_normal((700, 2))).overall
    assert ours["neighbors_kept"] < 0.05
    assert abs(ours["trustworthiness"] - 0.5) < 0.05
    assert abs(ours["distance_correlation"]) < 0.05


def test_duplicates_are_no_strangers_to_each_other():
    points = np.repeat(np.random.default_rng(0).standard_normal((6, 8)), 40, axis=0)
    ours = projection_quality(points, LinearProjection.pca(points).project(points)).overall
    assert ours["trustworthiness"] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_few_points_have_finite_measures(n):
    points = np.random.default_rng(0).standard_normal((n, 2))
    ours = projection_quality(points, points)
    assert all(np.isfinite(value) for value in ours.overall.values())
    assert ours.overall["trustworthiness"] == 1
    assert ours.k == max(1, (n - 1) // 2)


def test_equal_points_have_finite_measures():
    ours = projection_quality(np.ones((50, 3)), np.ones((50, 2)))
    assert all(np.isfinite(value) for value in ours.overall.values())
    assert ours.overall["distance_correlation"] == 0


def test_beyond_the_largest_number_a_sample_is_measured_and_says_so(digits, flat):
    whole = projection_quality(digits[0], flat)
    part = projection_quality(digits[0], flat, largest=500)
    assert not whole.sampled
    assert part.sampled
    assert part.measured == 500 * 500 // 700
    for measure in MEASURES:
        values = part.per_point[measure]
        looked_at = np.isfinite(values)
        assert looked_at.sum() == part.measured
        np.testing.assert_allclose(values[looked_at], whole.per_point[measure][looked_at], atol=1e-5)
        assert part.overall[measure] == pytest.approx(whole.overall[measure], abs=0.05)


def test_neighbors_are_marked_near_or_far_on_the_map():
    places = np.zeros((1000, 2))
    places[:, 0] = np.arange(1000)
    assert map_ranks(places, 500, np.array([501, 490, 497, 520, 0])).tolist() == [True, False, True, False, False]
    assert map_ranks(places, 0, np.array([10, 11])).tolist() == [True, False]


def test_places_for_other_points_are_refused(digits, flat):
    with pytest.raises(UserError, match="got 699 positions for 700"):
        projection_quality(digits[0], flat[:-1])


def test_of_points_equally_near_by_any_metric_the_earlier_come_first():
    points = np.random.default_rng(0).integers(0, 2, (300, 3)).astype(np.float32)
    for metric in ("euclidean", "manhattan"):
        squared, found = near(points[:9], points, 20, metric)
        apart = np.abs(points[:9, None] - points).sum(axis=2)
        assert (found == np.argsort(apart, axis=1, kind="stable")[:, :20]).all(), metric
        assert (squared == 0).all()


@pytest.mark.parametrize("n", [3, 50])
def test_scores_of_points_that_coincide_are_0_and_not_perfect(n):
    spread, point = np.random.default_rng(0).normal(size=(n, 4)), np.ones((n, 4))
    for embeddings, coordinates in ((point, point), (spread, point), (point, spread)):
        assert set(projection_quality(embeddings, coordinates).overall.values()) == {0.0}


@pytest.fixture
def points():
    return np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)


def test_small_distances_far_from_the_origin_are_exact():
    points = np.float32(1000) + np.arange(8, dtype=np.float32)[:, None] / 1024
    squared, _ = EuclideanSearch(prepare(points, "euclidean")).others(1)
    np.testing.assert_allclose(np.sqrt(squared), 1 / 1024, rtol=1e-4)


def test_the_order_by_chords_is_the_order_by_cosine(points):
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    cosine = 1 - unit @ unit.T
    np.fill_diagonal(cosine, np.inf)
    squared, found = EuclideanSearch(prepare(points, "cosine")).others(6)
    assert (found == np.argsort(cosine, axis=1)[:, :6]).all()
    np.testing.assert_allclose(squared / 2, np.sort(cosine, axis=1)[:, :6], atol=1e-6)


def test_a_zero_vector_is_finite_by_cosine(points):
    points[0] = 0
    assert np.isfinite(EuclideanSearch(prepare(points, "cosine")).others(3)[0]).all()
