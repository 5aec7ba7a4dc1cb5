"""First hits and nearest classes are those of the exact ranking, also where single precision cannot tell."""

import numpy as np
import pytest

from dmlviz.metrics import first_hits as module
from dmlviz.metrics.first_hits import first_hits
from dmlviz.metrics.inputs import read, read_query_and_gallery
from dmlviz.metrics.retrieval import rank_gallery
from dmlviz.ops.rough_distances import RoughDistances
from dmlviz.ops.squared_distances import SquaredDistances, rescale


def embedded(n, seed, spread=1.0, grid=None, classes=7, kind=np.float32):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    points = rng.normal(size=(classes, 6))[labels] + spread * rng.normal(size=(n, 6))
    return (np.round(points * grid) / grid if grid else points).astype(kind), labels


SPACES = {
    "spread": {},
    "nearly collapsed": {"spread": 1e-4},
    "with ties": {"grid": 2},
    "in double precision": {"kind": np.float64},
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("with_gallery", [False, True])
@pytest.mark.parametrize("with_cameras", [False, True])
def test_first_hits_are_those_of_the_whole_ranking(space, with_gallery, with_cameras):
    points, labels = embedded(400, 0, **space)
    labels[0] = 99  # alone: no query
    others = embedded(300, 1, **space) if with_gallery else (None, None)
    rng = np.random.default_rng(2)
    cameras = (rng.integers(3, size=400), rng.integers(3, size=300) if with_gallery else None)
    both = read_query_and_gallery(points, labels, *others, *(cameras if with_cameras else (None, None)))
    got, ranking = first_hits(*both), rank_gallery(*both)
    assert np.array_equal(got.queries, ranking.queries)
    assert np.array_equal(got.rank, ranking.first_hit)
    assert np.array_equal(got.nearest_class, (both[1] or both[0]).classes[ranking.nearest[:, 0]])


def test_single_precision_settles_nearly_all(monkeypatch):
    ranked = []

    class Counted(SquaredDistances):
        def of(self, rows):
            ranked.extend(rows)
            return super().of(rows)

    monkeypatch.setattr(module, "SquaredDistances", Counted)
    first_hits(read(*embedded(2000, 0)))
    assert len(ranked) < 20
    first_hits(read(*embedded(2000, 0, grid=1)))
    assert len(ranked) > 1000  # equally near ones need the rule for ties


@pytest.mark.parametrize("offset", [0, 1000])
def test_rough_distances_are_as_near_as_they_say(offset):
    points = rescale(*2 * [embedded(300, 3)[0] + np.float32(offset)])[0]
    distances = RoughDistances(points, points)
    exact = ((points[:, None] - points) ** 2).sum(axis=2)
    assert (np.abs(distances.of(slice(0, 300)) - exact) <= distances.error[:, None]).all()
    part = distances.of(slice(5, 9), slice(7, None))
    assert (np.abs(part - exact[5:9, 7:]) <= distances.error[5:9, None]).all()
    assert distances.error.max() < 1e-5
