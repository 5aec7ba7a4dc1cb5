"""Every choice of every menu can be opened by its address, and a button does what was chosen last."""

from dataclasses import replace
from itertools import cycle, islice

import numpy as np
import pyarrow as pa
import pytest
from dmlviz_app.forms.selection import SeenView, Selection
from dmlviz_app.labs import state as labs
from pyarrow import parquet
from streamlit.testing.v1 import AppTest

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import nets_for
from dmlviz.catalog.recipes import RECIPES
from dmlviz.data.corrections import load_corrections
from dmlviz.data.import_path import import_path
from dmlviz.labs.registry import LABS
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.studies.runner import StudyRunner
from tests.app import pages
from tests.app.pages import open_page

DATA = [name for name in DATASETS.builtin if DATASETS[name].trainable]


def loss_for(kind: str) -> str:
    """Return the first loss that compares tuples of a kind, or any loss."""
    return next(name for name, loss in LOSSES.items() if not kind or kind in loss.tuple_kinds)


LEARNED = [
    *({"loss": name} for name in LOSSES),
    *({"miner": name, "loss": loss_for(MINERS[name].tuple_kind)} for name in MINERS),
    *({"sampler": name, "loss": loss_for(SAMPLERS[name].tuple_kind)} for name in SAMPLERS),
    *({"normalize": on, "loss": "contrastive"} for on in ("0", "1")),
]
NETS = [{"net": net, "dataset": data} for data in DATA for net in nets_for(DATASETS[data])]
CHOICES = {  # each once: a net goes with any loss
    "set": [loss | net for loss, net in islice(zip(cycle(LEARNED), cycle(NETS)), max(len(LEARNED), len(NETS)))],
    "start": [{"from": name} for name in RECIPES],
}

CHOSEN = {"0": "False", "1": "True"}


@pytest.mark.slow
@pytest.mark.parametrize("menus", CHOICES)
def test_every_choice_can_be_opened(here, run, menus):
    page, faults = pages.open_page(), {}
    for query in CHOICES[menus]:
        page.query_params.clear()
        page.query_params.update(query | {"run": run.id, "more": "1"})
        pages.run(page)
        said = [caption.value for caption in page.caption if ":orange[" in caption.value]
        said += [] if "workbench" in {element.key for element in page.get("bidi_component")} else ["no map"]
        said += ["Train is disabled"] if page.button(key="train").disabled else []
        for menu, value in query.items():
            chosen = page.session_state["start" if menu == "from" else f"set.{menu}"]
            said += [] if str(chosen) == CHOSEN.get(value, value) else [f"{menu} is not chosen"]
        faults |= {f"{query}": said} if said else {}
    assert not faults, "\n".join(f"{query}: {said}" for query, said in faults.items())


NAMES = ("custom-0b9a77e1fea75e75", "custom-66282fd0fea75e75", "custom-9931c0defea75e75")


@pytest.fixture
def equal_titles(here):
    """Three data sets with one title."""
    for name in NAMES:
        parts = {f"{part}_images": np.zeros((40, 8, 8), np.uint8) for part in custom_datasets.PARTS}
        labels = {f"{part}_labels": np.arange(40) % 2 for part in custom_datasets.PARTS}
        spec = replace(DATASETS["digits"], name=name, title="Gray", classes=("a", "b"))
        custom_datasets.save(here.data, name, spec.to_dict(), parts | labels)


@pytest.fixture
def trainings(here, monkeypatch):
    """The configs of the trainings that were started."""
    runs = []
    monkeypatch.setattr(here.scheduler, "submit", lambda order, owner="": runs.append(order.begin()) or runs[-1])
    return lambda: [run.config for run in runs]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_training_is_on_the_data_set_that_was_chosen_of_those_with_one_title(equal_titles, trainings, name):
    page = open_page(dataset=name).run()  # as the browser sends back what is chosen
    page.button(key="train").click().run()
    assert [config.dataset for config in trainings()] == [name]
    labels = [label for label in page.selectbox(key="set.dataset").options if label.startswith("Gray")]
    assert labels == ["Gray (0b9a77)", "Gray (66282f)", "Gray (9931c0)"]


def form() -> None:
    import streamlit as st
    from dmlviz_app.forms.parameters import form_fields, form_values
    from dmlviz_app.forms.view_state import UIState

    from dmlviz.catalog.projections import REFERENCES

    if "page.explore" not in st.session_state:
        st.session_state["page.explore"] = UIState(view="tsne", projection_overrides={"engine": "reference"})
    ui, declared = st.session_state["page.explore"], REFERENCES["tsne"]
    with st.form("form"):
        form_fields("view", declared, declared.parameters, ui.params_with("reference"))
        st.form_submit_button("Draw", on_click=lambda: form_values(ui, "view", declared))


def test_a_number_or_special_value_is_read_when_the_form_is_submitted():
    page = AppTest.from_function(form, default_timeout=120).run()
    assert not page.exception

    def learning_rate() -> float | str:
        page.button[0].click().run()
        assert not page.exception
        assert page.session_state["page.explore"].messages.all() == {}
        return page.session_state["page.explore"].projection().params["learning_rate"]

    assert learning_rate() == "auto"
    page.selectbox("view.scikit-learn.learning_rate.word").select("a number")
    page.number_input("view.scikit-learn.learning_rate").set_value(300.0)
    assert learning_rate() == 300
    page.selectbox("view.scikit-learn.learning_rate.word").select("auto")
    assert learning_rate() == "auto"


def test_a_training_has_the_settings_of_now(run, trainings):
    page = open_page(run=run.id, dataset="digits")
    page.session_state["page.explore"].set("net", "linear")
    page.button(key="train").click().run()
    assert [config.net for config in trainings()] == ["linear"]


@pytest.mark.parametrize("field", ["custom_triplet.formula", "weighted_sum.a.custom_pair.formula"])
def test_a_formula_that_cannot_be_read_stays_in_its_field_and_is_not_trained(run, trainings, field):
    page = open_page(run=run.id, dataset="digits", loss=field.partition(".")[0], **{"loss.a": "custom_pair"})
    before = page.text_input(key=(field := f"loss.{field}")).value
    page.text_input(key=field).set_value("relu(").run()
    page.button(key="train").click().run()
    assert page.text_input(key=field).value == "relu("
    said = [caption.value for caption in page.sidebar.caption if "until it can be read" in caption.value]
    assert (len(said), len(trainings())) == (2, 0)
    page.text_input(key=field).set_value(before).run()
    page.button(key="train").click().run()
    assert len(trainings()) == 1


def test_a_changed_copy_of_a_run_has_the_value_of_now(run, trainings):
    page = open_page("compare", a=run.id, b=run.id)
    page.session_state["change.field"] = "seed"
    page.run()
    value = f"change.{run.config.id}.seed"
    page.session_state[value] = 76
    page.run()
    page.session_state[value] = 77
    page.button(key="change.train").click().run()
    assert trainings() == [run.config.replace(seed=77)]


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
    assert [config.corrections for config in trainings()] == [both.revision]


def test_a_lab_runs_on_the_data_of_now(here, run, monkeypatch):
    started = []
    monkeypatch.setattr(StudyRunner, "start", lambda self, lab, size, dataset, *_, **__: started.append(dataset))
    first, *_, last = LABS["margins"].datasets
    page = open_page("labs", lab="margins", data=first)
    page.session_state[labs.KEY].dataset = last
    page.button(key="lab.run").click().run()
    assert started == [last]


def imported(here, path, **column):
    """Return the run of a table of nine rows with this column."""
    parquet.write_table(pa.table({"vector": np.eye(9).tolist(), "label": ["cat", "dog", "cow"] * 3, **column}), path)
    return import_embeddings(here.runs, import_path(path), "t")


@pytest.mark.slow
def test_the_rows_that_are_selected_are_those_of_the_filter_of_now(here, tmp_path):
    run = imported(here, tmp_path / "t.parquet", name=list("abcdefghi"))
    page = open_page(run=run.id)
    page.session_state["table"] = True
    page.run()
    page.session_state[f"table.search.{run.id}"] = "dog"
    page.button(key="table.select").click().run()
    assert page.session_state["page.explore"].seen.selected == Selection.of(run.config.dataset, np.array([1, 4, 7]))


@pytest.mark.slow
def test_the_table_lists_the_selection_in_the_order_of_a_column(here, tmp_path):
    run = imported(here, tmp_path / "t.parquet", price=np.arange(9.0)[::-1])
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
