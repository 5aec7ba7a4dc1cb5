"""The Explore page without a browser: what it shows and which jobs it starts."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import app
from app.payloads.sprites import image_tiles
from app.state.explore import UIState
from app.state.selection import Selection
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.config import TrainConfig
from dmlviz.jobs.job import Status

MAIN = Path(app.__file__).parent / "page.py"


class Page:
    """An AppTest of the page, and what it sends to its components."""

    def __init__(self, **query):
        self.test = AppTest.from_file(str(MAIN), default_timeout=30)
        for name, value in query.items():
            self.test.query_params[name] = str(value)
        self.run()

    def run(self):
        self.test.run()
        assert not self.test.exception
        assert not any("Something went wrong" in caption.value for caption in self.test.caption)
        return self

    def __getattr__(self, name):
        return getattr(self.test, name)

    def data(self, component):
        """What the page sends to a component; None when it is not mounted. Python types only, or it would be text."""
        for element in self.test.get("bidi_component"):
            if element.key == component:
                data = json.loads(element.proto.json)
                assert isinstance(data, dict)
                return data
        return None

    @property
    def ui(self) -> UIState:
        return self.test.session_state["ui"]

    @property
    def captions(self):
        return " ".join(caption.value for caption in self.test.caption)


@pytest.fixture
def started(here, monkeypatch):
    """The configs that were submitted, instead of trainings."""
    submitted = []

    def submit(config, owner=""):
        submitted.append((config, owner))
        here.runs.create(config)
        return config.id

    monkeypatch.setattr(here.scheduler, "submit", submit)
    return submitted


def test_the_first_page_shows_the_bundled_run(here, write, tmp_path):
    write(here.runs)
    page = Page()
    shown = page.data("map")
    assert shown["autoplay"] is True
    assert "running" not in shown
    assert shown["view"] == "live"
    assert page.ui.to_query() == {}


def test_without_any_run_the_page_says_to_press_train(here, tmp_path):
    here.runs.bundled = tmp_path / "nothing"
    page = Page()
    assert page.data("map") is None
    assert "Press Train" in page.captions


def test_every_component_gets_json_props_of_one_run(here, run):
    page = Page(run=run.id, pin=3)
    for name in ("map", "scores", "loss_curve", "progress"):
        assert page.data(name)["run"] == run.id
    assert page.data("inspector")["subject"] == {"item": 3, "label": int(run.labels[3])}


def test_a_pin_sends_little_data(here, run):
    page = Page(run=run.id, pin=3)
    for name in ("map", "inspector", "scores", "loss_curve", "progress"):
        assert len(json.dumps(page.data(name))) < 1000, name


def test_a_selection_in_the_url_applies_only_to_its_data_set(here, run):
    word = Selection("digits", "IAE=").encode  # images 5 and 8
    assert Page(run=run.id, select=word).data("map")["selected"] == {"bits": "IAE="}
    other = Page(run=run.id, select=word.replace("digits", "mnist"))
    assert "selected" not in other.data("map")
    assert other.ui.selected is not None  # for when a run of those images is shown


def test_the_inspector_shows_the_runs_neighbors_of_the_pinned_image(here, run):
    page = Page(run=run.id, pin=5)
    expected = [neighbor.item for neighbor in run.neighbors(5, 10)]
    assert [item for item, _, _ in page.data("inspector")["near"]] == expected
    assert page.data("map")["neighbors"] == expected


@pytest.mark.parametrize("pin", [100_000, 596])
def test_a_pin_beyond_the_last_image_is_ignored(here, run, pin):
    page = Page(run=run.id, pin=pin)
    assert page.data("inspector")["placeholder"]


def test_train_submits_the_settings_and_shows_the_run(here, run, started):
    page = Page(run=run.id, dataset="digits", loss="triplet", steps=50)
    page.button(key="train").click()
    page.run()
    config, owner = started[0]
    assert config == TrainConfig(dataset="digits", loss="triplet", steps=50)
    assert len(owner) == 32
    assert page.data("map")["run"] == config.id
    assert page.test.query_params["run"] == config.id


def test_mnist_is_the_default_if_on_disk_and_digits_otherwise(here, run, started):
    page = Page(run=run.id)
    assert "MNIST is not downloaded" in page.captions
    page.button(key="train").click()
    page.run()
    assert started[0][0].dataset == "digits"


def test_settings_round_trip_through_the_url(here, run):
    page = Page(run=run.id)
    page.selectbox(key="set.loss").select("contrastive")
    page.run()
    page.number_input(key="loss.contrastive.margin").set_value(0.75)
    page.run()
    query = dict(page.test.query_params.items())
    assert query["loss"] == "contrastive"
    assert query["loss.margin"] == "0.75"
    again = Page(**query)
    assert again.number_input(key="loss.contrastive.margin").value == 0.75


def test_an_invalid_url_shows_a_message(here, run):
    page = Page(run=run.id, steps="-5")
    assert "steps" in page.captions
    gone = Page(run="0" * 16)
    assert "Run not found" in gone.captions


@pytest.mark.parametrize("loss", {loss.family: name for name, loss in LOSSES.items()}.values())
def test_the_form_offers_only_miners_that_the_loss_takes(here, run, loss):
    page = Page(run=run.id, loss=loss)
    declared = LOSSES[loss]
    assert page.selectbox(key="set.loss").value == loss
    assert any(declared.summary == caption.value for caption in page.test.caption)
    offered = [box for box in page.test.selectbox if box.key == "set.miner"]
    accepted = [miner for miner in MINERS.values() if miner.tuple_kind in declared.for_params({}).tuple_kinds]
    assert bool(offered) == bool(accepted)
    if offered:
        assert len(offered[0].options) == len(accepted) + 1


def test_a_full_queue_shows_its_message(here, run, monkeypatch):
    from dmlviz.errors import UserError

    def full(config, owner=""):
        raise UserError("You have one job under way and 3 waiting.")

    monkeypatch.setattr(here.scheduler, "submit", full)
    page = Page(run=run.id)
    page.button(key="train").click()
    page.run()
    assert "3 waiting" in page.captions
    assert page.data("map")["run"] == run.id


def test_stop_is_enabled_only_while_a_run_trains(here, write, monkeypatch):
    config = TrainConfig(dataset="digits", seed=9)
    run = write(here.runs, config, upto=8)
    asked = []
    monkeypatch.setattr(here.scheduler, "status", lambda run, projection=None: Status("running"))
    monkeypatch.setattr(
        here.scheduler, "stop", lambda run, projection=None, owner=None: asked.append((run, owner)) or True
    )
    page = Page(run=run.id)
    assert page.data("map")["running"] is True
    page.button(key="stop").click()
    page.run()
    assert [run for run, _ in asked] == [run.id]
    monkeypatch.undo()
    assert Page(run=run.id).button(key="stop").disabled


def test_a_failed_run_shows_its_reason(here, write, monkeypatch):
    from dmlviz.runs.record_writer import RecordWriter

    run = write(here.runs, TrainConfig(dataset="digits", seed=9), upto=4)
    with RecordWriter(run) as writer:
        writer.event("failed", step=3, reason="The loss became infinite at step 3.")
    page = Page(run=run.id)
    assert page.data("progress")["phase"] == "failed"
    assert page.data("progress")["reason"] == "The loss became infinite at step 3."


def test_an_interrupted_run_can_still_be_viewed(here, write):
    run = write(here.runs, TrainConfig(dataset="digits", seed=9), upto=10)
    page = Page(run=run.id, pin=int(run.tracked_indices[0]))
    assert page.data("progress")["phase"] == "interrupted"
    assert len(page.data("inspector")["near"]) == 10
    assert page.data("inspector")["among"] is None  # not among all test images


def test_queries_are_available_only_after_training(here, write):
    run = write(here.runs, TrainConfig(dataset="digits", seed=9), upto=4)
    page = Page(run=run.id)
    page.test.session_state["side"] = "Draw"
    page.run()
    assert "after training" in page.captions
    assert page.data("query_pad") is None


def test_widgets_follow_the_state(here, run):
    page = Page(run=run.id)
    page.test.session_state["more"] = True
    page.ui.set("steps", 77)
    page.run()
    assert page.number_input(key="set.steps").value == 77
    page.number_input(key="set.steps").set_value(78)
    page.run()
    assert page.ui.config("digits").steps == 78


def test_each_loss_of_a_sum_has_its_own_parameters(here):
    page = Page(dataset="digits", loss="weighted_sum")
    assert page.number_input(key="loss.weighted_sum.a.contrastive.margin").value == 1
    page.number_input(key="loss.weighted_sum.a.contrastive.margin").set_value(0.5)
    page.run()
    assert page.ui.config("digits").loss_params["a"]["margin"] == 0.5
    again = Page(**page.ui.to_query())
    assert again.ui.messages == []
    assert again.ui.config("digits") == page.ui.config("digits")
    assert again.number_input(key="loss.weighted_sum.a.contrastive.margin").value == 0.5

    page.selectbox(key="loss.weighted_sum.a").select("triplet")
    page.run()
    assert page.ui.config("digits").loss_params["a"] == "triplet"
    assert page.number_input(key="loss.weighted_sum.a.triplet.margin").value == pytest.approx(0.2)
    wrong = Page(loss="weighted_sum", **{"loss.a": "{'name': 'triplet', 'margin': -1}"})
    assert "margin lies between 0 and 100" in wrong.captions


def test_settings_under_more_are_rendered_only_when_open(here, run):
    page = Page(run=run.id)
    assert not [widget for widget in page.test.number_input if widget.key == "set.steps"]


def test_an_internal_error_shows_a_message_without_a_traceback(here, run, monkeypatch, caplog):
    from app.panels import map_panel

    def broken(*_):
        raise RuntimeError("a secret")

    monkeypatch.setattr(map_panel, "map_view", broken)
    test = AppTest.from_file(str(MAIN), default_timeout=30).run()
    assert not test.exception
    said = " ".join(caption.value for caption in test.caption)
    assert "Something went wrong" in said
    assert "secret" not in said
    assert "secret" in caplog.text


def test_digits_have_images_without_a_download(tmp_path):
    assert len(image_tiles("digits", tmp_path)) == 596


def test_after_an_interrupted_rerun_widgets_default_to_the_state(here):
    page = Page(dataset="digits", net="lenet", embedding_dim=16, loss="triplet", **{"loss.margin": "0.35"})
    for run in range(2):
        chosen = {box.key: box.options[box.proto.default] for box in page.selectbox if box.key.startswith("set.")}
        assert (chosen["set.net"], chosen["set.embedding_dim"]) == ("LeNet", "16"), f"run {run}"
        assert chosen["set.loss"].startswith("Triplet ")
        assert page.number_input(key="loss.triplet.margin").proto.default == pytest.approx(0.35)
        page.run()


def test_a_value_set_in_an_interrupted_rerun_is_set_again_and_no_other_is():
    def script():
        import streamlit as st

        from app.widgets.parameters import bound_widget, track_interrupted_rerun

        with track_interrupted_rerun():
            net = st.session_state["value"]
            bound_widget(st.selectbox, "Net", "net", net, lambda entered: None, options=["small", "lenet"])
            bound_widget(st.number_input, "Seed", "seed", 0, None)  # may hold what a person has not sent yet
            if st.session_state["newer run"]:
                st.stop()

    test = AppTest.from_function(script)
    is_set = []
    for net, interrupted in (("lenet", False), ("small", True), ("small", False), ("small", False)):
        test.session_state["value"], test.session_state["newer run"] = net, interrupted
        test.run()
        is_set.append((test.selectbox(key="net").proto.set_value, test.number_input(key="seed").proto.set_value))
    assert is_set == [(True, True), (True, False), (True, False), (False, False)]


def test_the_camera_tab_needs_https_or_localhost():
    from app.panels.inspector import _camera_allowed

    assert _camera_allowed("https://lecture.example/")
    assert _camera_allowed("http://localhost:8501/?run=1")
    assert _camera_allowed("http://127.0.0.1:8501")
    assert not _camera_allowed("http://192.168.0.7:8501")
    assert not _camera_allowed(None)


def test_the_first_page_never_shows_a_run_that_fails_on_purpose(here):
    assert not here.default_run().info.get("fails")


@pytest.mark.parametrize("odd", [{}, {"jpeg": 3}, {"jpeg": "no base64!"}, "text"])
def test_an_incomplete_paste_is_one_sentence(odd):
    from app.payloads.query import decode_paste, paste_count
    from dmlviz.errors import UserError

    with pytest.raises(UserError, match="paste it again"):
        decode_paste(odd)
    assert paste_count(odd) == 0
    assert decode_paste(None) is None


def test_a_select_box_without_a_value_is_empty():
    def script():
        import streamlit as st

        from app.widgets.parameters import bound_widget

        bound_widget(st.selectbox, "Run", "run", None, lambda entered: None, options=["first", "second"])

    test = AppTest.from_function(script).run()
    assert not test.exception
    assert test.selectbox(key="run").value is None
