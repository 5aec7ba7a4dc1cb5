"""The drawer Curves below the map: free while closed; when open, a figure of what the map shows."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import app
from app.panels import curves as drawer
from app.state import curves
from app.state.explore import UIState
from app.state.explore_options import CURVES
from dmlviz import figures
from dmlviz.catalog.figures import FIGURES
from dmlviz.config import TrainConfig
from dmlviz.jobs.job import Status

MAIN = Path(app.__file__).parent / "page.py"


class Page:
    """Explore with the drawer."""

    def __init__(self, **query):
        self.test = AppTest.from_file(str(MAIN), default_timeout=30)
        for name, value in query.items():
            self.test.query_params[name] = str(value)
        self.run()

    def run(self):
        self.test.run()
        assert not self.test.exception
        assert not any("Something went wrong" in caption.value for caption in self.test.caption)
        return self

    @property
    def figure(self):
        """What Plotly gets; None while there is none."""
        shown = self.test.get("plotly_chart")
        return json.loads(shown[0].proto.spec) if shown else None

    @property
    def words(self):
        return " ".join(element.value for element in [*self.test.markdown, *self.test.caption])


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


@pytest.mark.parametrize("name", CURVES)
def test_a_url_opens_the_drawer_at_its_figure(here, run, name):
    page = Page(run=run.id, curves=name)
    expected = json.loads(getattr(figures, name)(run).to_json())
    assert page.figure["data"] == expected["data"]
    assert not page.figure["layout"].get("title")  # it is beside the figure
    assert expected["layout"]["meta"]["about"] in page.words
    assert FIGURES[name].summary in page.words
    assert page.test.session_state["ui"].to_query()["curves"] == name


def test_another_figure_is_shown_on_a_click_and_cached(here, run, monkeypatch):
    made = []
    monkeypatch.setattr(curves, "measure", lambda *what: made.append(what[0]) or figures.data.measure(*what))
    curves._measured.cache_clear()
    page = Page(run=run.id, curves="recall_at_k")
    for name in ("roc", "recall_at_k"):
        page.test.button_group(key="curves.figure").set_value(name)
        page.run()
        assert page.test.session_state["ui"].curves == name
    assert made == ["recall_at_k", "roc"]
    assert len(page.figure["data"]) == 2


def test_the_figure_shows_the_step_of_a_paused_replay(here, run):
    step = run.snapshot_steps[2]
    page = Page(run=run.id, curves="recall_at_k", step=step)
    assert f"200 tracked test images of Digits 8 × 8 after step {step}; 200 queries" in page.words
    page.test.session_state["ui"].step = None
    page.run()
    assert "596 test images" in page.words


def test_the_figure_shows_the_last_snapshot_while_a_run_trains(here, write, monkeypatch):
    monkeypatch.setattr(here.scheduler, "status", lambda run, projection=None: Status("running"))
    run = write(here.runs, TrainConfig(dataset="digits", seed=9), upto=14)
    last = run.snapshot_steps[-1]
    page = Page(run=run.id, curves="roc")
    assert f"tracked test images of Digits 8 × 8 after step {last}" in page.words
    assert ", the end" not in page.words


def test_before_the_first_snapshot_there_is_a_message(here, write, monkeypatch):
    monkeypatch.setattr(here.scheduler, "status", lambda run, projection=None: Status("queued", 1, 1))
    run = here.runs.create(TrainConfig(dataset="digits", seed=11))
    for name in CURVES:
        page = Page(run=run.id, curves=name)
        assert page.figure is None
        assert "yet" in page.words


@pytest.mark.parametrize("odd", ["map", "precision_recall", "x", ""])
def test_an_unknown_figure_in_the_url_leaves_the_drawer_closed(odd):
    assert UIState.from_query({"curves": odd}).curves is None
