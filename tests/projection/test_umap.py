from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from dmlviz.config import ProjectionConfig
from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.projection import project
from dmlviz.projection.fuzzy_graph import fit_ab, graph, intersect_labels, membership_strengths

UMAP = ProjectionConfig(method="umap")
SHORT = UMAP.replace(params={"iterations": 40})


@pytest.fixture(scope="module")
def theirs():
    """What umap-learn 0.5.12 gave; see write_umap_graph.py."""
    with np.load(Path(__file__).parent / "umap_graph.npz") as stored:
        return dict(stored)


@pytest.fixture(scope="module")
def drawn(digits):
    return project(digits[0], UMAP)


def test_the_graph_equals_umap_learns(theirs):
    ours = graph(membership_strengths(theirs["distances"][:, 1:]), theirs["order"][:, 1:])
    np.testing.assert_allclose(ours.toarray(), theirs["graph"], atol=1e-5)


def test_the_supervised_graph_equals_umap_learns(theirs):
    edges = graph(membership_strengths(theirs["distances"][:, 1:]), theirs["order"][:, 1:])
    np.testing.assert_allclose(intersect_labels(edges, theirs["labels"]).toarray(), theirs["supervised"], atol=1e-5)


def test_an_edge_to_a_point_of_unknown_class_weighs_as_in_umap_learn():
    """As its `fast_intersection`, with unknown_dist 1 and far_dist 5, then `reset_local_connectivity`."""
    edges, labels = csr_matrix([[0, 0.5, 0.8], [0.5, 0, 0.2], [0.8, 0.2, 0]]), np.array([0, -1, 1])
    cut = edges.toarray() * np.exp([[0, -1, -5], [-1, 0, -1], [-5, -1, 0]])
    cut /= cut.max(axis=1, keepdims=True)
    expected = cut + cut.T - cut * cut.T
    np.testing.assert_allclose(intersect_labels(edges, labels).toarray(), expected)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, "", " ", -1, "masked", "categorical", "nullable"])
def test_a_supervised_map_leaves_points_of_unknown_class_among_those_of_their_group(missing):
    rng, n = np.random.default_rng(0), 150
    group = np.arange(n) % 3
    rows, known = 6 * rng.normal(size=(3, 8))[group] + rng.normal(size=(n, 8)), rng.random(n) < 0.5
    if str(missing) == "masked":
        labels = np.ma.masked_array(group, ~known)
    elif str(missing) == "categorical":
        labels = pd.Categorical.from_codes(np.where(known, group, -1), categories=["a", "b", "c"])
    elif str(missing) == "nullable":
        labels = pd.array(group, "Int64")
        labels[~known] = pd.NA
    else:
        labels = group.astype(int if type(missing) is int else object)
        labels[~known] = missing
    drawn = project(rows, ProjectionConfig(method="umap", params={"iterations": 60, "supervised": True}), labels=labels)
    _, near = EuclideanSearch(drawn.coordinates).others(10)
    assert known[near][~known].mean() == pytest.approx(known.mean(), abs=0.15)
    assert (group[near] == group[:, None]).mean() > 0.95


def test_the_curve_equals_umap_learns(theirs):
    for min_dist, a, b in theirs["curves"]:
        assert fit_ab(min_dist) == pytest.approx((a, b), rel=1e-5)


def test_our_neighbors_give_that_graph_too(theirs):
    squared, found = EuclideanSearch(theirs["points"]).others(theirs["order"].shape[1] - 1)
    single = np.ones(80, bool)
    single[39:55] = False  # of more duplicates than neighbors each search keeps others
    ours = graph(membership_strengths(np.sqrt(squared)), found).toarray()
    np.testing.assert_allclose(ours[np.ix_(single, single)], theirs["graph"][np.ix_(single, single)], atol=1e-4)


def test_min_dist_keeps_points_apart(digits):
    tight, wide = (
        np.median(
            EuclideanSearch(
                project(digits[0], SHORT.replace(params={"min_dist": d, "iterations": 60})).coordinates
            ).others(1)[0]
        )
        for d in (0.0, 0.9)
    )
    assert wide > 10 * tight


def test_a_supervised_map_parts_classes_that_the_points_do_not():
    points = np.random.default_rng(0).standard_normal((300, 8))
    labels = np.arange(300) % 3
    shares = []
    for on in (False, True):
        drawn = project(points, SHORT.replace(params={"supervised": on, "iterations": 60}), labels=labels)
        shares.append((labels[EuclideanSearch(drawn.coordinates).others(5)[1]] == labels[:, None]).mean())
    assert shares[0] < 0.5 < 0.9 < shares[1]


def test_a_start_is_taken_and_kept_to(digits, drawn):
    shown = []
    again = project(digits[0], SHORT, lambda *frame: shown.append(frame) and None, start=drawn.coordinates)
    assert (shown[0][3] == drawn.coordinates).all()
    moved = np.linalg.norm(again.coordinates - drawn.coordinates, axis=1)
    assert np.median(moved) < 0.15 * np.ptp(drawn.coordinates)


def test_cosine_sees_directions_only(digits):
    config = SHORT.replace(params={"iterations": 20, "metric": "cosine"})
    assert np.allclose(project(digits[0] * 4, config).coordinates, project(digits[0], config).coordinates)
