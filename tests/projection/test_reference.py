"""The reference engine is the library itself: t-SNE by scikit-learn, UMAP by umap-learn."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from sklearn.manifold import TSNE, trustworthiness
from threadpoolctl import threadpool_limits

from dmlviz.catalog.projections import REFERENCES
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection import check, place_on, project, projection_quality, reference, registry
from dmlviz.projection.euclidean_form import prepare

SMALL = {"perplexity": 10, "iterations": 250}
METRICS = next(one.choices for one in REFERENCES["tsne"].parameters if one.name == "metric")


def reference_tsne(**params: object) -> ProjectionConfig:
    return ProjectionConfig(method="tsne", engine="reference", params=SMALL | params, seed=3)


def directly(points: np.ndarray, **more: object) -> np.ndarray:
    with threadpool_limits(1):
        return TSNE(perplexity=10, max_iter=250, random_state=3, **more).fit_transform(points)


@pytest.mark.parametrize(
    ("params", "same"),
    [
        ({}, {}),
        ({"exaggeration": 4, "learning_rate": 50.0}, {"early_exaggeration": 4, "learning_rate": 50.0}),
        ({"metric": "manhattan", "init": "random"}, {"metric": "manhattan", "init": "random"}),
        ({"method": "exact"}, {"method": "exact"}),
    ],
)
def test_tsne_is_scikit_learns_bit_for_bit(digits, params, same):
    points = digits[0][:80]
    np.testing.assert_array_equal(project(points, reference_tsne(**params)).coordinates, directly(points, **same))


@pytest.mark.slow
def test_umap_is_umap_learns_bit_for_bit_and_places_new_points_by_its_transform():
    """Without compiling, which takes two minutes: numba then runs the same code as plain Python."""
    code = Path(__file__).with_name("umap_learn_twice.py")
    done = subprocess.run(
        [sys.executable, "-W", "error", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_map_shows_its_first_and_last_positions_and_says_what_it_does_between(digits):
    frames, phases = [], []
    drawn = project(
        digits[0][:80],
        reference_tsne(iterations=300),
        lambda iteration, of, _error, places: frames.append((iteration, of, places)) and False,
        on_phase=lambda *told: phases.append(told),
    )
    assert [frame[:2] for frame in frames] == [(0, 300), (drawn.iterations, 300)]
    assert frames[0][2].shape == (80, 2)
    np.testing.assert_array_equal(frames[-1][2], drawn.coordinates)
    assert phases[0] == ("scikit-learn lays out the points; it shows nothing before its end", 0, 300)
    assert drawn.error > 0


def test_a_stop_is_heard_while_the_library_works(digits, monkeypatch):
    works, may_end = threading.Event(), threading.Event()

    def forever(*_: object) -> None:
        works.set()
        may_end.wait(30)

    monkeypatch.setattr(reference, "_tsne", forever)
    assert project(digits[0][:80], reference_tsne(), stop=works.is_set).stopped
    may_end.set()


def test_a_progress_bar_that_nobody_waits_for_ends_the_work():
    progress = reference.ThreadProgress("compiling")
    file = reference._ProgressFile(progress)
    file.write("\r0")
    assert (progress.words, progress.iteration) == ("compiling", 0)
    file.write("\r17")
    assert progress.iteration == 17
    progress.cancelled = True
    with pytest.raises(SystemExit):
        file.write("\r18")


def test_what_the_library_refuses_is_a_sentence(digits, monkeypatch):
    def refuse(*_: object) -> None:
        raise ValueError("n_components must be smaller")

    monkeypatch.setattr(reference, "_tsne", refuse)
    with pytest.raises(UserError, match="scikit-learn cannot draw this: n_components must be smaller"):
        project(digits[0][:80], reference_tsne())


def test_points_without_a_place_are_a_sentence(digits, monkeypatch):
    lost = np.full((80, 2), np.nan, np.float32)
    monkeypatch.setattr(reference, "_tsne", lambda *_: registry.Layout(lost, None, 250))
    with pytest.raises(UserError, match=r"80 of 80 points no position.*more neighbors"):
        project(digits[0][:80], reference_tsne())


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"method": "pca", "engine": "reference"}, "draws tsne, umap; got pca"),
        ({"method": "tsne", "engine": "openTSNE"}, "'dmlviz', 'reference' or 'torchdr'; got 'openTSNE'"),
        ({"method": "umap", "params": {"densmap": True}}, "umap has no parameter 'densmap'"),
        ({"method": "umap", "engine": "reference", "params": {"metric": "hamming"}}, "one of euclidean, cosine"),
        ({"method": "umap", "engine": "reference", "params": {"min_dist": 0.8, "spread": 0.5}}, "at most spread"),
        ({"method": "tsne", "engine": "reference", "params": {"iterations": 100}}, "between 250 and 5000"),
        ({"method": "tsne", "engine": "reference", "params": {"learning_rate": "fast"}}, "a number or 'auto'"),
    ],
)
def test_settings_that_cannot_be_get_a_sentence(fields, sentence):
    with pytest.raises(UserError, match=sentence):
        ProjectionConfig(**fields)


def test_what_the_points_do_not_allow_is_said_before_any_work():
    with pytest.raises(UserError, match="use init = random"):
        check(reference_tsne(), 60, 1)
    with pytest.raises(UserError, match="5,001: use method = barnes_hut"):
        check(reference_tsne(method="exact"), 5_001, 64)
    with pytest.raises(UserError, match="cannot resume"):
        project(np.eye(80, dtype=np.float32), reference_tsne(), start=np.zeros((80, 2)), begun=10)


def test_the_engine_is_part_of_a_maps_identity_and_ours_keeps_its_old_one():
    ours, theirs = ProjectionConfig(method="umap"), ProjectionConfig(method="umap", engine="reference")
    assert ours.id != theirs.id
    assert "engine" not in json.loads(ours.to_json())
    for config in (ours, theirs):
        assert ProjectionConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize("metric", METRICS)
def test_new_points_are_placed_by_the_maps_own_metric(digits, metric):
    points = digits[0][:200]
    drawn = project(points, reference_tsne(metric=metric))
    np.testing.assert_array_equal(drawn.place(points[:3]), drawn.coordinates[:3])
    name = {"manhattan": "cityblock"}.get(metric, metric)
    new = digits[0][200:230]
    nearest = cdist(new, points, name).argmin(axis=1)
    apart = np.linalg.norm(place_on(drawn.config, points, drawn.coordinates, new) - drawn.coordinates[nearest], axis=1)
    assert np.median(apart) < 0.2 * np.ptp(drawn.coordinates)


@pytest.mark.parametrize("metric", METRICS)
def test_what_a_map_keeps_is_measured_by_its_own_metric(digits, metric):
    jitter = np.random.default_rng(0).normal(0, 1e-3, (150, 64))  # the few gray levels would make ties
    points = digits[0][:150] + jitter.astype(np.float32)
    places = points[:, 10:12]
    ours = projection_quality(points, places, 7, metric=metric).overall["trustworthiness"]
    theirs = trustworthiness(points.astype(np.float64), places.astype(np.float64), n_neighbors=7, metric=metric)
    assert ours == pytest.approx(theirs, abs=1e-4)


@pytest.mark.slow
def test_nothing_imports_umap_learn_before_it_draws():
    code = (
        "import sys, dmlviz.projection as p; p.project, p.place_on; "
        "import dmlviz.projection.reference, dmlviz.runs.projection_run; "
        "import dmlviz.workers.job_worker, dmlviz_app.application; "
        "assert not {'umap', 'numba', 'pynndescent', 'sklearn'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


CONFIGS = [
    ProjectionConfig(method="tsne", engine="torchdr", params={"perplexity": 10, "iterations": 300}, seed=3),
    ProjectionConfig(method="umap", engine="torchdr", params={"neighbors": 10, "iterations": 100}, seed=3),
]


def ids(config: ProjectionConfig) -> str:
    return config.method


@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_without_torchdr_a_sentence_says_what_to_install(digits, config, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchdr", None)
    with pytest.raises(UserError, match=r"drawn by TorchDR, which is not installed: pip install 'dmlviz\[torchdr\]'\."):
        project(digits[0][:60], config)


def test_it_draws_no_other_map():
    with pytest.raises(UserError, match="The engine torchdr draws tsne, umap; got pca"):
        ProjectionConfig(method="pca", engine="torchdr")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_the_map_is_torchdrs_and_is_measured_and_placed_on_like_any(digits, config):
    torchdr = pytest.importorskip("torchdr")
    points, state = digits[0][:200], torch.get_rng_state()
    drawn = project(points, config)
    assert (torch.get_rng_state() == state).all()
    params, options = config.params, {"random_state": 3, "device": "cpu", "backend": "faiss"}
    with torch.random.fork_rng():
        directly = (
            torchdr.TSNE(perplexity=10, max_iter=300, **options)
            if config.method == "tsne"
            else torchdr.UMAP(n_neighbors=10, max_iter=100, **options)
        ).fit_transform(prepare(points, "euclidean"))
    np.testing.assert_allclose(drawn.coordinates, directly, rtol=1e-4, atol=1e-4)
    assert drawn.iterations == params["iterations"]
    assert drawn.quality.overall["trustworthiness"] > 0.9
    np.testing.assert_allclose(
        place_on(config, points, drawn.coordinates, points[:1]),
        drawn.coordinates[:1],
        atol=np.ptp(drawn.coordinates) / 10,
    )
    assert project(points[:60], config.replace(dims=3)).coordinates.shape == (60, 3)
