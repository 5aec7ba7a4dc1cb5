"""How the map shows its images, in the address of Explore."""

import numpy as np
import pytest

from app.state.explore import UIState
from app.state.map_display import MapDisplay
from app.state.selection import Selection

TOLD = {"names": False, "contours": True, "images": "both", "markers": "column.camera", "hidden": [0, 1, 2, 7]}


def test_the_address_holds_what_is_set_on_the_map_and_what_is_isolated():
    display = MapDisplay.told(TOLD, "digits")
    state = UIState(display=display, isolated=Selection.of("digits", np.array([5, 8])))
    query = state.to_query()
    assert {name: query[name] for name in query if name != "isolate"} == {
        "show.names": "0",
        "show.contours": "1",
        "show.images": "both",
        "show.markers": "column.camera",
        "hide": "digits.0-2,7",
    }
    again = UIState.from_query(query)
    assert (again.display, again.isolated) == (display, state.isolated)
    assert again.display.props("digits") == TOLD


def test_a_map_as_it_begins_adds_nothing_to_the_address():
    assert UIState(display=MapDisplay.told({}, "digits")).to_query() == {}
    assert MapDisplay.told({"names": True, "contours": False, "hidden": []}, "digits") == MapDisplay()


def test_hidden_classes_are_those_of_one_data_set():
    display = MapDisplay.told(TOLD, "digits")
    assert "hidden" not in display.props("mnist")
    assert display.props("mnist")["contours"] is True


@pytest.mark.parametrize(
    "query",
    [
        {"show.names": "maybe", "show.images": "all", "show.markers": "stars", "show.more": "1"},
        {"hide": "digits"},
        {"hide": "digits.3,"},
        {"hide": "digits.0-999999,0-999999"},
        {"hide": "digits.9-3"},
        {"isolate": "digits.☃"},
    ],
)
def test_what_an_address_cannot_mean_is_left_out(query):
    state = UIState.from_query(query)
    assert (state.display, state.isolated, state.messages) == (MapDisplay(), None, [])
    assert state.to_query() == {}
