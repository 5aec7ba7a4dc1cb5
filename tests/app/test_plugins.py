"""A plug-in loss in the app: offered in the sidebar, explained on the Learn page."""

from pathlib import Path

import pytest
from dmlviz_app.learn.catalog_index import to_json

from dmlviz import plugins
from dmlviz.catalog.losses import LOSSES
from tests.app.pages import open_page, without_terms

ROOT = Path(__file__).parents[2]


@pytest.fixture
def plugged(monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", set())
    monkeypatch.setenv(plugins.ENVIRONMENT, "")
    plugins.load_plugins([ROOT / "examples" / "margin_ratio_loss.py"])
    yield LOSSES["margin_ratio"]
    LOSSES.remove("margin_ratio")


def test_the_sidebar_offers_the_plug_in_loss_with_its_parameters(here, plugged):
    test = open_page()
    test.selectbox(key="set.loss").select("margin_ratio").run()
    assert not test.exception
    keys = [widget.key for widget in [*test.number_input, *test.slider, *test.selectbox] if widget.key]
    assert any(key.endswith("ratio") for key in keys), keys


def test_it_can_be_a_part_of_a_sum_that_is_trained(here, plugged, monkeypatch):
    runs = []
    monkeypatch.setattr(here.scheduler, "submit", lambda order, owner="": runs.append(order.begin()) or runs[-1])
    test = open_page(dataset="digits", loss="weighted_sum")
    test.selectbox(key="loss.weighted_sum.a").select("margin_ratio").run()
    test.button(key="train").click().run()
    assert not test.exception
    assert [(run.config.loss, run.config.loss_params["a"]) for run in runs] == [("weighted_sum", "margin_ratio")]


def test_learn_has_a_page_for_the_plug_in_loss(here, plugged):
    test = open_page("learn")
    index = next(element for element in test.get("bidi_component") if element.key == "index")
    assert '"learn?loss=margin_ratio"' in index.proto.json
    test.query_params["loss"] = "margin_ratio"
    test.switch_page("learn/page.py").run()
    assert not test.exception
    said = without_terms(" ".join(element.value for element in test.markdown))
    for text in (plugged.title, plugged.summary, plugged.when_to_use, plugged.formula, "`ratio`"):
        assert text in said


def test_it_can_be_chosen_in_the_force_playground(plugged):
    info = to_json(plugged)
    assert (info["name"], info["needs_classes"]) == ("margin_ratio", False)
    assert [parameter["name"] for parameter in info["parameters"]] == ["ratio", "distance", "reduction"]
