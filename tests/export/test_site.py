"""The size of a static site: what is in it is tested in tests/browser/test_site.py."""

import dataclasses
import gzip
import json
import re

import numpy as np
import pytest
from plotly.offline import get_plotlyjs_version

from dmlviz import lessons
from dmlviz.cli.site import lesson_runs
from dmlviz.config import TrainConfig
from dmlviz.data import data_root
from dmlviz.errors import UserError
from dmlviz.export import RunExport, site
from dmlviz.export.contents import LessonExport
from dmlviz.export.lab_page import lab_figures
from dmlviz.export.lesson_page import lesson_page
from dmlviz.export.packed import pack_net, pack_run
from dmlviz.export.page import BUILT
from dmlviz.export.playground import _check_images, write_training
from dmlviz.export.program.writer import Program
from dmlviz.export.query_net import QueryNet
from dmlviz.export.site import MAX_BYTES, write_site
from dmlviz.lessons import LESSONS
from dmlviz.runs.store import Runs

MNIST_IMAGES = 1_550_000  # the sheet of its test images: 1.52 MB, which no test can make without MNIST
READY_MADE = ("476b1d8df4e46879", "dc2e30bde135d469")  # digits


@pytest.fixture
def lesson(tmp_path):
    store = Runs(tmp_path / "runs")
    return LessonExport(LESSONS["why-mining"], tuple(RunExport(store.get(name)) for name in READY_MADE))


def size_of(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def frames_in(file):
    text = gzip.decompress(file.read_bytes())
    contents = json.loads(text[4 : 4 + int.from_bytes(text[:4], "little")])["contents"]
    return sum(len(stream["frames"]) for stream in contents["streams"])


def run_like_mnist(draw):
    """Return the sizes of a default run's files, with numbers that compress no better than real ones."""
    n, k, tracked, dims, weights = 10_000, 10, 2_000, 64, 156_800

    def film(prefix):
        steps = draw.normal(0, 700, (60, 2 * tracked)).cumsum(axis=0)
        return {f"{prefix}{i}": np.clip(row, -32767, 32767).astype("<i2").tobytes() for i, row in enumerate(steps)}

    frames = film("replay") | {"end": draw.integers(-32767, 32767, 2 * n).astype("<i2").tobytes()} | film("live")
    near = {
        "items": draw.integers(0, n, (k, n)).astype("<u2"),
        "distances": np.sort(draw.integers(0, 30_000, (k, n)), axis=0).astype("<u2"),
    }
    events = [{"event": "replay", "frames": [{"id": "end"}]}]
    files = {"per_query.bin": draw.bytes(95_000), "values/live/center.f32": draw.bytes(36_000)}
    contents = {"labels": draw.integers(0, 10, n).astype("<u2"), "near": near, "files": files}
    run = pack_run(contents | {"streams": [{"events": events, "frames": frames}]})
    embeddings = draw.normal(0, 8_000, (n, dims)).astype("<i2")
    return len(run), len(pack_net(QueryNet({}, Program({}), {"weight": draw.normal(0, 0.05, weights)}, embeddings)))


def test_three_whole_runs_of_mnist_and_the_program_of_all_labs_leave_room_for_lessons():
    run, net = run_like_mnist(np.random.default_rng(0))
    plotly = len(gzip.compress((BUILT / "plotly.js").read_bytes()))
    script = len((BUILT / "standalone.js").read_bytes())
    assert 3 * (run + net) + MNIST_IMAGES + plotly + script < MAX_BYTES - 1_500_000


@pytest.mark.slow
def test_films_lose_frames_where_a_site_would_be_too_large(tmp_path, monkeypatch, lesson):
    assert write_site(tmp_path / "whole", [], [], "Site", [lesson]) == []
    names = [f"{run.run.id}" for run in lesson.runs]
    whole = [frames_in(tmp_path / "whole" / "runs" / f"{name}.bin") for name in names]
    monkeypatch.setattr(site, "MAX_BYTES", size_of(tmp_path / "whole") - 40_000)
    (note,) = write_site(tmp_path / "small", [], [], "Site", [lesson])
    assert re.fullmatch(r"To fit into \d MB, films leave out \d+ frames. To keep all: choose fewer .*", note)
    assert size_of(tmp_path / "small") <= site.MAX_BYTES
    for name, frames in zip(names, whole, strict=True):
        left = frames_in(tmp_path / "small" / "runs" / f"{name}.bin")
        assert frames / 3 < left < frames
        page = (tmp_path / "small" / "runs" / f"{name}.html").read_text(encoding="utf-8")
        assert re.search(r"To keep the file small, \d+ intermediate frames are left out", page)
        assert "left out" not in (tmp_path / "whole" / "runs" / f"{name}.html").read_text(encoding="utf-8")
    monkeypatch.setattr(site, "MAX_BYTES", 200_000)
    with pytest.raises(UserError, match=r"one frame a run: choose fewer .* \(--lesson-data digits\)"):
        write_site(tmp_path / "none", [], [], "Site", [lesson])
    assert not (tmp_path / "none").exists()


def test_the_part_of_plotly_that_a_site_has_is_of_the_same_version_and_draws_its_figures():
    head = (BUILT / "plotly.js").read_text(encoding="utf-8")[:200]
    assert f"(cartesian - minified) v{get_plotlyjs_version()}" in head
    figures = json.loads(gzip.decompress(lab_figures("reality-check")))
    kinds = {trace["type"] for figure in figures for trace in figure["light"]["data"]}
    assert {"scatter", "heatmap"} <= kinds <= {"scatter", "bar", "heatmap"}


def test_what_is_missing_is_trained_and_drawn_once(tmp_path, monkeypatch):
    lesson = LESSONS["do-not-trust-the-map"]
    task = dataclasses.replace(lesson.tasks[0], settings="steps=3&net=linear&view=pca")
    short = dataclasses.replace(lesson, tasks=(task,))
    monkeypatch.setitem(lessons.LESSONS, lesson.name, short)
    store, said = Runs(tmp_path), []
    export = lesson_runs(lesson.name, "digits", store, data_root(), said.append)
    assert [line.partition(": ")[2].split()[0] for line in said] == ["training", "projecting"]
    (kept,) = export.runs
    assert (kept.run.config, kept.projection.config) == (task.training("digits"), task.projection())
    again = lesson_runs(lesson.name, "digits", store, data_root(), said.append)
    assert len(said) == 2
    assert again.runs[0].run.id == kept.run.id

    page = lesson_page(export, ["name-of-the-page"], "Site")
    assert f"<td>{kept.run.metrics['precision_at_1']:.3f}</td>" in page
    assert page.index("name-of-the-page.html#run") < page.index("Your guess")  # the map comes first, without scores
    assert "On all 596 test images of Digits 8 × 8, after 3 steps." in page


def test_an_unknown_lesson_is_told(tmp_path):
    with pytest.raises(UserError, match="no lesson 'why-minning'; there are what-is-a-metric, why-a-margin"):
        lesson_runs("why-minning", "digits", Runs(tmp_path), data_root())


def test_a_task_leads_to_its_training_or_says_why_there_is_none(lesson):
    pages = [run.run.id for run in lesson.runs]
    page = lesson_page(lesson, pages, "Site", {"why-mining-1": "The page cannot <do> it.", "why-mining-2": ""})
    assert "<p>The page cannot &lt;do&gt; it.</p>" in page
    assert page.count("../playground/index.html?task=") == 1
    assert 'href="../playground/index.html?task=why-mining-2"' in page
    assert "task=" not in lesson_page(lesson, pages, "Site")


@pytest.mark.parametrize(
    ("settings", "packed", "reason"),
    [
        ({"held_out_classes": (7, 8)}, {}, "hold none out"),
        ({"classes_per_batch": 5}, {}, "A batch of a playground has 5 classes"),
        ({"max_train_images": 500}, {}, "other images than those that the playground has"),
        ({}, None, "has no images of Digits 8 × 8: add --with-data digits"),
        ({"dataset": "identities"}, {}, "classes"),
    ],
)
def test_a_playground_refuses_images_that_it_has_not(settings, packed, reason):
    config = TrainConfig(**{"dataset": "digits"} | settings)
    with pytest.raises(UserError, match=reason):
        _check_images(config, None if packed is None else TrainConfig(dataset="digits"))


@pytest.mark.slow
def test_images_of_a_playground_come_from_the_folder_that_is_named(monkeypatch, tmp_path):
    folder = data_root()
    if not (folder / "MNIST" / "raw").is_dir():
        pytest.skip("MNIST is not on this machine")
    monkeypatch.setenv("DMLVIZ_DATA", str(tmp_path))
    write_training(tmp_path / "page", TrainConfig(dataset="mnist", net="linear"), folder)
    assert (tmp_path / "page" / "mnist.bin").stat().st_size > 1_000_000
