"""What is chosen in a menu is what is taken, also where people have given two things the same title."""

from dataclasses import replace

import numpy as np
import pytest
from dmlviz_app.server.labels import unique_labels

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from tests.app.pages import open_page

NAMES = ("custom-0b9a77e1fea75e75", "custom-66282fd0fea75e75", "custom-9931c0defea75e75")


@pytest.fixture
def equal_titles(here):
    """Three data sets with one title."""
    for name in NAMES:
        parts = {f"{part}_images": np.zeros((4, 8, 8), np.uint8) for part in custom_datasets.PARTS}
        labels = {f"{part}_labels": np.arange(4) % 2 for part in custom_datasets.PARTS}
        spec = replace(DATASETS["digits"], name=name, title="Gray", classes=("a", "b"))
        custom_datasets.save(here.data, name, spec.to_dict(), parts | labels)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_training_is_on_the_data_set_that_was_chosen_of_those_with_one_title(here, equal_titles, monkeypatch, name):
    started = []
    monkeypatch.setattr(here.scheduler, "submit", lambda order, owner="": started.append(order) or order.begin())
    page = open_page(dataset=name).run()  # as the browser sends back what is chosen
    page.button(key="train").click().run()
    assert [order.dataset for order in started] == [name]
    labels = [label for label in page.selectbox(key="set.dataset").options if label.startswith("Gray")]
    assert labels == ["Gray (0b9a77)", "Gray (66282f)", "Gray (9931c0)"]


def test_labels_are_as_given_where_they_differ_and_else_never_the_same():
    assert unique_labels([1, 2], str) == {1: "1", 2: "2"}
    titles = dict.fromkeys(NAMES[:2], "Gray") | {NAMES[2]: "Gray (66282f)"}
    labels = unique_labels(titles, titles.__getitem__)
    assert len(set(labels.values())) == 3
    assert all(label.startswith("Gray (") for label in labels.values())
