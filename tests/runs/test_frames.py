import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.runs.frames import Box, Frame, HysteresisBounds, LiveProjector, dequantize, quantize, render_replay
from tests.ops.test_linear_projection import cloud, rotation


@given(arrays(np.float32, st.tuples(st.integers(1, 30), st.integers(2, 3)), elements=st.floats(-1e6, 1e6, width=32)))
def test_positions_come_back_within_half_a_step(positions):
    box = Box.around(positions)
    back = dequantize(quantize(positions, box), positions.shape[1], box)
    low, high = np.array(box.center) - box.scale, np.array(box.center) + box.scale
    inside = np.abs(np.clip(positions, low, high) - positions).max(axis=1) <= 1e-6 * np.abs(positions).max()
    assert inside.sum() >= len(positions) - 1  # one may be far away
    np.testing.assert_allclose(
        back, np.clip(positions, low, high), atol=box.scale / 32767 * 0.51 + 1e-6 * np.abs(positions).max()
    )


def test_a_point_that_is_nowhere_does_not_move_the_others():
    positions = np.array([[0, 0], [np.nan, 1], [2, 1], [np.inf, 0]], np.float32)
    frame = Frame.quantized(positions, "tracked")
    back = dequantize(frame.data, 2, frame.box)
    assert np.isnan(back[[1, 3]]).all()
    np.testing.assert_allclose(back[[0, 2]], positions[[0, 2]], atol=1e-4)
    assert frame.box == Box((1.0, 0.5), 1.0)


def test_bytes_are_little_endian_rows_of_int16():
    box = Box((0.0, 0.0), 1.0)
    assert quantize(np.array([[1.0, -1.0], [0.0, 0.5]]), box) == np.array([32767, -32767, 0, 16384], "<i2").tobytes()


def test_collapsed_points_have_a_frame():
    frame = Frame.quantized(np.full((5, 2), 0.25), "tracked")
    assert frame.box.scale > 0
    np.testing.assert_allclose(dequantize(frame.data, 2, frame.box), 0.25)


def test_nothing_finite_has_a_frame_too():
    frame = LiveProjector().frame(np.full((4, 8), np.nan, np.float32))
    assert np.isnan(dequantize(frame.data, 2, frame.box)).all()


def test_a_frame_is_described_in_plain_json_types():
    described = Frame.quantized(cloud(d=2), "all").describe()
    assert {name: type(value) for name, value in described.items()} == {
        "id": str, "n": int, "dims": int, "center": list, "scale": float, "items": str,
    }  # fmt: skip
    assert all(type(number) is float for number in described["center"])


def test_equal_positions_share_a_file_and_others_do_not():
    first, same, other = (Frame.quantized(cloud(d=2, seed=seed), "tracked") for seed in (0, 0, 1))
    assert first.id == same.id != other.id
    assert len(first.id) == 16


def test_the_plane_is_never_turned():
    view = LiveProjector()
    embeddings = cloud(d=2)
    view.frame(embeddings)
    turned = embeddings @ rotation(2, 3).astype(np.float32)
    view.frame(turned)
    np.testing.assert_allclose(view.positions, turned, rtol=1e-6)


def test_a_rotated_space_does_not_move_the_live_picture():
    view, embeddings = LiveProjector(), cloud()
    view.frame(embeddings)
    before = view.positions
    for seed in range(5):
        view.frame((embeddings @ rotation(16, seed)).astype(np.float32))
        np.testing.assert_allclose(view.positions, before, atol=1e-3)


def test_axes_that_change_rank_do_not_swap_on_the_live_picture():
    view = LiveProjector()
    base = np.random.default_rng(0).normal(size=(300, 16)) * 0.1
    for width, height in [(2.0, 1.9), (1.9, 2.0), (2.0, 1.9)]:
        random = np.random.default_rng(1)
        embeddings = base.copy()
        embeddings[:, :2] += random.normal(size=(300, 2)) * (width, height)
        before = view.positions
        view.frame(embeddings.astype(np.float32))
        if before is not None:
            assert np.abs(view.positions - before).max() < 0.5


def test_the_box_of_the_live_picture_is_steady_and_follows():
    box, positions = HysteresisBounds(), np.array([[-1.0, -1.0], [1.0, 1.0]])
    first = box.around(positions)
    assert box.around(positions * 1.1) == first
    assert box.around(positions * 0.8) == first
    grown = box.around(positions * 2)
    assert grown.scale > 2
    assert box.around(positions * 0.1).scale < 0.2
    shifted = box.around(positions * 0.1 + 5)
    assert shifted.center == pytest.approx((5, 5))


def test_the_replay_has_one_scale_and_ends_with_every_image():
    snapshots = [(step, cloud(50, seed=step) * (step + 1)) for step in range(4)]
    last = (4, cloud(200, seed=9) * 5)
    frames = render_replay(LinearProjection.pca(last[1]), snapshots, last)
    assert [step for step, _ in frames] == [0, 1, 2, 3, 4]
    assert {frame.box for _, frame in frames} == {frames[0][1].box}
    assert [(frame.items, frame.n) for _, frame in frames] == [("tracked", 50)] * 4 + [("all", 200)]
    packed = np.concatenate([np.frombuffer(frame.data, "<i2") for _, frame in frames])
    assert np.abs(packed).max() < 32767  # nothing clipped
    assert np.abs(packed).max() > 31000  # nothing wasted


def test_the_replay_takes_over_from_the_live_picture_without_a_jump():
    view, embeddings = LiveProjector(), cloud()
    view.frame(embeddings @ rotation(16, 1).astype(np.float32))
    view.frame(embeddings)
    basis = LinearProjection.pca(embeddings).aligned_to(embeddings, view.positions)
    np.testing.assert_allclose(basis.project(embeddings), view.positions, atol=1e-4)


@pytest.mark.parametrize("far", [1e3, 1e6, -1e9])
@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("dims", [2, 3])
def test_one_point_far_away_leaves_the_others_apart_and_is_counted(dtype, offset, far, dims):
    """PCA of n points, one of them `far` times the spread of the others away."""
    points = np.random.default_rng(0).normal(size=(2000, 5))
    points[7] = 60_000 if dtype == "float16" else far
    with np.errstate(over="ignore"):
        points = (points + (offset if dtype == "float64" else 0)).astype(dtype)
    positions = LinearProjection.pca(np.asarray(points), dims).project(points)
    frame = Frame.quantized(positions, "all", Box.around(positions, 1.02))
    places = dequantize(frame.data, dims, frame.box)
    assert frame.describe()["outside"] == frame.outside == 1
    own = [*range(7), *range(8, 2000)]
    spread = positions[own].std(axis=0).max()
    assert len(np.unique(places[own], axis=0)) > 1900
    assert np.abs(places[own] - positions[own]).max() < 0.02 * spread


def test_points_that_are_not_far_or_not_few_are_never_at_the_edge():
    rng = np.random.default_rng(0)
    heavy = rng.standard_cauchy(size=(500, 2)).clip(-60, 60)
    collapsed = np.zeros((500, 2)) + (np.arange(500)[:, None] % 10 == 0) * rng.normal(size=(500, 2))
    for points in (heavy, collapsed, rng.normal(size=(2, 2)), np.zeros((9, 2)), np.full((4, 2), np.nan)):
        frame = Frame.quantized(points, "all", Box.around(points, 1.02))
        assert "outside" not in frame.describe()
    grown = [rng.normal(size=(50, 2)) * scale for scale in (1, 1, 1, 1e5)]
    assert Frame.quantized(grown[-1], "all", Box.around_all(grown)).outside == 0
