"""Every part of a page fails in turn, and all others stand; a plug-in loss is a part like the built-in ones."""

import json
from functools import wraps
from pathlib import Path

import pytest
import streamlit as st
from dmlviz_app.answers.protocol import ItemNeighbors, NeighborHistory
from dmlviz_app.batch_explorer.protocol import BatchAnswer, DistancesAnswer
from dmlviz_app.feature import props
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.learn.catalog_index import to_json
from dmlviz_app.widgets import components
from dmlviz_app.widgets.protocol import MethodInfo
from dmlviz_app.workbench import current_view
from pydantic import TypeAdapter, ValidationError
from streamlit.testing.v1 import AppTest

from dmlviz import plugins
from dmlviz.catalog.losses import LOSSES
from dmlviz.runs.store import Runs, bundled_runs
from dmlviz.storage.run_schema.events import RunEvent
from dmlviz.workers import questions
from tests.app import pages
from tests.app.pages import open_page, without_terms

# Of these elements no two belong to one part.
PARTS = "train start set.dataset custom-data set.loss set.miner set.net set.sampler set.views set.held_out_classes"
PARTS += " set.seed view runs use-settings export progress workbench curves batch_explorer help glossary"
PARTS += " cards compare.a compare.workbench review lab-keep"
DRAWN = "button caption code html link_button markdown multiselect number_input page_link popover segmented_control"
DRAWN += " selectbox table text_input"


class Faults:
    """Counts what a page draws, and lets one call of these fail."""

    def __init__(self) -> None:
        self.next(-1)

    def next(self, number: int) -> None:
        """Begin a run of the page, in which the call of this number fails."""
        self.count, self.failing, self.train = 0, number, 0

    def at(self, draw):
        """Return the function that draws, or fails if it is its turn."""

        @wraps(draw)
        def call(*args, **kwargs):
            self.train = self.count if kwargs.get("key") == "train" else self.train
            self.count += 1
            if self.count - 1 == self.failing:
                raise RuntimeError("a secret")
            return draw(*args, **kwargs)

        return call


@pytest.fixture
def faults(monkeypatch):
    made = Faults()
    for name in DRAWN.split():
        monkeypatch.setattr(st, name, made.at(getattr(st, name)))
    renderer = components._renderer
    monkeypatch.setattr(components, "_renderer", lambda name: made.at(renderer(name)))
    return made


def parts(page: AppTest) -> set[str]:
    """Return which of the parts a page has."""
    drawn = [*page.button, *page.selectbox, *page.number_input, *page.multiselect]
    drawn += [
        element for kind in ("bidi_component", "button_group", "popover", "expander") for element in page.get(kind)
    ]
    return {str(getattr(element, "key", "")) for element in drawn} & {*PARTS.split()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["explore", "compare", "runs", "clean", "labs"])
def test_whatever_fails_the_rest_of_the_page_stands(here, run, faults, name):
    is_home = name == "explore"
    page = pages.open_page(run=run.id, more=1) if is_home else pages.open_page(name)
    faults.next(-1)
    page.run()
    whole, count = parts(page), faults.count if is_home else faults.train  # the sidebar is the same on all pages
    assert {"train", "set.loss", "help"} < whole
    faulty = []
    for number in range(count):
        faults.next(number)
        page.run()
        said = [caption.value for caption in page.caption if "details in the log" in caption.value]
        lost = whole - parts(page)
        if page.exception or len(said) != 1 or "secret" in said[0] or len(lost) > 1:
            faulty.append((number, [one.value for one in page.exception], said, lost))
    assert not faulty, "\n".join(map(str, faulty))


def broken(*_, **__):
    raise RuntimeError("a secret")


def said_to_fail(page: AppTest) -> str:
    """Return what a page says to have failed, without a traceback and with its form."""
    assert not page.exception
    assert {"train", "set.loss", "help"} <= parts(page)
    return " ".join(caption.value for caption in page.caption if "details in the log" in caption.value)


def test_where_the_run_cannot_be_resolved_the_settings_stand(here, run, monkeypatch):
    page = pages.open_page(run=run.id)
    monkeypatch.setattr(current_view, "resolve_view", broken)
    assert "The shown run failed" in said_to_fail(page.run())
    assert "workbench" not in parts(page)
    monkeypatch.undo()
    assert "workbench" in parts(pages.run(page))


@pytest.mark.slow
def test_a_click_that_fails_leaves_the_whole_page(here, run, monkeypatch):
    page = pages.open_page(run=run.id)
    with monkeypatch.context() as patch:
        patch.setattr(here.scheduler, "submit", broken)
        assert "Train failed" in said_to_fail(page.button(key="train").click().run())
    with monkeypatch.context() as patch:
        patch.setattr(UIState, "set", broken)
        assert "The change of Loss failed" in said_to_fail(
            page.selectbox(key="set.loss").set_value("contrastive").run()
        )
    assert "workbench" in parts(page)
    page.selectbox(key="set.loss").set_value("triplet")
    page.button(key="train").click()
    pages.run(page)


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("change", [{"hints": "two"}, {"hint": 3}, {"hint": None}])
def test_undeclared_props_are_rejected(change):
    with pytest.raises(ValidationError):
        components.mount("query_pad", key="query_pad", data={"hint": "Draw here"} | change)


def test_every_component_that_streamlit_knows_has_props():
    built = {path.name.rpartition("-")[0] for path in (ROOT / "dmlviz" / "_frontend").glob("*-*.js")}
    assert built - {"page", "tour", "layout_worker"} == set(props())


def test_events_match_the_protocol(run):
    event = TypeAdapter(RunEvent)
    records = [run, *Runs(bundled_runs()).list()]
    records += [projection for known in records for projection in known.projections()]
    kinds = set()
    for record in records:
        for said in record.events():
            event.validate_json(json.dumps(said))
            kinds.add(said["event"])
    assert {"started", "step", "snapshot", "batch", "replay", "finished"} <= kinds


def test_answers_about_batches_distances_and_methods_match_the_protocol(client, run):
    ready = Runs(bundled_runs()).list()
    trained = next(known for known in ready if known.recorded_batch_steps)
    step = trained.recorded_batch_steps[0]
    wanted = {
        f"/dmlviz/runs/{trained.id}/batches/{step}.json": BatchAnswer,
        f"/dmlviz/runs/{run.id}/distances/{run.snapshot_steps[0]}.json": DistancesAnswer,
        f"/dmlviz/runs/{run.id}/neighbors/3.json": ItemNeighbors,
        f"/dmlviz/runs/{run.id}/neighbor-history/{run.tracked_indices[0]}.json": NeighborHistory,
        "/dmlviz/methods.json": dict[str, MethodInfo],
    }
    for address, declared in wanted.items():
        answer = client.get(address)
        assert answer.status_code == 200, (address, answer.text)
        TypeAdapter(declared).validate_json(answer.text)


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


def test_it_is_drawn_and_can_be_chosen_in_the_force_playground(client, here, plugged, monkeypatch):
    monkeypatch.setattr(here.scheduler.inference_worker, "call", lambda question: questions.answer(question, None))
    triangle = {"points": [[-0.4, -0.3], [0.5, 0.3], [0.2, -0.5]], "labels": [0, 0, 1]}
    bodies = {"curve": {}, "forces": triangle, "ground": triangle | {"index": 1, "places": [[0.0, 0.0]]}}
    for picture, body in bodies.items():
        assert client.post(f"/dmlviz/losses/margin_ratio/{picture}.json", json=body).status_code == 200
    info = to_json(plugged)
    assert (info["name"], info["needs_classes"]) == ("margin_ratio", False)
    assert [parameter["name"] for parameter in info["parameters"]] == ["ratio", "distance", "reduction"]
