import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from dmlviz.config import ProjectionConfig
from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.projection import project
from dmlviz.projection.progress import ProgressReporter

CONFIGS = [
    ProjectionConfig(method="tsne", params={"iterations": 120}),
    ProjectionConfig(method="umap", params={"iterations": 30}),
    *(ProjectionConfig(method=method, params={"iterations": 90}) for method in ("pacmap", "localmap")),
]


def ids(config):
    return config.method


@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_frames_run_from_the_start_to_the_returned_map(digits, config):
    shown = []
    drawn = project(digits[0], config, lambda *frame: shown.append(frame) and None)
    iterations = [frame[0] for frame in shown]
    total = drawn.iterations
    assert iterations[0] == 0
    assert iterations[-1] == total
    assert iterations == sorted(set(iterations))
    assert {frame[1] for frame in shown} == {total}
    assert all(frame[3].shape == (700, 2) and frame[3].dtype == np.float32 for frame in shown)
    assert (shown[-1][3] == drawn.coordinates).all()
    assert shown[-1][2] == drawn.error
    assert not drawn.stopped


@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_equal_calls_give_equal_maps_and_another_seed_another(digits, config):
    first, second = (project(digits[0], config).coordinates for _ in range(2))
    assert (first == second).all()
    assert (project(digits[0], config.replace(seed=1)).coordinates != first).any()


@pytest.mark.slow
@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("method", [config.method for config in CONFIGS])
def test_neighbors_on_the_map_are_neighbors_in_the_space_and_of_one_class(digits, method, dims):
    places = project(digits[0], ProjectionConfig(method=method, dims=dims)).coordinates
    assert places.shape == (700, dims)
    assert trustworthiness(digits[0], places, n_neighbors=10) > 0.96
    _, found = EuclideanSearch(places).others(5)
    assert (digits[1][found] == digits[1][:, None]).mean() > 0.93


@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_looking_on_does_not_change_the_map(digits, config):
    seen = project(digits[0], config, lambda *frame: None).coordinates
    assert (seen == project(digits[0], config).coordinates).all()


@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_a_frame_that_says_stop_ends_the_layout_where_it_is(digits, config):
    shown = []

    def on_frame(*frame):
        shown.append(frame)
        return frame[0] > 0

    # So many that frames are due on the way, on whatever machine.
    drawn = project(digits[0], config.replace(params=config.params | {"iterations": 2000}), on_frame)
    assert drawn.stopped
    assert 0 < drawn.iterations < shown[0][1]
    assert (drawn.coordinates == shown[-1][3]).all()


@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_a_stop_before_the_neighbors_are_known_leaves_the_first_positions(digits, config):
    drawn = project(digits[0], config, stop=lambda: True)
    assert drawn.stopped
    assert drawn.iterations == 0
    assert drawn.coordinates.shape == (700, 2)


@pytest.mark.parametrize("method", ["pca", "plane"])
def test_a_linear_map_is_one_frame(digits, method):
    shown = []
    drawn = project(digits[0][:, :2], ProjectionConfig(method=method), lambda *frame: shown.append(frame))
    assert [frame[:3] for frame in shown] == [(1, 1, None)]
    assert (shown[0][3] == drawn.coordinates).all()


@pytest.mark.parametrize(("cost", "error_cost", "apart"), [(0.0, 0.0, 0.1), (0.05, 0.0, 0.25), (0.02, 0.08, 0.5)])
def test_frames_keep_their_pace_and_give_way_where_they_are_dear(cost, error_cost, apart):
    now, times = [0.0], []

    def on_frame(*_):
        times.append(now[0])
        now[0] += cost

    frames = ProgressReporter(on_frame, every=0.1, clock=lambda: now[0])
    for i in range(2000):
        now[0] += 0.001
        if frames.is_due():
            now[0] += error_cost
            frames.report(i, 2000, None, np.zeros((1, 2), np.float32))
    np.testing.assert_allclose(np.diff(times), apart, atol=0.003)


@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_a_layout_that_was_stopped_goes_on_where_it_was(digits, config):
    points, seen = digits[0], []
    half = config.params["iterations"] // 2
    first = project(points, config, lambda iteration, *_: iteration >= half)
    assert first.stopped
    project(points, config, lambda *frame: seen.append(frame), start=first.coordinates, begun=first.iterations)
    assert (seen[0][3] == first.coordinates).all()
    assert seen[0][0] == first.iterations
    assert seen[-1][0] == config.params["iterations"]
