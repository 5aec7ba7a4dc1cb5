import numpy as np
import pytest
from sklearn.decomposition import PCA

from dmlviz import ProjectionConfig, UserError
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.projection import project


def fit(points):
    return LinearProjection.joint_pca([points], (1, 2))


def assert_equal_up_to_sign(ours, theirs, **tolerance):
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours, theirs * signs, **tolerance)


@pytest.mark.parametrize("dims", [2, 3])
def test_pca_equals_scikit_learns(digits, dims):
    points, _ = digits
    theirs = PCA(dims).fit(points)
    ours = project(points, ProjectionConfig(method="pca", dims=dims))
    assert_equal_up_to_sign(ours.coordinates, theirs.transform(points), atol=1e-4)
    np.testing.assert_allclose(ours.explained, theirs.explained_variance_ratio_, rtol=1e-4)


@pytest.mark.parametrize("axes", [(4, 5), (1, 3), (3, 1)])
def test_any_two_components_can_be_drawn(digits, axes):
    points, _ = digits
    theirs, chosen = PCA(5).fit(points), np.subtract(axes, 1)
    ours = project(points, ProjectionConfig(method="pca", params=dict(zip("xy", axes, strict=True))))
    assert_equal_up_to_sign(ours.coordinates, theirs.transform(points)[:, chosen], atol=1e-4)
    np.testing.assert_allclose(ours.explained, theirs.explained_variance_ratio_[chosen], rtol=1e-4)


def test_the_same_component_twice_is_refused():
    with pytest.raises(UserError, match="2 different components; got 2, 2"):
        ProjectionConfig(method="pca", params={"x": 2})


def test_a_joint_pca_is_the_pca_of_all_epochs_in_one_table(digits):
    points, _ = digits
    epochs = [points[:300], points[300:] * 2 + 1, points.astype(np.float16)]
    axes, table = (1, 2, 3), np.concatenate(epochs).astype(np.float32)
    joint, whole = LinearProjection.joint_pca(epochs, axes), LinearProjection.joint_pca([table], axes)
    np.testing.assert_allclose(joint.components, whole.components, atol=1e-4)
    np.testing.assert_allclose(joint.mean, whole.mean, atol=1e-5)
    np.testing.assert_allclose(joint.explained_variance_ratio, whole.explained_variance_ratio, rtol=1e-4)


def test_a_basis_fitted_at_one_epoch_draws_another(digits):
    points, _ = digits
    basis = fit(points)
    moved = basis.project(points + 10 * basis.components[0].astype(np.float32))
    np.testing.assert_allclose(moved - basis.project(points), [[10, 0]] * len(points), atol=1e-3)


def test_equal_points_give_the_same_map_in_any_order(digits):
    points, _ = digits
    order = np.random.default_rng(0).permutation(len(points))
    np.testing.assert_allclose(fit(points).project(points)[order], fit(points[order]).project(points[order]), atol=1e-4)


def test_constant_columns_change_nothing(digits):
    points, _ = digits
    wider = np.concatenate([points, np.full((len(points), 3), 7, np.float32)], axis=1)
    np.testing.assert_allclose(fit(wider).project(wider), fit(points).project(points), atol=1e-4)


def test_one_dimension_lies_on_a_line():
    drawn = project(np.array([[1.0], [2.0], [5.0]]))
    np.testing.assert_allclose(np.abs(drawn.coordinates), np.abs([[-5 / 3, 0], [-2 / 3, 0], [7 / 3, 0]]), atol=1e-6)
    assert drawn.explained == (1.0, 0.0)


def test_equal_points_are_one_dot_that_explains_nothing():
    drawn = project(np.ones((5, 4)))
    assert (drawn.coordinates == 0).all()
    assert drawn.explained == (0.0, 0.0)


def test_epochs_of_different_spaces_have_no_joint_pca():
    with pytest.raises(UserError, match="one embedding space"):
        LinearProjection.joint_pca([np.zeros((3, 4)), np.zeros((3, 5))], (1, 2))


@pytest.mark.parametrize(("dimension", "dims"), [(1, 2), (2, 3), (3, 3)])
def test_the_plane_fills_up_with_zeros(dimension, dims):
    points = np.random.default_rng(0).standard_normal((9, dimension)).astype(np.float32)
    drawn = project(points, ProjectionConfig(method="plane", dims=dims))
    assert (drawn.coordinates[:, :dimension] == points).all()
    assert (drawn.coordinates[:, dimension:] == 0).all()


FAN = ProjectionConfig(method="fan")


def spread():
    labels = np.repeat(np.arange(5), 20)
    noise = np.random.default_rng(0).normal(size=(100, 8)) * 0.1
    return (np.eye(5, 8)[labels] + noise).astype(np.float32), labels


def test_the_fan_is_the_view_that_a_run_plays():
    embeddings, labels = spread()
    drawn = project(embeddings, FAN, labels=labels)
    np.testing.assert_allclose(
        drawn.coordinates, LinearProjection.class_fan(embeddings, labels).project(embeddings), atol=1e-6
    )


def test_a_picture_on_the_fan_lands_where_its_embedding_does():
    embeddings, labels = spread()
    drawn = project(embeddings, FAN, labels=labels)
    np.testing.assert_allclose(drawn.place(embeddings[:7]), drawn.coordinates[:7], atol=1e-4)


def test_a_fan_without_classes_is_refused_with_a_sentence():
    with pytest.raises(UserError, match="class of every point"):
        project(spread()[0], FAN)
