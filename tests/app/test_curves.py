"""The drawer Curves below the map: free while closed; when open, a figure of what the map shows."""

import json
from base64 import b64decode

import numpy as np
import pytest
from dmlviz_app.answers.baseline_curves import BaselineCurves, baseline_curves
from dmlviz_app.forms.selection import SeenView, Selection
from dmlviz_app.forms.view_query import CURVES, QUERIES, SCORES
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.workbench import curves
from dmlviz_app.workbench import curves_panel as drawer
from dmlviz_app.workbench.current_view import PageContext, RunView
from dmlviz_app.workbench.curves_panel import NEIGHBORS, rank

from dmlviz import figures
from dmlviz.catalog.export_formats import FIGURES
from dmlviz.catalog.metrics import metric_of, metric_title
from dmlviz.cli.main import main
from dmlviz.config import TrainConfig
from dmlviz.figures.baselines import Baseline
from dmlviz.jobs.job import Status
from dmlviz.metrics.curves import recall_at_k
from tests.app import pages
from tests.waiting import until


class Page(pages.Page):
    """Explore with the drawer."""

    @property
    def figure(self):
        """What Plotly gets; None while there is none."""
        shown = self.test.get("plotly_chart")
        return json.loads(shown[0].proto.spec) if shown else None

    @property
    def awaits(self):
        """The work that the page waits for while baselines are being measured; None when it does not."""
        waits = [one for one in self.test.get("bidi_component") if one.key == "curves.baselines"]
        return json.loads(waits[0].proto.json)["work"] if waits else None

    @property
    def words(self):
        return pages.without_terms(" ".join(element.value for element in [*self.test.markdown, *self.test.caption]))


@pytest.fixture(autouse=True)
def no_baselines(monkeypatch):
    """Without the processes that measure them."""
    monkeypatch.setattr(drawer, "baseline_curves", lambda *_: BaselineCurves([], []))


@pytest.fixture
def measured(monkeypatch):
    """What was measured, in order."""
    asked = []
    monkeypatch.setattr(drawer, "measured_of", lambda *what: asked.append(what[1:]) or curves.measured_of(*what))
    return asked


def test_a_closed_drawer_computes_nothing(here, run, measured):
    page = Page(run=run.id)
    assert page.figure is None
    assert measured == []


FIGURE_NAMES = [name for name in CURVES if name not in (QUERIES, SCORES)]


@pytest.mark.parametrize("name", FIGURE_NAMES)
def test_a_url_opens_the_drawer_at_its_figure(here, run, name):
    page = Page(run=run.id, curves=name)
    expected = json.loads(getattr(figures, name)(run).to_json())
    for shown, alone in zip(page.figure["data"], expected["data"], strict=True):
        assert shown | {"name": ""} == alone | {"name": ""}  # the run's title is for the legend
    assert not page.figure["layout"].get("title")  # it is beside the figure
    assert expected["layout"]["meta"]["about"] in page.words
    assert FIGURES[name].summary in page.words
    assert page.test.session_state["page.explore"].to_query()["curves"] == name


def test_another_figure_is_shown_on_a_click_and_cached(here, run, monkeypatch):
    made = []
    monkeypatch.setattr(curves, "measure", lambda *what: made.append(what[0]) or figures.data.measure(*what))
    curves._measure.cache_clear()
    page = Page(run=run.id, curves="recall_at_k")
    for name in ("roc", "recall_at_k"):
        page.test.button_group(key="curves.figure").set_value(name)
        page.run()
        assert page.test.session_state["page.explore"].curves == name
    assert made == ["recall_at_k", "roc"]
    assert len(page.figure["data"]) == 2  # the line and its marks


def test_the_figure_shows_the_step_of_a_paused_replay(here, run):
    step = run.snapshot_steps[2]
    page = Page(run=run.id, curves="recall_at_k", step=step)
    assert f"200 tracked test images of Digits 8 × 8 after step {step}; 200 queries" in page.words
    page.test.session_state["page.explore"].seen = SeenView()
    page.run()
    assert "596 test images" in page.words


def test_the_figure_shows_the_last_snapshot_while_a_run_trains(here, write, monkeypatch):
    monkeypatch.setattr(here.scheduler, "status", lambda record: Status("running"))
    run = write(here.runs, TrainConfig(dataset="digits", seed=9), upto=14)
    last = run.snapshot_steps[-1]
    page = Page(run=run.id, curves="roc")
    assert f"tracked test images of Digits 8 × 8 after step {last}" in page.words
    assert ", the end" not in page.words


def test_before_the_first_snapshot_there_is_a_message(here, write, monkeypatch):
    monkeypatch.setattr(here.scheduler, "status", lambda record: Status("queued", 1, 1))
    run = here.runs.create(TrainConfig(dataset="digits", seed=11))
    for name in FIGURE_NAMES:
        page = Page(run=run.id, curves=name)
        assert page.figure is None
        assert "yet" in page.words


def test_baselines_are_drawn_beside_the_run(here, run, monkeypatch):
    images, labels = run.embeddings_at(None)
    pixels = Baseline("raw pixels", {"recall_at_k": recall_at_k(images[:, ::-1] * 3, labels)})
    monkeypatch.setattr(drawer, "baseline_curves", lambda *_: BaselineCurves([pixels], ["0123"]))
    page = Page(run=run.id, curves="recall_at_k")
    names = [trace.get("name") for trace in page.figure["data"]]
    assert names == [run.title, None, f"raw pixels: R@1 {pixels.curves['recall_at_k'].recall[0]:.4f}"]
    assert page.awaits == ["0123"]


def test_a_figure_is_drawn_anew_by_itself_when_a_baseline_is_measured(here, run, monkeypatch):
    measured = recall_at_k(*run.embeddings_at(None))
    pixels, untrained = (Baseline(name, {"recall_at_k": measured}) for name in ("raw pixels", "untrained net"))
    answers = iter([([], ["a", "b"]), ([pixels], ["b"]), ([pixels, untrained], [])])
    monkeypatch.setattr(drawer, "baseline_curves", lambda *_: BaselineCurves(*next(answers)))
    page = Page(run=run.id, curves="recall_at_k")
    assert page.awaits == ["a", "b"]
    page.run()
    assert page.awaits == ["b"]
    page.run()
    assert len(page.figure["data"]) == 4
    assert page.awaits is None


def test_baselines_are_measured_in_the_background_and_kept(here, run, digits):
    def state():
        return baseline_curves(run, digits, False, here)

    state()
    until(lambda: not state().work)
    measured = {baseline.name: baseline.curves for baseline in state().baselines}
    flat = digits.images.reshape(len(digits), -1).astype(np.float32) / 255
    assert measured["raw pixels"]["recall_at_k"].recall.tolist() == recall_at_k(flat, digits.labels).recall.tolist()
    assert measured["untrained net"]["roc"].area > 0.5
    for path in digits.folder(here.cache).glob("*.npz"):
        path.touch()
    assert not state().work


def test_random_queries_are_shown_with_their_neighbors_and_others_after_a_shuffle(here, run):
    selected = figures.data.images(run)
    rows, found = rank(selected, 1)
    embeddings = np.asarray(selected.embeddings, np.float64)
    for row, neighbors in zip(rows, found, strict=True):
        distances = np.linalg.norm(embeddings - embeddings[row], axis=1)
        distances[row] = np.inf
        assert distances[neighbors].tolist() == sorted(distances)[:NEIGHBORS]
    page = Page(run=run.id, curves=QUERIES)
    assert page.figure is None
    assert f"{len(run.labels)} test images" in page.words
    shown = [element.value for element in page.test.caption if " of 10" in element.value]
    assert len(shown) == 8
    page.test.button(key="curves.queries.shuffle").click()
    page.run()
    right = (run.labels[found] == run.labels[rows, None]).sum(axis=1)
    assert [element.value for element in page.test.caption if " of 10" in element.value] == [
        f"{run.labels[row]}: {hits} of 10" for row, hits in zip(rows, right, strict=True)
    ]


def test_all_scores_are_those_of_the_command(here, run, capsys):
    with pytest.raises(SystemExit):
        main(["evaluate", run.id, "--runs", str(here.runs.folder)])
    printed = dict(line.split() for line in capsys.readouterr().out.splitlines()[1:])
    page = Page(run=run.id, curves=SCORES)
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in page.words.split("\n") if line.startswith("| ")
    ]
    shown = {row[0]: row[1] for row in rows if len(row) == 3 and row[1]}
    assert {metric_title(key): value for key, value in printed.items() if metric_of(key)} == {
        title: value for title, value in shown.items() if title not in ("Score", "Queries", "Queries left out")
    }
    assert shown["Queries"] == printed["queries"] == "596"


def test_a_click_selects_the_images_behind_the_point(here, run, monkeypatch):
    page = Page(run=run.id, curves="recall_at_k")
    context = PageContext(page.test.session_state["page.explore"], here, RunView(run, Status("finished"), None))
    monkeypatch.setattr(drawer.st, "session_state", {})
    measured = curves.measured_of(run, "recall_at_k", None)
    k = int(measured.data.first_hit.max())
    drawer._select(context, context.run_view, measured, {"x": k, "y": 0.9, "curve_number": 0})
    expected = measured.data.images[measured.data.first_hit == k]
    assert context.ui.seen.selected == Selection.of("digits", expected)
    bits = np.unpackbits(np.frombuffer(b64decode(context.ui.seen.selected.bits), np.uint8), bitorder="little")
    assert np.flatnonzero(bits).tolist() == expected.tolist()


@pytest.mark.parametrize("odd", ["map", "x", ""])
def test_an_unknown_figure_in_the_url_leaves_the_drawer_closed(odd):
    assert UIState.from_query({"curves": odd}).curves is None
