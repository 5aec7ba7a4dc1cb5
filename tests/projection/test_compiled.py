"""Layouts by compiled loops: the same on any number of threads, after a stop, and with a damaged cache."""

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from dmlviz.config import ProjectionConfig
from dmlviz.ops import all_neighbors
from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.ops.neighbor_index import exact_table
from dmlviz.ops.squared_distances import use_threads
from dmlviz.projection import (
    euclidean_form,
    pacmap,
    project,
    projection_quality,
    quality,
    tsne_descent,
    umap,
    umap_forces,
)

CONFIGS = [
    ProjectionConfig(method="tsne", params={"iterations": 120}),
    ProjectionConfig(method="umap", params={"iterations": 40}),
    *(ProjectionConfig(method=method, params={"iterations": 400}) for method in ("pacmap", "localmap")),
]
SPACE = [config.replace(dims=3) for config in CONFIGS]


def ids(config: ProjectionConfig) -> str:
    return f"{config.method}-{config.dims}"


@pytest.fixture
def nothing_compiled(monkeypatch):
    for module in (tsne_descent, umap, pacmap):
        monkeypatch.setattr(module, "compiled", lambda load: None)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_a_map_is_the_same_on_any_number_of_threads(digits, config, monkeypatch):
    for module in (umap_forces, pacmap):
        monkeypatch.setattr(module, "_SHARED_FROM", 100)
    monkeypatch.setattr("dmlviz.projection.threads.available_cores", lambda: 4)
    maps = []
    for threads in (1, 2, 4):
        with use_threads(threads):
            maps.append(project(digits[0], config).coordinates)
    np.testing.assert_array_equal(maps[0], maps[1])
    np.testing.assert_array_equal(maps[0], maps[2])


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_a_map_of_many_points_names_the_recall_of_its_index_and_is_measured_by_exact_neighbors(config, monkeypatch):
    random = np.random.default_rng(0)
    points = (random.standard_normal((20, 8))[random.integers(20, size=3_000)] * 2).astype(np.float32)
    points += random.standard_normal(points.shape, np.float32)
    exact = project(points, config).quality
    assert "index_recall" not in exact.summary
    monkeypatch.setattr(euclidean_form, "INDEXED_FROM", 3_000)
    drawn = project(points, config)
    assert 0.97 <= drawn.quality.summary["index_recall"] < 1
    assert drawn.quality.summary["index_measured"] == 1_000
    assert drawn.quality.overall == projection_quality(points, drawn.coordinates).overall
    for measure, value in exact.overall.items():
        assert drawn.quality.overall[measure] == pytest.approx(value, rel=0.05)
    with use_threads(4):
        np.testing.assert_array_equal(project(points, config).coordinates, drawn.coordinates)


def stopped_and_resumed(points: np.ndarray, config: ProjectionConfig, at: int) -> np.ndarray:
    polled = count()
    first = project(points, config, stop=lambda: next(polled) > at)
    assert first.stopped
    assert 0 < first.iterations < config.params["iterations"]
    start = {"start": first.coordinates, "begun": first.iterations, "momentum": first.momentum}
    return project(points, config, **start).coordinates


@pytest.mark.parametrize("config", [*CONFIGS, *SPACE], ids=ids)
@pytest.mark.parametrize("at", [10, 30])
def test_a_resumed_layout_equals_one_that_was_never_stopped(digits, config, at):
    points = digits[0][:300]
    np.testing.assert_array_equal(stopped_and_resumed(points, config, at), project(points, config).coordinates)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_where_nothing_is_compiled_torch_draws_as_well(digits, config, nothing_compiled, request):
    points = digits[0][:400]
    drawn = project(points, config)
    resumed = stopped_and_resumed(points, config, 20)
    np.testing.assert_array_equal(resumed, drawn.coordinates)
    request.getfixturevalue("monkeypatch").undo()
    compiled = project(points, config)
    assert (compiled.coordinates != drawn.coordinates).any()
    for measure, value in compiled.quality.overall.items():
        assert value == pytest.approx(drawn.quality.overall[measure], rel=0.05)


@pytest.mark.parametrize("k", [1, 10, 40])
def test_neighbors_from_all_pairs_equal_those_of_an_exact_search(digits, monkeypatch, k):
    points = np.concatenate([digits[0], digits[0][:30], np.zeros((60, 64), np.float32)])
    squared, indices = EuclideanSearch(points).others(k)
    monkeypatch.setattr(all_neighbors, "FROM", 100)
    found_squared, found = EuclideanSearch(points).others(k)
    np.testing.assert_array_equal(found, indices)
    np.testing.assert_array_equal(found_squared, squared)


def test_a_compiled_loop_measures_the_same_quality(digits, monkeypatch):
    flat = project(digits[0]).coordinates
    flat[:20] = flat[20]
    expected = projection_quality(digits[0], flat)
    monkeypatch.setattr(quality, "_COMPILED_FROM", 100)
    found = projection_quality(digits[0], flat, neighbors=exact_table(digits[0], 12))
    for measure, values in expected.per_point.items():
        np.testing.assert_allclose(found.per_point[measure], values, atol=1e-4)
        assert found.overall[measure] == pytest.approx(expected.overall[measure], abs=1e-5)


LOAD = (
    "from dmlviz.ops.all_neighbors import load_kernels; from dmlviz.ops.compiled import compiled;"
    "print(compiled(load_kernels))"
)


def load_kernels(cache: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LOAD],
        env=os.environ | {"XDG_CACHE_HOME": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="XDG_CACHE_HOME names the cache folder on Linux")
def test_kernels_are_kept_and_damaged_ones_made_anew(tmp_path: Path):
    assert "neighbor_kernels" in load_kernels(str(tmp_path))
    files = sorted(tmp_path.rglob("*.nb?"))
    before = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in files}
    assert "neighbor_kernels" in load_kernels(str(tmp_path))
    assert {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in sorted(tmp_path.rglob("*.nb?"))} == before
    for file in files:
        content = bytearray(file.read_bytes())
        content[len(content) // 2 :] = b"\xff" * 50
        file.write_bytes(content)
    assert "neighbor_kernels" in load_kernels(str(tmp_path))
    assert all(file.stat().st_size > 200 for file in tmp_path.rglob("*.nbi"))
    assert "None" not in load_kernels(str(tmp_path))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="XDG_CACHE_HOME names the cache folder on Linux")
def test_where_nothing_can_be_kept_there_are_no_kernels():
    assert load_kernels("/dev/null/nowhere") == "None"
