"""The form of a map says what its points are: imported vectors have no epochs, recorded ones are no test images."""

import numpy as np
import pyarrow
import pytest
import streamlit as st

from dmlviz import add_data
from dmlviz.recording.inputs import recorded_dataset
from dmlviz.recording.run_writer import RunPlan, RunWriter
from tests.app.pages import open_page


@pytest.fixture(autouse=True)
def menus_are_open(monkeypatch):
    popover = st.popover

    def opened(*args, **kwargs):
        menu = popover(*args, **kwargs)
        menu.open = True
        return menu

    monkeypatch.setattr(st, "popover", opened)


def epochs(page):
    """The choices of epochs; None without the field."""
    assert any(button.label == "Draw" for button in page.button)
    return next((box.options for box in page.selectbox if box.label == "Epoch"), None)


@pytest.mark.slow
def test_imported_vectors_have_no_epochs_to_choose(here):
    table = pyarrow.table({"x": [*range(20)], "y": [*range(20)], "z": [1.5] * 20, "q": [2.5] * 20})
    own = add_data(table, vector="x,y,z,q", data=here.data, runs=here.runs.folder, report=str)
    assert epochs(open_page(run=own.id, view="tsne")) is None


def test_the_scores_of_points_without_pictures_have_no_baseline_of_pixels(here, client):
    own = add_data(
        pyarrow.table({"x": [*range(20)], "y": [*range(20)]}), data=here.data, runs=here.runs.folder, report=str
    )
    answer = client.get(f"/dmlviz/runs/{own.id}/baseline.json")
    assert (answer.status_code, answer.json()) == (200, None)


@pytest.fixture(params=["recorded", "table"])
def vectors(here, request):
    points, labels = np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 3
    if request.param == "table":
        table = pyarrow.table({f"x{i}": points[:, i] for i in range(5)} | {"label": labels})
        return add_data(table, data=here.data, runs=here.runs.folder, report=str)
    spec = recorded_dataset("mine", None, labels, ("a", "b", "c"))
    with RunWriter(RunPlan(here.runs.folder, "mine", "0" * 16, spec.to_dict()), labels, points) as writer:
        writer.snapshot(3, points)
        writer.end("", 1.0, 1.0)
    return writer.run


def test_whatever_the_page_asks_of_points_without_pictures_is_answered(client, vectors):
    for path in (
        *(
            "events",
            "tracked_items.json",
            "labels.u16",
            "nearest.bin",
            "per_query.bin",
            "columns.json",
            "baseline.json",
        ),
        *("neighbors/4.json", "neighbor-history/4.json", "example.json", "pair/4/5.json", "values/live/center.f32"),
        *("values/live/faithfulness.f32", "thumbnail-light.png"),
    ):
        assert client.get(f"/dmlviz/runs/{vectors.id}/{path}").status_code == 200, path


@pytest.mark.slow
def test_recorded_points_are_not_called_test_images(here):
    points, labels = np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 3
    spec = recorded_dataset("mine", None, labels, ("a", "b", "c"))
    with RunWriter(RunPlan(here.runs.folder, "mine", "0" * 16, spec.to_dict()), labels, points) as writer:
        writer.snapshot(3, points)
        writer.end("", 1.0, 1.0)
    assert epochs(open_page(run=writer.run.id, view="tsne")) == [
        "Final: all 30 points",
        "All epochs (1): 30 tracked points",
        "Step 3: 30 tracked points",
    ]
