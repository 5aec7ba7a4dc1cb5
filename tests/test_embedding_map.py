"""The component's Python side: what a Streamlit script may give, and what it is told."""

import base64
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

SOURCE = Path(__file__).resolve().parents[1] / "packages/streamlit-embedding-map/streamlit_embedding_map/__init__.py"


@pytest.fixture
def shown(monkeypatch):
    """A function that shows a map whose page says `told`; returns the view, and what went to the page."""
    spec = importlib.util.spec_from_file_location("streamlit_embedding_map", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def show(*args, told=None, **kwargs):
        told = told or {"selected": [], "pinned": None}
        sent = {}

        def mount(key, data, **_):
            sent.update(data)
            return {"view": told}

        monkeypatch.setattr(module, "_component", lambda: mount)
        monkeypatch.setattr(module, "st", SimpleNamespace(session_state={"map": {"view": told}}))
        return module.embedding_map(*args, key="map", **kwargs), sent

    return show


XY = np.random.default_rng(0).normal(size=(4, 2))

LABELS = {
    "missing among texts": (pd.Series(["b", np.nan, "a", "b"]), [1, 2, 0, 1], ["a", "b", "no label"]),
    "None": ([None, "a", None, "a"], [1, 0, 1, 0], ["a", "no label"]),
    "an empty text": (["", "a", " ", "a"], [1, 0, 1, 0], ["a", "no label"]),
    "turned around": (["\u202eb", "a\u2066b", "b\n", "a"], [2, 1, 2, 0], ["a", "a b", "b"]),
    "a category": (pd.Categorical(["b", None, "a", "b"]), [1, 2, 0, 1], ["a", "b", "no label"]),
    "nullable": (pd.array([10, None, 9, 9], dtype="Int64"), [1, 2, 0, 0], ["9", "10", "no label"]),
    "floats that were whole": (np.array([10.0, np.nan, 9.0, 9.5]), [2, 3, 0, 1], ["9", "9.5", "10", "no label"]),
    "mixed": ([1, "one", 1.0, True], [0, 2, 0, 1], ["1", "True", "one"]),
    "n × 1": (np.array([["a"], ["b"], ["a"], ["b"]]), [0, 1, 0, 1], ["a", "b"]),
    "tuples": ([("a", 1), ("a", 2), ("a", 1), ("a", 1)], [0, 1, 0, 0], ["('a', 1)", "('a', 2)"]),
    "any index": (pd.Series([1, 2, 1, 2], index=[5, 5, 0, 9]), [0, 1, 0, 1], ["1", "2"]),
    "all missing": ([np.nan] * 4, [0, 0, 0, 0], ["no label"]),
}


@pytest.mark.parametrize(("labels", "ids", "classes"), LABELS.values(), ids=LABELS.keys())
def test_labels_of_any_kind_are_classes(shown, labels, ids, classes):
    _, sent = shown(XY, labels)
    assert (sent["labels"], sent["classes"]) == (ids, classes)


@pytest.mark.parametrize(
    ("told", "ids", "selected", "pinned"),
    [
        ({"selected": [0, 3, 9], "pinned": 3}, None, [0, 3], 3),
        ({"selected": [9], "pinned": 9}, None, [], None),
        ({"selected": ["d", "b", "gone"], "pinned": "a"}, ["a", "b", "c", "d"], [1, 3], 0),
        ({"selected": ["7"], "pinned": "9"}, [5, 6, 7, 8], [2], None),
        ({"selected": [1], "pinned": 1}, ["a", "b", "c", "d"], [], None),  # of a map without ids
        ({"selected": ["a"], "pinned": "a"}, None, [], None),  # of a map with ids
    ],
)
def test_a_selection_is_one_of_the_points_that_are_there(shown, told, ids, selected, pinned):
    view, sent = shown(XY, ids=ids, told=told)
    assert view == (selected, pinned)
    assert sent["view"] == {"selected": selected, "pinned": pinned}  # a page that is mounted anew shows it


def test_far_and_tiny_positions_keep_their_shape(shown):
    _, plain = shown(XY)
    for unit, offset in ((1, 1e9), (1e-12, 0), (1e30, 0)):
        _, sent = shown(XY * unit + offset)
        np.testing.assert_allclose(places(sent), places(plain), atol=1e-6)


def places(sent):
    return np.frombuffer(base64.b64decode(sent["coordinates"]), np.float32)


NEAR = (np.zeros((4, 2)), np.zeros((4, 2), int))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"coordinates": np.where([[0, 0], [0, 1], [0, 0], [1, 0]], np.nan, XY)}, "row 1 holds .*nan and 1 more"),
        ({"coordinates": XY[:, :1]}, r"got shape \(4, 1\)"),
        ({"coordinates": [["a", "b"]]}, "got something else"),
        ({"labels": ["a"]}, "labels has one entry for each of the 4 points; got 1"),
        ({"labels": None, "ids": ["a", "b", "a", "c"]}, "rows 0 and 2 are both 'a'"),
        ({"neighbors": (NEAR[0], NEAR[1] + 4)}, "from 0 to 3"),
        ({"neighbors": (NEAR[0] * np.nan, NEAR[1])}, "distances of neighbors are finite; row 0"),
        ({"neighbors": (NEAR[0][:, :1], NEAR[1])}, "two n × k arrays"),
        ({"neighbors": NEAR[::-1]}, "distances come first"),
    ],
)
def test_what_a_map_cannot_show_is_named_by_its_row(shown, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        shown(**{"coordinates": XY} | arguments)


def test_no_points_are_a_map(shown):
    assert shown(XY[:0], [], told={"selected": [1], "pinned": 1})[0] == ([], None)
