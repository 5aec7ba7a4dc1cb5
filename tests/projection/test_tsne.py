import numpy as np
import pytest
import torch
from sklearn.manifold import TSNE, trustworthiness

from dmlviz.config import ProjectionConfig
from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.projection import project
from dmlviz.projection.affinities import conditional_probabilities, joint_probabilities
from dmlviz.projection.euclidean_form import prepare

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
