"""The figures show the measured numbers, say of what, and are small."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import dmlviz_app
import numpy as np
import plotly.graph_objects as go
import pytest
from sklearn.metrics import auc

from dmlviz import figures, metrics
from dmlviz.catalog.export_formats import FIGURES
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.figures import style
from dmlviz.figures.data import columns, measure
from dmlviz.figures.drawing import draw
from dmlviz.figures.palette import class_colors
from dmlviz.runs import Runs, bundled_runs

APP = Path(dmlviz_app.__file__).parent
OF_ARRAYS = [name for name in figures.__all__ if name != "training_curves"]


@pytest.fixture(scope="module")
def told():
    """Embeddings and labels, the same whoever asks."""
    rng = np.random.default_rng(0)
    labels = rng.integers(5, size=400)
    points = rng.normal(size=(5, 2))[labels] * 1.5 + rng.normal(size=(400, 2))
    return points.astype(np.float32), labels


def written(figure):
    """All words of a figure."""
    return json.dumps(figure.to_plotly_json()["layout"], default=str)


def test_every_declared_figure_is_a_function_and_every_function_is_declared():
    assert sorted(FIGURES) == sorted(figures.__all__)
    for name in figures.__all__:
        assert getattr(figures, name).__doc__
    with pytest.raises(AttributeError):
        _ = figures.no_such_figure


def test_a_run_says_which_figures_and_options_there_are():
    run = Runs(bundled_runs()).list()[0]
    step = run.snapshot_steps[-1]
    assert f"after step {step:,}" in run.figure("ROC", step=step, dark=True).layout.title.subtitle.text
    with pytest.raises(UserError, match=r"^roc takes step, dark; got bogus: leave it out\.$"):
        run.figure("roc", bogus=1)
    for written, meant in (("distances", "distance_histogram"), ("Confusion", "confusion_matrix"), ("roc_", "roc")):
        with pytest.raises(UserError, match=f"did you mean '{meant}'"):
            run.figure(written)


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_a_figure_of_numbers_that_are_not_finite_is_refused(told, name):
    points, labels = told
    with pytest.raises(UserError, match=r"finite (embeddings|coordinates); got NaN"):
        getattr(figures, name)(np.where(np.arange(len(points))[:, None] == 3, np.nan, points), labels)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", OF_ARRAYS)
def test_a_figure_of_arrays_states_their_number(told, name, dark):
    figure = getattr(figures, name)(*told, dark=dark)
    assert isinstance(figure, go.Figure)
    assert "400 embeddings in 5 classes" in figure.layout.title.subtitle.text
    assert figure.layout.template.layout.paper_bgcolor == style.GROUND["dark" if dark else "light"]
    assert len(figure.to_json()) < 40_000
    if name != "map":
        assert figure.layout.xaxis.title.text
        assert figure.layout.yaxis.title.text


def test_tensors_are_accepted_like_arrays(told):
    import torch

    points, labels = told
    drawn = figures.recall_at_k(torch.from_numpy(points), torch.from_numpy(labels))
    assert np.array_equal(drawn.data[0].y, figures.recall_at_k(points, labels).data[0].y)


def test_the_marked_recalls_and_the_area_are_those_of_the_table(told):
    scores = metrics.evaluate(*told)
    marked = figures.recall_at_k(*told).data[1]
    assert list(marked.y) == [scores[f"recall_at_{k}"] for k in marked.x]
    assert list(marked.x) == [1, 5, 10]
    assert f"area {scores['roc_auc']:.4f}" in figures.roc(*told).layout.title.text


def test_what_is_drawn_of_a_roc_has_the_area_of_the_whole(told):
    line = figures.roc(*told).data[0]
    area = auc(line.x, line.y)
    assert area == pytest.approx(metrics.evaluate(*told)["roc_auc"], abs=5e-4)
    assert len(line.x) < 400


def test_every_image_is_once_in_the_matrix_and_once_on_the_map(told):
    drawn = figures.confusion_matrix(*told)
    names, counts = metrics.confusion(*told)
    texts = np.array(drawn.data[0].text)
    assert np.array_equal(np.where(texts == "", "0", texts).astype(int), counts)
    assert f"{np.trace(counts) / 400:.2%}" in drawn.layout.title.text
    own = np.array(drawn.data[1].z)
    assert np.array_equal(np.isfinite(own), np.eye(len(names), dtype=bool))
    items = np.concatenate([trace.customdata for trace in figures.map(*told).data])
    assert sorted(items) == list(range(400))


def test_each_kind_of_pairs_adds_up_to_one(told):
    for bars in figures.distance_histogram(*told).data:
        assert np.sum(bars.y) == pytest.approx(1)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ((np.eye(3),), "pass labels too"),
        ((np.eye(3), [0, 1]), "one label for each embedding"),
        ((np.ones((4, 5)), [0, 0, 1, 1]), "needs coordinates of shape"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(arrays, said):
    with pytest.raises(UserError, match=said):
        (figures.map if arrays[0].shape == (4, 5) else figures.roc)(*arrays)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A real run of the digits, trained for a moment."""
    import torch

    from dmlviz.runs.store import Runs
    from dmlviz.runs.training_run import train_and_record

    torch.set_num_threads(1)
    runs = Runs(tmp_path_factory.mktemp("figures"), bundled=tmp_path_factory.mktemp("none"))
    run = runs.create(
        TrainConfig(dataset="digits", net="mlp", embedding_dim=4, steps=12, num_snapshots=4, eval_subset_size=200)
    )
    list(train_and_record(run))
    return runs.get(run.id)


@pytest.mark.slow
@pytest.mark.parametrize("name", figures.__all__)
def test_a_run_says_which_images_and_which_step(run, name):
    figure = getattr(figures, name)(run)
    words = figure.layout.meta["about"]
    if name == "training_curves":
        assert words == "12 steps; scores of 120 validation images"
    else:
        assert words.startswith("596 test images of Digits 8 × 8 after step 12, the end")


def test_a_figure_of_a_run_agrees_with_the_scores_that_it_kept(run):
    assert figures.recall_at_k(run).data[0].y[0] == run.metrics["recall_at_1"]
    assert f"{run.metrics['roc_auc']:.4f}" in figures.roc(run).layout.title.text
    step = run.snapshot_steps[1]
    scores = metrics.evaluate(run.snapshot(step), run.labels[run.tracked_indices])
    drawn = figures.recall_at_k(run, step=step)
    assert drawn.data[0].y[4] == scores["recall_at_5"]
    assert drawn.layout.meta["about"].startswith(
        f"200 tracked test images of Digits 8 × 8 after step {step}; 200 queries"
    )


def test_a_map_of_a_step_has_the_watched_images_by_their_numbers(run):
    drawn = figures.map(run, step=run.snapshot_steps[0])
    assert sorted(np.concatenate([trace.customdata for trace in drawn.data])) == run.tracked_indices.tolist()
    assert [trace.name for trace in drawn.data] == [str(digit) for digit in range(10)]


def test_the_training_curves_show_the_events(run):
    lines = {trace.name: trace for trace in figures.training_curves(run).data}
    told = [event for event in run.events() if event["event"] == "step"]
    assert list(lines["loss"].y) == [event["loss"] for event in told]
    looks = [event for event in run.events() if event["event"] == "snapshot"]
    assert list(lines["P@1, validation"].x) == [event["step"] for event in looks]
    assert list(lines["MAP@R, validation"].y) == [event["metrics"]["map_at_r"] for event in looks]


def test_the_training_curves_mark_where_the_rate_falls(run, monkeypatch):
    falling = run.config.replace(schedule="step", decay_epochs=1, steps=100)
    monkeypatch.setattr(run, "config", falling)
    (images,) = [event["train_images"] for event in run.events() if event["event"] == "started"]
    every = images // falling.effective_batch_size
    drawn = figures.training_curves(run)
    assert [line.x0 for line in drawn.layout.shapes] == list(range(every, 100, every))
    assert f"falls to 0.1 of it every {every} steps" in drawn.layout.meta["about"]


def test_a_long_training_is_drawn_by_its_means(run, monkeypatch):
    told = [{"event": "step", "step": step, "loss": float(step)} for step in range(1, 1002)]
    monkeypatch.setattr(type(run), "events", lambda self: told)
    read = measure("training_curves", run).data
    assert read.every == 3
    assert len(read.steps) == 334
    assert (read.steps[0], read.losses[0]) == (3, 2.0)
    assert (read.steps[-1], read.losses[-1]) == (1001, 1000.5)  # the last two


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "map"])
def test_measured_data_give_the_same_figure_and_a_table(run, name):
    measured = measure(name, run)
    assert draw(name, measured).to_json() == getattr(figures, name)(run).to_json()
    lengths = {len(column) for column in columns(measured).values()}
    assert len(lengths) == 1


@pytest.mark.slow
def test_plotly_is_loaded_only_to_draw():
    lines = (
        "import sys",
        "from dmlviz import cli, config, export, figures, jobs, runs",
        "from dmlviz.cli import export, runs",
        "from dmlviz.figures import baselines, data, images_behind, palette",
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'plotly', 'torch', 'sklearn'}))",
        "figures.roc",
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'plotly', 'torch', 'sklearn'}))",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "['plotly']"]


@pytest.mark.slow
def test_colors_are_those_of_the_map_and_of_the_app(page_script):
    told = page_script("colors")["classes"]
    assert told == {theme: class_colors(40, theme) for theme in ("light", "dark")}
    config = tomllib.loads((APP.parent / ".streamlit" / "config.toml").read_text())
    for theme in ("light", "dark"):
        known = config["theme"][theme]
        ours = (style.ACCENT, style.GROUND, style.TEXT, style.LINE)
        names = ("primaryColor", "backgroundColor", "textColor", "borderColor")
        assert [colors[theme] for colors in ours] == [known[name] for name in names]


@pytest.mark.slow
def test_same_and_different_have_the_colors_of_the_batch_explorer(page_script):
    from dmlviz.figures.palette import DIFFERENT, SAME

    told = page_script("colors")
    assert (told["same"], told["different"]) == (SAME, DIFFERENT)
