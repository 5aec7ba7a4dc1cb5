"""Pages keep their state, and their URLs encode it."""

import zlib
from base64 import b64decode, b64encode, urlsafe_b64encode

import numpy as np
import pytest
from dmlviz_app.forms.selection import SeenView, Selection
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.widgets import url_state

from dmlviz.config.projection import MAX_BYTES
from tests.app.pages import MAIN, open_page

EXPLORE, RUNS = (str(MAIN.parent / name / "page.py") for name in ("explore", "runs"))


@pytest.fixture
def page(here, write):
    write(here.runs)
    return open_page(loss="triplet", steps=77)


def query(page):
    return {name: value if isinstance(value, str) else value[0] for name, value in page.query_params.items()}


def links(page):
    """Title of each page in the bar: the query that it leads to."""
    return {element.proto.label: element.proto.query_string for element in page.get("page_link")}


def test_a_page_keeps_its_state_when_left_and_reopened_by_its_link(page):
    before = page.session_state["page.explore"]
    page.query_params.clear()
    page.switch_page(RUNS).run()
    assert query(page) == {}
    assert links(page)["Explore"] == "loss=triplet&steps=77"
    page.query_params["loss"], page.query_params["steps"] = "triplet", "77"
    page.switch_page(EXPLORE).run()
    assert page.session_state["page.explore"] is before


def test_another_persons_url_is_applied(page):
    page.query_params.clear()
    page.query_params["steps"] = "88"
    page.run()
    assert page.session_state["page.explore"].to_query() == {"steps": "88"}
    assert not page.exception


@pytest.mark.slow
def test_a_click_sent_with_an_address_that_was_replaced_meanwhile_is_kept(page):
    start = query(page)
    page.button(key="train").click().run()
    ui = page.session_state["page.explore"]
    run = ui.run
    assert run is not None
    assert query(page) == start | {"run": run}
    page.query_params.clear()
    page.query_params.update(start)  # the browser has not heard of the run yet
    page.number_input(key="loss.triplet.margin").set_value(0.7).run()
    assert page.session_state["page.explore"].to_query() == start | {"run": run, "loss.margin": "0.7"}
    assert query(page) == start | {"run": run, "loss.margin": "0.7"}


def test_a_menu_opened_with_an_address_that_was_replaced_meanwhile_is_no_link(page):
    start = query(page)
    page.number_input(key="loss.triplet.margin").set_value(0.7).run()
    page.query_params.clear()
    page.query_params.update(start)  # the browser has not heard of the margin yet
    page.session_state[url_state._EVENT] = start  # as `note_event` does when a menu is opened
    page.run()
    assert page.session_state["page.explore"].to_query() == start | {"loss.margin": "0.7"}


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
    assert page.session_state["page.explore"].to_query() == start


def selection(items, n=10_000, dataset="mnist"):
    mask = np.zeros(n, bool)
    mask[list(items)] = True
    return Selection(dataset, b64encode(np.packbits(mask, bitorder="little").tobytes()).decode())


def items(selected):
    bits = np.frombuffer(b64decode(selected.bits), np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist()


@pytest.mark.parametrize("chosen", [[0], [9_999], [3, 4, 7_777], range(10_000), range(0, 10_000, 2)])
def test_a_selection_round_trips_through_the_url(chosen):
    query = SeenView(pinned=3, step=40, selected=selection(chosen)).to_query()
    seen = UIState.from_query(query).seen
    assert (seen.pinned, seen.step, seen.selected.dataset) == (3, 40, "mnist")
    assert items(seen.selected) == list(chosen)
    assert seen.to_query() == query
    assert UIState.from_query(query).to_query() == {}  # the browser writes it


def test_any_selection_of_10_000_images_fits_into_a_url():
    rng = np.random.default_rng(0)
    assert len(selection(rng.permutation(10_000)[:5000]).encode) < 1700
    assert len(selection(rng.permutation(10_000)[:10]).encode) < 80


@pytest.mark.parametrize(
    "word",
    [
        "",
        "mnist",
        "mnist.",
        "mnist.☃",
        "mnist.AAAA",
        selection([]).encode,
        "mnist." + urlsafe_b64encode(zlib.compress(b"\1" * (MAX_BYTES + 1))).decode(),
        selection([5]).encode[:-4],
    ],
)
def test_an_invalid_selection_selects_nothing(word):
    assert Selection.decode(word) is None
