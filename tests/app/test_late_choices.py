"""A button does what was chosen last, also where the page was not drawn again between the choice and the click."""

import numpy as np
import pyarrow as pa
import pytest
from dmlviz_app.forms.selection import SeenView, Selection
from dmlviz_app.labs import state as labs
from pyarrow import parquet

from dmlviz.data.corrections import load_corrections
from dmlviz.data.import_path import import_path
from dmlviz.labs.registry import LABS
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.studies.runner import StudyRunner
from tests.app.pages import open_page


@pytest.fixture
def trainings(here, monkeypatch):
    """The configs of the trainings that were started."""
    started = []

    def submit(order, owner=""):
        run = order.begin()
        started.append(run.config)
        return run

    monkeypatch.setattr(here.scheduler, "submit", submit)
    return started


def test_a_training_has_the_settings_of_now(run, trainings):
    page = open_page(run=run.id, dataset="digits")
    page.session_state["page.explore"].set("net", "linear")
    page.button(key="train").click().run()
    assert [config.net for config in trainings] == ["linear"]


def test_a_changed_copy_of_a_run_has_the_value_of_now(run, trainings):
    page = open_page("compare", a=run.id, b=run.id)
    page.session_state["change.field"] = "seed"
    page.run()
    value = f"change.{run.config.id}.seed"
    page.session_state[value] = 76
    page.run()
    page.session_state[value] = 77
    page.button(key="change.train").click().run()
    assert trainings == [run.config.replace(seed=77)]


def test_a_training_with_corrections_has_those_of_now(here, run, trainings):
    def exclude(image):
        corrections = load_corrections(here.data, "digits").decide(image, "exclude", classes=10, images=1198)
        corrections.save(here.data)
        return corrections

    exclude(3)
    page = open_page("clean", run=run.id)
    page.button(key="clean.train").click()
    both = exclude(5)
    page.run()
    assert [config.corrections for config in trainings] == [both.revision]


def test_a_lab_runs_on_the_data_of_now(here, run, monkeypatch):
    started = []
    monkeypatch.setattr(StudyRunner, "start", lambda self, lab, size, dataset, *_, **__: started.append(dataset))
    first, *_, last = LABS["margins"].datasets
    page = open_page("labs", lab="margins", data=first)
    page.session_state[labs.KEY].dataset = last
    page.button(key="lab.run").click().run()
    assert started == [last]


@pytest.mark.slow
def test_the_rows_that_are_selected_are_those_of_the_filter_of_now(here, tmp_path):
    columns = {"vector": np.eye(9).tolist(), "label": ["cat", "dog", "cow"] * 3, "name": list("abcdefghi")}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    run = import_embeddings(here.runs, import_path(tmp_path / "t.parquet"), "t")
    page = open_page(run=run.id)
    page.session_state["table"] = True
    page.run()
    page.session_state[f"table.search.{run.id}"] = "dog"
    page.button(key="table.select").click().run()
    assert page.session_state["page.explore"].seen.selected == Selection.of(run.config.dataset, np.array([1, 4, 7]))


@pytest.mark.slow
def test_the_table_lists_the_selection_in_the_order_of_a_column(here, tmp_path):
    columns = {"vector": np.eye(9).tolist(), "label": ["cat", "dog", "cow"] * 3, "price": np.arange(9.0)[::-1]}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    run = import_embeddings(here.runs, import_path(tmp_path / "t.parquet"), "t")
    page = open_page(run=run.id, select=Selection.of(run.config.dataset, np.array([1, 4, 7, 8])).encode)
    page.session_state["table"] = True
    page.run()
    page.checkbox(key=f"table.selection.{run.id}").check().run()
    page.selectbox(key=f"table.sort.{run.id}").select("price").run()
    assert page.dataframe[0].value.index.tolist() == [8, 7, 4, 1]
    page.multiselect(key=f"table.columns.{run.id}").select("price").run()
    page.slider(key=f"table.range.{run.id}.price").set_range(0, 4.5).run()
    assert page.dataframe[0].value.index.tolist() == [8, 7, 4]
    page.session_state["page.explore"].seen = SeenView()
    page.run()
    assert page.dataframe[0].value.empty
    assert any("Nothing is selected" in caption.value for caption in page.caption)
