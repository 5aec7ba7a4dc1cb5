"""What is chosen in a menu is what is taken, also where people have given two things the same title."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import app
from app.widgets.labels import unique_labels
from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS

MAIN = Path(app.__file__).parent / "page.py"
NAMES = ("custom-0b9a77e1fea75e75", "custom-66282fd0fea75e75", "custom-9931c0defea75e75")


@pytest.fixture
def equal_titles(here):
    """Three data sets with one title."""
    for name in NAMES:
        parts = {f"{part}_images": np.zeros((4, 8, 8), np.uint8) for part in custom_datasets.PARTS}
        labels = {f"{part}_labels": np.arange(4) % 2 for part in custom_datasets.PARTS}
        spec = replace(DATASETS["digits"], name=name, title="Gray", classes=("a", "b"))
        custom_datasets.save(here.data, name, spec.to_dict(), parts | labels)


@pytest.mark.parametrize("name", NAMES)
def test_a_training_is_on_the_data_set_that_was_chosen_of_those_with_one_title(here, equal_titles, monkeypatch, name):
    started = []
    monkeypatch.setattr(here.scheduler, "submit", lambda config, owner="": started.append(config) or config.id)
    page = AppTest.from_file(str(MAIN), default_timeout=60)
    page.query_params.update(dataset=name)
    page.run().run()  # as the browser sends back what is chosen
    page.button(key="train").click().run()
    assert [config.dataset for config in started] == [name]
    labels = [label for label in page.selectbox(key="set.dataset").options if label.startswith("Gray")]
    assert labels == ["Gray (0b9a77)", "Gray (66282f)", "Gray (9931c0)"]


def test_labels_are_as_given_where_they_differ_and_else_never_the_same():
    assert unique_labels([1, 2], str) == {1: "1", 2: "2"}
    titles = dict.fromkeys(NAMES[:2], "Gray") | {NAMES[2]: "Gray (66282f)"}
    labels = unique_labels(titles, titles.__getitem__)
    assert len(set(labels.values())) == 3
    assert all(label.startswith("Gray (") for label in labels.values())
