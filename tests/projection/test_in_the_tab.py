"""The page's own PCA, t-SNE and UMAP, beside Python's."""

import numpy as np
import pytest
from scipy.special import rel_entr
from sklearn.datasets import load_digits

from dmlviz.config import ProjectionConfig
from dmlviz.ops.ball import in_ball
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.projection import fuzzy_graph, project, tsne, umap
from dmlviz.projection.affinities import conditional_probabilities
from dmlviz.projection.alignment import align_by
from dmlviz.projection.euclidean_form import nearest_others

pytestmark = pytest.mark.slow
N, PERPLEXITY, NEIGHBORS, ITERATIONS = 300, 20, 12, 600
MIN_DIST = (0.1, 0.0, 0.5, 0.99)


@pytest.fixture(scope="module")
def rows():
    return load_digits().data[:N].astype(np.float32)


@pytest.fixture(scope="module")
def start():
    return np.random.default_rng(1).standard_normal((N, 2)).astype(np.float32)


@pytest.fixture(scope="module")
def page(page_script, rows, start):
    settings = {"perplexity": PERPLEXITY, "neighbors": NEIGHBORS, "min_dist": 0.1, "attraction": 1}
    given = {"rows": rows.ravel().tolist(), "d": rows.shape[1], "start": start.ravel().tolist(), "minDist": MIN_DIST}
    given |= {"settings": settings | {"metric": "euclidean"}, "iterations": ITERATIONS}
    return page_script("layouts", given)


@pytest.fixture(scope="module")
def near(rows):
    return nearest_others(rows, 3 * PERPLEXITY, lambda: None)


def test_its_neighbors_are_the_same(page, near):
    assert np.mean(np.reshape(page["neighbors"], near.indices.shape) == near.indices) > 0.999  # some are equally far


def test_its_neighbors_in_a_ball_are_as_far_as_ours(page_script):
    angles, curvature = np.random.default_rng(2).normal(size=(80, 3)), 2.0
    shares = np.linspace(0, 0.999, 80)[:, None]  # of the way to the rim
    points = (angles / np.linalg.norm(angles, axis=1, keepdims=True) * shares / curvature**0.5).astype(np.float32)
    found = page_script("neighbors", {"rows": points.ravel().tolist(), "d": 3, "k": 7, "curvature": curvature})
    distances, indices = NearestNeighbors(in_ball(points, curvature)).others(7)
    np.testing.assert_allclose(np.sqrt(found["squared"]), distances.ravel(), rtol=1e-4)
    assert np.mean(np.reshape(found["indices"], indices.shape) == indices) > 0.99


def test_its_affinities_are_the_same(page, rows, near):
    expected = conditional_probabilities(np.square(near.distances), PERPLEXITY)
    np.testing.assert_allclose(np.reshape(page["probabilities"], expected.shape), expected, atol=1e-4)
    _, joint = tsne.neighbors_and_affinities(rows, PERPLEXITY)
    assert_same_edges(page["affinities"], joint, 1e-6)
    assert 2 * np.sum(page["affinities"][2]) == pytest.approx(1)


def test_its_fuzzy_graph_is_the_same(page, rows):
    assert_same_edges(page["graph"], umap.neighbors_and_edges(rows, NEIGHBORS, "euclidean")[1], 1e-4)


def test_its_curve_is_the_same(page):
    np.testing.assert_allclose(page["curves"], [fuzzy_graph.fit_ab(value) for value in MIN_DIST], rtol=0.01)


def test_every_force_of_tsne_has_the_same_direction(page, rows, start):
    _, joint = tsne.neighbors_and_affinities(rows, PERPLEXITY)
    differences = start[:, None].astype(float) - start[None]
    kernel = 1 / (1 + np.square(differences).sum(axis=2))
    np.fill_diagonal(kernel, 0)
    forces = joint.toarray() * kernel - np.square(kernel) / kernel.sum()
    expected = 2 * (forces[:, :, None] * differences).sum(axis=1)
    np.testing.assert_allclose(np.reshape(page["gradient"], (N, 2)), expected, rtol=1e-3, atol=1e-6)
    divergence = (joint.data * np.log(joint.data / (kernel / kernel.sum())[joint.nonzero()])).sum()
    assert page["startDivergence"] == pytest.approx(divergence, rel=1e-4)


def test_every_force_of_umap_is_the_slope_of_its_loss(page):
    a, b = page["curves"][0]
    for squared, pull, push in page["forces"]:
        step = 1e-4 * squared
        near, far = (1 / (1 + a * (squared + side) ** b) for side in (-step, step))
        # Half the slope along the squared distance times the difference of the points, for both ends.
        assert pull == pytest.approx(2 * (np.log(far) - np.log(near)) / (2 * step), rel=1e-3)
        slope = 2 * (np.log(1 - far) - np.log(1 - near)) / (2 * step)
        assert push == pytest.approx(slope * squared / (squared + 0.001), rel=1e-3)


def test_its_cost_of_umap_is_the_cross_entropy(page, rows, start):
    weights = umap.neighbors_and_edges(rows, NEIGHBORS, "euclidean")[1].toarray()[np.triu_indices(N, 1)]
    a, b = fuzzy_graph.fit_ab(MIN_DIST[0])
    squared = np.square(start[:, None].astype(float) - start[None]).sum(axis=2)[np.triu_indices(N, 1)]
    near = 1 / (1 + a * squared**b)
    expected = rel_entr(weights, near) + rel_entr(1 - weights, 1 - near)
    assert page["startEntropy"] == pytest.approx(expected.sum(), rel=1e-2)


def test_its_pca_and_its_turns_are_the_same(page, rows, start):
    expected = LinearProjection.joint_pca([rows], (1, 2)).project(rows)
    own = np.reshape(page["pca"], (N, 2))
    np.testing.assert_allclose(np.abs(own), np.abs(expected), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(np.reshape(page["aligned"], (N, 2)), align_by(own, own, start), atol=1e-3)


def test_its_maps_are_as_good(page, rows):
    params = {"perplexity": PERPLEXITY, "iterations": ITERATIONS}
    whole = project(rows, ProjectionConfig(method="tsne", params=params))
    assert page["tsne"]["divergence"] <= 1.01 * whole.error
    other = project(rows, ProjectionConfig(method="umap", params={"neighbors": NEIGHBORS, "iterations": ITERATIONS}))
    for name, map_ in (("tsne", whole), ("umap", other)):
        assert page[name]["kept"] > kept(rows, map_.coordinates) - 0.5  # of 10; by chance


def kept(rows, coordinates):
    inside, outside = (
        nearest_others(np.asarray(points, np.float32), 10, lambda: None).indices for points in (rows, coordinates)
    )
    return float((inside[:, :, None] == outside[:, None]).any(axis=2).sum(axis=1).mean())


def assert_same_edges(page, edges, tolerance):
    heads, tails, weights = page
    whole = edges.toarray()
    own = np.zeros_like(whole)
    own[heads, tails] = own[tails, heads] = weights
    np.testing.assert_allclose(own, whole, atol=tolerance)
