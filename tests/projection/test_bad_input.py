import numpy as np
import pytest

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection import check, project

METHODS = ["plane", "pca", "tsne", "umap", "pacmap", "localmap"]


def points(n, d=2):
    return np.random.default_rng(0).standard_normal((n, d))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
def test_numbers_that_are_not_finite_are_refused_with_their_row(method, value):
    rows = points(100)
    rows[7, 1] = value
    with pytest.raises(UserError, match=r"1 of 100 rows .*\(the first is row 7\)"):
        project(rows, ProjectionConfig(method=method))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [0, 1])
def test_a_map_of_one_point_is_refused(method, n):
    with pytest.raises(UserError, match=f"at least 2 points; got {n}"):
        project(points(n), ProjectionConfig(method=method))


@pytest.mark.parametrize("method", METHODS[2:])
@pytest.mark.parametrize("value", [0.0, 0.3, 1e8])
def test_a_collapsed_space_is_refused_and_named(method, value):
    with pytest.raises(UserError, match="All 200 embeddings are equal"):
        project(np.full((200, 5), value), ProjectionConfig(method=method))


@pytest.mark.parametrize("n", [2, 3, 4, 7, 10, 15, 16, 50, 90])
@pytest.mark.parametrize("d", [1, 5])
@pytest.mark.parametrize(
    ("method", "name"),
    [("tsne", "perplexity"), ("umap", "neighbors"), ("pacmap", "neighbors"), ("localmap", "neighbors")],
)
@pytest.mark.parametrize("distinct", [1.0, 0.5])
def test_maps_of_few_points_or_columns_or_copies_are_drawn_with_what_they_allow(method, name, n, d, distinct):
    rows = np.resize(points(max(2, int(distinct * n)), d), (n, d))
    if distinct < 1:
        rows = np.hstack([rows, np.ones((n, 1))])  # a constant column does no harm either
    config = ProjectionConfig(method=method, params={"iterations": 10})
    allowed = {"tsne": max(1, n // 3), "umap": max(2, n - 1)}.get(method, max(1, (n - 1) // 3))
    if allowed < config.params[name]:
        with pytest.warns(UserWarning, match=f"of {n} points is drawn with {name} = {allowed}: "):
            drawn = project(rows, config)
    else:
        drawn = project(rows, config)  # a warning would be an error
    assert drawn.config.params[name] == min(allowed, config.params[name])
    assert np.isfinite(drawn.coordinates).all()
    assert len(np.unique(drawn.coordinates, axis=0)) >= len(np.unique(rows, axis=0))
    assert n < 50 or (drawn.coordinates.std(axis=0) > 1e-3).all(), "one dimension is drawn in the plane, too"
    assert np.isfinite(drawn.place(rows[:2] + 0.01)).all()
    assert np.isfinite([*drawn.quality.overall.values()]).all()


@pytest.mark.parametrize(("d", "advice"), [(3, "draw it in 3 dimensions"), (4, "use PCA, t-SNE or UMAP")])
def test_a_space_of_more_dimensions_is_no_plane(d, advice):
    with pytest.raises(UserError, match=f"these have {d}: {advice}"):
        project(points(10, d), ProjectionConfig(method="plane"))


@pytest.mark.parametrize(("d", "component"), [(4, 5), (1, 3), (2, 3)])
def test_components_that_do_not_exist_are_refused(d, component):
    with pytest.raises(UserError, match=f"PCA of {d} dimensions"):
        project(points(10, d), ProjectionConfig(method="pca", params={"x": component}))


def test_a_supervised_map_without_classes_is_refused():
    config = ProjectionConfig(method="umap", params={"supervised": True})
    with pytest.raises(UserError, match="class of every point"):
        project(points(30), config)
    with pytest.raises(UserError, match="one label for each of the 30 points"):
        project(points(30), config, labels=[1, 2])


@pytest.mark.parametrize("rows", [np.zeros(5), np.zeros((5, 0)), np.zeros((2, 2, 2)), "abc", [["a"]], None])
def test_what_is_not_a_table_of_numbers_is_refused(rows):
    with pytest.raises(UserError, match="Embeddings are a table"):
        project(rows)


@pytest.mark.parametrize("start", [np.zeros((99, 2)), np.zeros((100, 3)), np.full((100, 2), np.nan)])
def test_a_start_that_does_not_fit_is_refused(start):
    with pytest.raises(UserError, match=r"starts from one position|Starting positions must be finite"):
        project(points(100), ProjectionConfig(method="tsne"), start=start)


def test_limits_can_be_asked_for_without_the_points():
    check(ProjectionConfig(method="tsne"), 2000, 64)
    with pytest.raises(UserError, match="class of every point"):
        check(ProjectionConfig(method="umap", params={"supervised": True}), 60, 64, labels=False)


def test_unknown_names_are_attribute_errors():
    import dmlviz.projection

    with pytest.raises(AttributeError, match="no attribute 'draw'"):
        dmlviz.projection.draw  # noqa: B018
