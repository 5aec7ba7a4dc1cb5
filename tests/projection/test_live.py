"""A map that follows embeddings while they change."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_digits

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection import LiveProjection, align, project, projection_quality

DIGITS = load_digits().data[:480].astype(np.float32)
MIXED = np.tanh(DIGITS @ np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32) / 200) * 10
METHODS = ("pca", "tsne", "umap", "pacmap", "localmap")


def learning(share: float) -> np.ndarray:
    """Embeddings of a net that has learned for so long, from 0 to 1."""
    return (share * DIGITS + (1 - share) * MIXED).astype(np.float32)


def live(method: str, **params: object) -> LiveProjection:
    return LiveProjection(ProjectionConfig(method=method, params=params))


def kept(rows: np.ndarray, coordinates: np.ndarray) -> float:
    return 10 * projection_quality(rows, coordinates).overall["neighbors_kept"]


def movement(before: np.ndarray, after: np.ndarray) -> float:
    """The median movement, in spreads of the map."""
    return float(np.median(np.linalg.norm(after - before, axis=1)) / before.std())


def far(before: np.ndarray, after: np.ndarray) -> float:
    """The median movement of the first points, in widths of the map, whatever its size."""
    a, b = ((y - y.mean(0)) / y.std() for y in (before, after[: len(before)]))
    return float(np.median(np.linalg.norm(align([a, b])[1] - a, axis=1)) / np.linalg.norm(np.ptp(a, axis=0)))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS[1:])
def test_a_map_follows_a_net_that_learns_and_keeps_what_a_whole_one_keeps(method):
    follower = live(method)
    frames = [follower.update(learning(share)) for share in np.linspace(0, 1, 12)]
    moved = [movement(before.coordinates, after.coordinates) for before, after in itertools.pairwise(frames)]
    assert np.median(moved[2:]) < 0.1
    whole = project(learning(1), ProjectionConfig(method=method))
    assert kept(learning(1), frames[-1].coordinates) > kept(learning(1), whole.coordinates) - 0.5
    assert frames[-1].quality.measured > 240


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_equal_updates_give_equal_maps(method):
    def last() -> np.ndarray:
        follower = live(method)
        return [follower.update(learning(share)).coordinates for share in (0, 0.5, 0.5)][-1]

    np.testing.assert_array_equal(last(), last())


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_who_looks_on_sees_frames_on_the_way_to_the_same_map_and_beyond(method):
    looked_on, twin = live(method), live(method)
    for rows, needed in ((MIXED, 6), (DIGITS, 2)):
        updated = twin.update(rows)
        frames = list(itertools.islice(looked_on.frames(rows), needed))
        same = align([updated.coordinates, frames[-1].coordinates])[1]  # turned onto the frame before
        np.testing.assert_allclose(same, updated.coordinates, atol=1e-3 * updated.coordinates.std())
        if method != "pca":
            assert movement(frames[-2].coordinates, frames[-1].coordinates) > 0
    further = list(itertools.islice(looked_on.frames(DIGITS), 8))
    assert len(further) == (1 if method == "pca" else 8)
    assert kept(DIGITS, further[-1].coordinates) > kept(DIGITS, updated.coordinates) - 0.5
    with pytest.raises(UserError, match="at least 2 points"):
        next(looked_on.frames(DIGITS[:1]))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS[1:])
def test_points_are_taken_away_and_added_by_their_ids(method):
    follower, rng = live(method), np.random.default_rng(1)
    first = follower.update(DIGITS[:400])
    ids = rng.permutation(np.r_[80:480])
    second = follower.update(DIGITS[ids], ids=ids)
    stayed = ids < 400
    assert movement(first.coordinates[ids[stayed]], second.coordinates[stayed]) < 0.3
    # a new one is where its neighbors are
    assert kept(DIGITS[ids], second.coordinates) > kept(DIGITS[:400], first.coordinates) - 0.5
    by_number = follower.update(DIGITS[:50])
    assert by_number.coordinates.shape == (50, 2)


@pytest.mark.parametrize("method", METHODS[1:])
def test_no_point_flies_off_when_many_join_a_few(method):
    follower = live(method)
    for count in (12, 480, 3, 480):
        places = follower.update(DIGITS[:count], ids=np.arange(count)).coordinates
    apart = np.linalg.norm(places - np.median(places, axis=0), axis=1) / places.std()
    assert apart.max() < 4


@pytest.mark.parametrize("method", METHODS[1:])
def test_no_point_flies_off_when_the_net_jumps(method):
    follower = live(method)
    for _ in range(2):
        spread = np.ptp(follower.update(DIGITS).coordinates)
    for rows in (DIGITS[::-1], MIXED, 1e6 * DIGITS, DIGITS + 1e4, -DIGITS):
        coordinates = follower.update(np.ascontiguousarray(rows)).coordinates
        assert np.isfinite(coordinates).all()
        assert np.ptp(coordinates) < 3 * spread
    for _ in range(8):
        followed = follower.update(DIGITS)
    assert kept(DIGITS, followed.coordinates) > 4


@pytest.mark.parametrize("method", METHODS)
def test_a_collapse_is_said_and_points_of_equal_embeddings_stay(method):
    follower, equal = live(method), np.ones_like(DIGITS)
    assert "collapsed" in follower.update(equal).note
    before = follower.update(DIGITS)
    assert before.note == ""
    after = follower.update(equal)
    assert "collapsed" in after.note
    assert "collapsed" in follower.update(equal + 1e-5 * DIGITS).note
    if method != "pca":
        np.testing.assert_allclose(after.coordinates, before.coordinates, atol=1e-3)
    assert kept(DIGITS, follower.update(DIGITS).coordinates) > kept(DIGITS, before.coordinates) - 1
    assert ("in 7 places" in follower.update(DIGITS[np.arange(len(DIGITS)) % 7]).note) == (method != "pca")
    equal[0] = 2
    assert "collapsed" in follower.update(equal).note  # as a net leaves it: all but one


@pytest.mark.parametrize("method", METHODS)
def test_bad_input_is_refused_and_leaves_the_map_as_it_was(method):
    follower, twin = live(method), live(method)
    for each in (follower, twin):
        each.update(DIGITS)
    bad = DIGITS.copy()
    bad[3] = np.nan
    for rows, ids, words in (
        (bad, None, "the first is row 3"),
        (DIGITS[:1], None, "at least 2 points"),
        (DIGITS, np.zeros(480, int), "an id of its own"),
        (DIGITS, np.arange(479), "an id of its own"),
    ):
        with pytest.raises(UserError, match=words):
            follower.update(rows, ids=ids)
    np.testing.assert_array_equal(follower.update(MIXED).coordinates, twin.update(MIXED).coordinates)


def test_parameters_change_between_updates():
    follower = live("tsne")
    follower.update(DIGITS)
    follower.perplexity = 5
    assert follower.config.params["perplexity"] == 5
    followed = follower.update(DIGITS)
    assert followed.config.params["perplexity"] == 5
    with pytest.raises(UserError, match="perplexity"):
        follower.perplexity = -1
    with pytest.raises(AttributeError, match="min_dist"):
        follower.min_dist = 0.5
    umap = live("umap", min_dist=0.0)
    for min_dist in (0.0, 0.9):
        umap.min_dist = min_dist
        for _ in range(5):
            coordinates = umap.update(DIGITS).coordinates
        nearest = np.sort(np.linalg.norm(coordinates[:, None] - coordinates, axis=2), axis=1)[:, 1]
        assert (np.median(nearest) > 0.15) == (min_dist > 0.5)
    umap.config = ProjectionConfig(method="tsne")
    assert umap.update(DIGITS).coordinates.shape == (480, 2)
    with pytest.raises(UserError, match="use `project`"):
        LiveProjection(ProjectionConfig(method="tsne", engine="reference"))


@pytest.mark.slow
def test_attraction_leads_from_clusters_to_a_continuum_on_the_same_layout():
    """As Böhm, Berens and Kobak (JMLR 2022, figure 1): the more attraction, the smaller the map and its clusters."""
    follower, sizes = live("tsne"), []
    for attraction in (1.0, 4.0, 10.0, 1.0, 0.5):
        follower.attraction = attraction
        for _ in range(8):
            coordinates = follower.update(DIGITS).coordinates
        sizes.append(float(coordinates.std()))
    assert sizes[0] > sizes[1] > sizes[2] < sizes[3] < sizes[4]
    plain, same = (project(DIGITS, ProjectionConfig(method="tsne", params=p)) for p in ({}, {"attraction": 1}))
    np.testing.assert_array_equal(plain.coordinates, same.coordinates)
    assert plain.error < project(DIGITS, ProjectionConfig(method="tsne", params={"attraction": 4})).error


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS[1:])
def test_a_live_map_settles_into_that_of_all_points_in_its_place_and_as_good_as_from_scratch(method):
    rows = load_digits().data[:960].astype(np.float32)
    follower = live(method)
    for share in (0.8, 0.9, 1.0):
        followed = follower.update(learning(share)).coordinates
    iterations: list[int] = []
    settled = follower.settle(rows, on_frame=lambda done, of, error, y: iterations.append(done))
    scratch = project(rows, ProjectionConfig(method=method))
    assert iterations == sorted(iterations)
    assert settled.iterations == scratch.iterations
    assert kept(rows, settled.coordinates) > kept(rows, scratch.coordinates) - 0.1
    if method == "tsne":
        assert settled.error < 1.03 * scratch.error
    assert far(followed, settled.coordinates) < (0.05 if method in ("tsne", "umap") else 0.1)
    assert settled.quality.measured == len(rows)


RNG = np.random.default_rng(0)
SETTLING = {  # with how many known points
    "clusters": (4 * RNG.standard_normal((10, 32))[RNG.integers(0, 10, 1000)] + RNG.standard_normal((1000, 32)), 200),
    "one cluster": (RNG.standard_normal((1000, 2)) @ RNG.standard_normal((2, 16)), 50),
    "noise": (RNG.standard_normal((1000, 16)), 200),
}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["tsne", "umap"])
@pytest.mark.parametrize("kind", SETTLING)
def test_few_known_points_settle_with_many_others_in_their_place_unless_all_is_noise(kind, method):
    (rows, number), follower = SETTLING[kind], live(method)
    for _ in range(3):
        followed = follower.update(rows[:number]).coordinates
    settled, scratch = follower.settle(rows), project(rows, ProjectionConfig(method=method))
    # The last digit of a start alone moves UMAP's 2.65 of 10 neighbors by 0.1, to either side.
    assert kept(rows, settled.coordinates) > 0.93 * kept(rows, scratch.coordinates)
    if method == "tsne":
        assert settled.error < 1.03 * scratch.error
    if kind != "noise":  # which has no layout of its own
        assert far(followed, settled.coordinates) < 0.1
