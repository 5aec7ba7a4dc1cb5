"""Linear projections of a space: identity, principal axes, class fan."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from dmlviz.errors import UserError
from dmlviz.ops.linear_projection import LinearProjection, default_kind, default_projection, evenly_spaced_directions


def rotation(d, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def cloud(n=200, d=16, seed=0):
    """Points whose variance differs clearly from axis to axis, off the origin."""
    random = np.random.default_rng(seed)
    return (random.normal(size=(n, d)) * np.linspace(3, 0.2, d) + 1.5).astype(np.float32)


def simplex(classes=10, d=64, each=20, seed=0):
    """What a good loss makes of its classes: equally far from each other, with a little noise, turned at random."""
    labels = np.repeat(np.arange(classes), each)
    noise = np.random.default_rng(seed).normal(size=(len(labels), d)) * 0.02
    return ((np.eye(classes, d)[labels] + noise) @ rotation(d, seed)).astype(np.float32), labels


@pytest.mark.parametrize("d", [1, 2])
def test_the_plane_is_drawn_as_it_is(d):
    embeddings = cloud(d=d)
    basis = LinearProjection.pca(embeddings)
    assert basis.kind == "plane"
    positions = basis.project(embeddings)
    np.testing.assert_allclose(positions[:, :d], embeddings, rtol=1e-6)
    assert (positions[:, d:] == 0).all()
    assert basis.explained_variance_ratio.sum() == pytest.approx(1)


def test_the_principal_axes_are_those_of_scikit_learn():
    embeddings = cloud()
    basis, oracle = LinearProjection.pca(embeddings), PCA(2).fit(embeddings)
    signs = np.sign((basis.components * oracle.components_).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(basis.components * signs, oracle.components_, atol=1e-4)
    np.testing.assert_allclose(basis.explained_variance_ratio, oracle.explained_variance_ratio_, rtol=1e-4)
    assert basis.kind == "pca"


def test_rows_that_diverged_do_not_bend_the_basis():
    embeddings = cloud()
    broken = np.concatenate([embeddings, np.full((3, 16), np.inf, np.float32)])
    np.testing.assert_allclose(LinearProjection.pca(broken).components, LinearProjection.pca(embeddings).components)


def test_a_turned_basis_still_tells_the_variance_on_its_axes():
    embeddings = cloud()
    basis = LinearProjection.pca(embeddings)
    turned = basis.aligned_to(embeddings, basis.project(embeddings) @ rotation(2, 1).T.astype(np.float32))
    measured = turned.project(embeddings).var(axis=0) / embeddings.var(axis=0).sum()
    np.testing.assert_allclose(turned.explained_variance_ratio, measured, rtol=1e-4)
    assert turned.explained_variance_ratio.sum() == pytest.approx(basis.explained_variance_ratio.sum())
    assert not np.allclose(turned.explained_variance_ratio, basis.explained_variance_ratio)


def test_a_basis_survives_the_disk(tmp_path):
    basis, embeddings = LinearProjection.pca(cloud()), cloud(seed=4)
    with open(tmp_path / "basis.npz", "wb") as file:
        basis.save(file)
    np.testing.assert_array_equal(
        LinearProjection.load(tmp_path / "basis.npz").project(embeddings), basis.project(embeddings)
    )


def test_a_fan_lays_a_simplex_of_classes_on_a_ring_in_the_order_of_the_classes():
    embeddings, labels = simplex()
    positions = LinearProjection.class_fan(embeddings, labels).project(embeddings)
    centers = np.stack([positions[labels == label].mean(axis=0) for label in range(10)])
    length = np.linalg.norm(centers, axis=1)
    np.testing.assert_allclose(centers / length[:, None], evenly_spaced_directions(10, 2), atol=0.05)
    assert length.max() < 1.05 * length.min()


def test_a_fan_neither_stretches_nor_bends_the_space():
    basis = LinearProjection.class_fan(*simplex())
    np.testing.assert_allclose(basis.components @ basis.components.T, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_rotated_space_has_the_same_fan(seed):
    embeddings, labels = simplex()
    turned = (embeddings @ rotation(64, seed + 5)).astype(np.float32)
    np.testing.assert_allclose(
        LinearProjection.class_fan(turned, labels).project(turned),
        LinearProjection.class_fan(embeddings, labels).project(embeddings),
        atol=1e-4,
    )


def test_no_other_view_brings_the_centers_nearer_to_their_directions():
    embeddings, labels = cloud(300), np.random.default_rng(1).integers(0, 6, 300)
    best = LinearProjection.class_fan(embeddings, labels)
    centers = np.stack([embeddings[labels == label].mean(axis=0) for label in range(6)]) - best.mean

    def agreement(components):
        return (evenly_spaced_directions(6, 2) * (centers @ components.T)).sum()

    others = [rotation(16, seed)[:2] for seed in range(200)]
    assert agreement(best.components) > max(map(agreement, others))


def test_a_collapsed_space_and_a_class_that_diverged_still_have_a_fan():
    embeddings, labels = simplex()
    same = np.ones_like(embeddings)
    assert np.isfinite(LinearProjection.class_fan(same, labels).project(same)).all()
    broken = embeddings.copy()
    broken[labels == 3] = np.nan
    assert np.isfinite(LinearProjection.class_fan(broken, labels).components).all()
    assert np.isfinite(LinearProjection.class_fan(np.full_like(embeddings, np.nan), labels).components).all()


def test_a_fan_of_two_classes_is_refused_with_a_sentence():
    with pytest.raises(UserError, match="more than 2 classes"):
        LinearProjection.class_fan(cloud(20), np.arange(20) % 2)


def test_a_fan_in_three_dimensions_spreads_over_the_sphere():
    spread = evenly_spaced_directions(10, 3)
    np.testing.assert_allclose(np.linalg.norm(spread, axis=1), 1)
    assert (spread @ spread.T - 2 * np.eye(10)).max() < 0.6
    assert LinearProjection.class_fan(*simplex(), dims=3).components.shape == (3, 64)


def test_a_run_plays_its_plane_else_its_fan_else_its_principal_axes():
    assert [default_kind(2, 10), default_kind(64, 10), default_kind(64, 100), default_kind(64, 2)] == [
        "plane",
        "fan",
        "pca",
        "pca",
    ]
    embeddings, labels = simplex()
    assert default_projection(embeddings, labels).kind == "fan"
    assert default_projection(embeddings, None).kind == "pca"
    assert (
        default_projection(embeddings[:, :2], labels).kind
        == default_projection(embeddings[:, :3], labels).kind
        == "plane"
    )
