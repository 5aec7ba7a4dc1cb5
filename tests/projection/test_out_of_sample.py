import numpy as np
import pytest

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.projection import place_on, project
from dmlviz.projection.out_of_sample import FarFieldSummary

METHODS = ["pca", "tsne", "umap", "pacmap", "localmap"]


@pytest.fixture(scope="module")
def maps(digits):
    """Maps of the first 600 digits; the other 100 are new to them."""
    return {method: project(digits[0][:600], ProjectionConfig(method=method)) for method in METHODS}


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_point_of_the_map_lands_on_itself(digits, maps, method):
    drawn = maps[method]
    np.testing.assert_allclose(drawn.place(digits[0][:600]), drawn.coordinates, atol=1e-4)


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_point_embedded_again_with_rounding_still_lands_on_itself(digits, maps, method):
    nearly = digits[0][:50] * (1 + 1e-6)
    assert (maps[method].place(nearly) == maps[method].coordinates[:50]).all()


@pytest.mark.parametrize("method", METHODS)
def test_the_same_point_twice_lands_on_the_same_spot(digits, maps, method):
    new = digits[0][600:605]
    together = maps[method].place(np.concatenate([new, new]))
    assert (together[:5] == together[5:]).all()
    assert (maps[method].place(new) == maps[method].place(new)).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_point_lands_there_alone_or_in_company(digits, maps, method):
    new = digits[0][600:620]
    alone = np.concatenate([maps[method].place(point[None]) for point in new])
    size = np.ptp(maps[method].coordinates)
    assert np.abs(alone - maps[method].place(new)).max() < 1e-3 * size


@pytest.mark.parametrize("method", METHODS[1:])
def test_new_points_land_among_their_class_and_their_neighbors(digits, maps, method):
    points, labels = digits
    placed = maps[method].place(points[600:])
    _, on_map = EuclideanSearch(maps[method].coordinates).search(placed, 10)
    votes = np.array([np.bincount(labels[near]).argmax() for near in on_map])
    assert (votes == labels[600:]).mean() > 0.9
    _, truly = EuclideanSearch(points[:600]).search(points[600:], 10)
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(on_map, truly, strict=True)]) > 4


def test_a_linear_map_places_exactly(digits, maps):
    points, _ = digits
    drawn = maps["pca"]
    for weights in ([0.5, 0.5, 0], [2, -2, 1]):
        mixed = np.tensordot(weights, points[:3], 1)[None]
        np.testing.assert_allclose(drawn.place(mixed), np.tensordot(weights, drawn.coordinates[:3], 1)[None], atol=1e-3)


def test_a_basis_of_another_epoch_is_recovered_from_the_map(digits):
    points, _ = digits
    basis = np.random.default_rng(0).standard_normal((64, 2)).astype(np.float32)
    new = points[600:]
    placed = place_on(ProjectionConfig(method="pca"), points[:600], points[:600] @ basis + 3, new)
    # Pixels that are blank in all 600 say nothing about the basis.
    seen = points[:600].std(axis=0) > 0
    np.testing.assert_allclose(placed, (new * seen) @ basis + 3, atol=1e-2)


def test_the_plane_places_as_it_is():
    points = np.random.default_rng(0).standard_normal((40, 2))
    drawn = project(points, ProjectionConfig(method="plane"))
    np.testing.assert_allclose(drawn.place([[3.0, -4.0]]), [[3, -4]], atol=1e-4)


@pytest.mark.parametrize("config", [ProjectionConfig(method="tsne", dims=3), ProjectionConfig(method="umap", dims=3)])
def test_three_dimensions_take_new_points(digits, config):
    drawn = project(digits[0][:300], config.replace(params=config.params | {"iterations": 60}))
    assert drawn.place(digits[0][300:303]).shape == (3, 3)


def test_cosine_places_by_direction(digits):
    config = ProjectionConfig(method="umap", params={"metric": "cosine", "iterations": 20})
    drawn = project(digits[0][:300], config)
    np.testing.assert_allclose(drawn.place(digits[0][300:310] * 5), drawn.place(digits[0][300:310]), atol=1e-3)


def test_a_far_point_lands_on_the_map_all_the_same(digits, maps):
    far = np.full((1, 64), 1e6)
    for method in METHODS:
        assert np.isfinite(maps[method].place(far)).all()


@pytest.mark.parametrize(
    ("new", "message"),
    [(np.zeros((1, 63)), "embed them with the same net"), (np.full((1, 64), np.nan), "New embeddings must be finite")],
)
def test_what_does_not_belong_on_the_map_is_refused(maps, new, message):
    with pytest.raises(UserError, match=message):
        maps["tsne"].place(new)


def test_a_map_of_other_points_is_refused(digits, maps):
    with pytest.raises(UserError, match="got 600 positions for 599 embeddings"):
        place_on(maps["tsne"].config, digits[0][:599], maps["tsne"].coordinates, digits[0][:1])


@pytest.mark.parametrize("dims", [2, 3])
def test_a_crowd_weighs_as_much_as_all_points_of_the_map(dims):
    places = np.random.default_rng(0).normal(size=(3000, dims)).astype(np.float32) * 10
    others, count = FarFieldSummary(places).near_and_far(places[:4])
    np.testing.assert_allclose(count.sum(axis=1), 3000)
    np.testing.assert_allclose((others * count[:, :, None]).sum(axis=1), [places.sum(axis=0)] * 4, rtol=1e-4, atol=0.01)
    apart = np.square(others - places[:4, None]).sum(axis=2)
    exact = 1 / (1 + np.square(places[:4, None] - places[None]).sum(axis=2))
    np.testing.assert_allclose((count / (1 + apart)).sum(axis=1), exact.sum(axis=1), rtol=0.01)
