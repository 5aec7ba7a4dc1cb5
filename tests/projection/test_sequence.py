from itertools import pairwise

import numpy as np
import pytest

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection import align, project, project_sequence


def turned(points, angle, mirrored=False):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return (points * ([1, -1] if mirrored else [1, 1])) @ turn.T


@pytest.mark.parametrize("mirrored", [False, True])
def test_alignment_undoes_turns_mirrors_and_moves(mirrored):
    points = np.random.default_rng(0).standard_normal((50, 2))
    frames = [points, turned(points, 2.0, mirrored) + 5, turned(points, -1.0) * 2 - 7]
    first, second, third = align(frames)
    np.testing.assert_allclose(second, first, atol=1e-5)
    np.testing.assert_allclose(third, (first - first.mean(axis=0)) * 2 + first.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(align(frames, scale=True)[2], first, atol=1e-5)


def test_alignment_keeps_distances_within_a_map():
    rng = np.random.default_rng(0)
    frames = [rng.standard_normal((30, 3)) for _ in range(3)]
    for before, after in zip(frames, align(frames), strict=True):
        apart = [np.linalg.norm(y[:, None] - y[None], axis=2) for y in (before, after)]
        np.testing.assert_allclose(*apart, atol=1e-5)


def test_a_collapsed_map_is_aligned_without_complaint():
    frames = align([np.ones((4, 2)), np.zeros((4, 2)), np.eye(4)[:, :2]], scale=True)
    assert all(np.isfinite(frame).all() for frame in frames)


def test_maps_of_different_points_are_not_aligned():
    with pytest.raises(UserError, match="point by point"):
        align([np.zeros((3, 2)), np.zeros((4, 2))])


@pytest.fixture(scope="module")
def training(digits):
    """Points that change from epoch to epoch as embeddings do: other directions become the wide ones."""
    weights = np.random.default_rng(0).uniform(0.2, 1.5, (4, 64)).astype(np.float32)
    return [digits[0][:400] * weight for weight in weights]


CONFIGS = [
    ProjectionConfig(method="tsne", params={"iterations": 250}),
    ProjectionConfig(method="umap", params={"iterations": 80}),
]


@pytest.fixture(scope="module", params=CONFIGS, ids=lambda config: config.method)
def films(request, training):
    """The maps of all epochs, drawn one after another and each on its own."""
    return project_sequence(training, request.param), [project(epoch, request.param) for epoch in training]


@pytest.mark.slow
def test_epochs_move_less_than_maps_that_know_nothing_of_each_other(films):
    moved = [
        np.mean([np.median(np.linalg.norm(b - a, axis=1)) / b.std() for a, b in pairwise(film)])
        for film in (align([drawn.coordinates for drawn in film]) for film in films)
    ]
    assert moved[0] < 0.6 * moved[1]


@pytest.mark.slow
def test_the_last_epoch_is_as_faithful_as_a_map_of_its_own(films):
    followed, own = (film[-1].quality.overall for film in films)
    assert followed["trustworthiness"] > own["trustworthiness"] - 0.01
    assert followed["neighbors_kept"] > own["neighbors_kept"] - 0.03


def test_pca_over_epochs_has_one_basis(training):
    drawn = project_sequence(training, ProjectionConfig(method="pca"))
    assert len({projection.explained for projection in drawn}) == 1
    middle = [(a + b) / 2 for a, b in zip(training[0], training[1], strict=True)]
    expected = (drawn[0].coordinates + drawn[1].coordinates) / 2
    np.testing.assert_allclose(drawn[0].place(middle), expected, atol=1e-2)


def test_a_stop_returns_the_epochs_that_were_finished(training):
    seen = []

    def on_frame(epoch, iteration, of, error, coordinates):
        seen.append(epoch)
        return epoch == 2

    assert len(project_sequence(training, CONFIGS[1], on_frame)) == 2
    assert sorted(set(seen)) == [0, 1, 2]


@pytest.mark.parametrize("epochs", [[], [np.zeros((4, 2)), np.zeros((5, 2))]])
def test_epochs_of_different_points_are_refused(epochs):
    with pytest.raises(UserError, match="same points"):
        project_sequence(epochs, CONFIGS[0])
