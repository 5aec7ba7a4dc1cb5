"""Pages keep their state, and their URLs encode it."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import app
from app.runtime import url_state
from app.state.run_list import RunListState

MAIN = Path(app.__file__).parent / "page.py"
EXPLORE, RUNS = (str(MAIN.parent / "screens" / name) for name in ("explore.py", "runs.py"))


@pytest.fixture
def page(here, write):
    write(here.runs)
    page = AppTest.from_file(str(MAIN), default_timeout=30)
    page.query_params["loss"] = "triplet"
    page.query_params["steps"] = "77"
    return page.run()


def query(page):
    return {name: value if isinstance(value, str) else value[0] for name, value in page.query_params.items()}


def links(page):
    """Title of each page in the bar: the query that it leads to."""
    return {element.proto.label: element.proto.query_string for element in page.get("page_link")}


def test_a_page_keeps_its_state_when_left_and_reopened_by_its_link(page):
    before = page.session_state["ui"]
    page.query_params.clear()
    page.switch_page(RUNS).run()
    assert query(page) == {}
    assert links(page)["Explore"] == "loss=triplet&steps=77"
    page.query_params["loss"], page.query_params["steps"] = "triplet", "77"
    page.switch_page(EXPLORE).run()
    assert page.session_state["ui"] is before


def test_another_persons_url_is_applied(page):
    page.query_params.clear()
    page.query_params["steps"] = "88"
    page.run()
    assert page.session_state["ui"].to_query() == {"steps": "88"}
    assert not page.exception


@pytest.mark.parametrize("query", [{}, {"sort": "size"}, {"search": "mnist"}, {"sort": "score", "search": "a b"}])
def test_the_run_list_is_restored_from_its_url(query):
    assert RunListState.from_query(query).to_query() == query


@pytest.mark.parametrize("query", [{"sort": "color"}, {"search": ""}, {"run": "x"}])
def test_unknown_run_list_parameters_are_ignored(query):
    assert RunListState.from_query(query).to_query() == {}


def test_a_click_sent_with_an_address_that_was_replaced_meanwhile_is_kept(page):
    start = query(page)
    page.button(key="train").click().run()
    ui = page.session_state["ui"]
    run = ui.run
    assert run is not None
    assert query(page) == start | {"run": run}
    page.query_params.clear()
    page.query_params.update(start)  # the browser has not heard of the run yet
    page.number_input(key="loss.triplet.margin").set_value(0.7).run()
    assert page.session_state["ui"].to_query() == start | {"run": run, "loss.margin": "0.7"}
    assert query(page) == start | {"run": run, "loss.margin": "0.7"}


def test_a_menu_opened_with_an_address_that_was_replaced_meanwhile_is_no_link(page):
    start = query(page)
    page.number_input(key="loss.triplet.margin").set_value(0.7).run()
    page.query_params.clear()
    page.query_params.update(start)  # the browser has not heard of the margin yet
    page.session_state[url_state._EVENT] = start  # as `note_event` does when a menu is opened
    page.run()
    assert page.session_state["ui"].to_query() == start | {"loss.margin": "0.7"}


def test_every_menu_notes_its_event():
    # Streamlit's own "rerun" cannot be told from a link.
    sources = "".join(file.read_text() for file in MAIN.parent.rglob("*.py"))
    assert "on_change=note_event" in sources
    assert 'on_change="rerun"' not in sources


def test_back_is_followed_also_to_the_address_before_the_last(page):
    start = query(page)
    page.number_input(key="loss.triplet.margin").set_value(0.7).run()
    page.query_params.clear()
    page.query_params.update(start)
    page.run()
    assert page.session_state["ui"].to_query() == start
