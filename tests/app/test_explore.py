"""The Explore page without a browser: what it shows and which jobs it starts."""

import io
import json
import re
import sys
from contextlib import nullcontext
from dataclasses import replace
from html import unescape

import numpy as np
import pyarrow as pa
import pytest
from dmlviz_app.answers.sprites import image_tiles
from dmlviz_app.explore import backbone_state, settings
from dmlviz_app.explore.toolbar import recorded_run
from dmlviz_app.forms.selection import Selection
from dmlviz_app.forms.view_query import projection_views
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.workbench import current_view, progress_panel, projection_picker
from dmlviz_app.workbench.current_view import default_run, resolve_view
from dmlviz_app.workbench.projection_picker import choose_view
from PIL import Image
from pyarrow import parquet
from streamlit.testing.v1 import AppTest

import dmlviz
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.recipes import RECIPES
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data.import_path import import_path
from dmlviz.errors import UserError
from dmlviz.jobs.claims import work_id
from dmlviz.jobs.job import Status
from dmlviz.jobs.order import projection
from dmlviz.runs.import_embeddings import import_embeddings
from tests.app import pages
from tests.waiting import until

OPEN_ON_UMAP = current_view._open_on_umap
COLLAPSED, LEARNED = "1982b684f3268e0c", "476b1d8df4e46879"  # ready-made runs


class Page(pages.Page):
    """An AppTest of the page, and what it sends to its components."""

    def __getattr__(self, name):
        return getattr(self.test, name)

    def data(self, component):
        """What the page sends to a component, or to a part of the workbench; None where there is none."""
        if component in ("view", "map", "inspector", "scores"):
            workbench = self.data("workbench") or {}
            parts = workbench.get(f"{component}s" if component in ("map", "inspector") else component)
            return parts[0] if isinstance(parts, list) else parts
        for element in self.test.get("bidi_component"):
            if element.key == component:
                data = json.loads(element.proto.json)
                assert isinstance(data, dict)
                return data
        return None

    @property
    def ui(self) -> UIState:
        return self.test.session_state["page.explore"]

    @property
    def captions(self):
        return pages.without_terms(" ".join(caption.value for caption in self.test.caption))


@pytest.fixture
def started(here, monkeypatch):
    """The configs that were submitted, instead of trainings."""
    submitted = []

    def submit(order, owner=""):
        run = order.begin()
        submitted.append((run.config, owner))
        return run

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
    here.store.bundled = tmp_path / "nothing"
    page = Page()
    assert page.data("map") is None
    assert "Press Train" in page.captions


def test_every_component_gets_json_props_of_one_run(here, run):
    page = Page(run=run.id, pin=3)
    for name in ("map", "scores", "progress", "inspector", "view"):
        assert page.data(name)["run"] == run.id


def test_a_pin_sends_little_data(here, run):
    page = Page(run=run.id, pin=3)
    for name in ("map", "inspector", "scores", "progress"):
        assert len(json.dumps(page.data(name))) < 1000, name


def test_what_is_looked_at_changes_nothing_that_the_browser_is_sent(here, run):
    word = Selection("digits", "IAE=").encode  # images 5 and 8
    looked_at = {"pin": 5, "select": word, "isolate": word, "color": "error", "hide": "digits.3", "show.names": 0}
    plain, other = Page(run=run.id), Page(run=run.id, **looked_at)
    for name in ("map", "inspector", "scores", "view"):
        assert other.data(name) == plain.data(name)


def test_the_browser_is_followed_only_where_python_shows_something_of_the_view(here, run):
    assert not Page(run=run.id, pin=3).data("view")["follows"]
    followed = Page(run=run.id, curves="roc", pin=3, step=8).data("view")
    assert followed["follows"]
    assert followed["known"] == {"pin": "3", "step": "8"}


def test_train_submits_the_settings_and_shows_the_run(here, run, started):
    page = Page(run=run.id, dataset="digits", loss="triplet", steps=50)
    page.button(key="train").click()
    page.run()
    config, owner = started[0]
    assert config == TrainConfig(dataset="digits", loss="triplet", steps=50)
    assert len(owner) == 32
    assert page.data("map")["run"] == config.id
    assert page.test.query_params["run"] == config.id


def test_a_map_that_follows_stays_chosen_for_the_next_training(here, run, started, monkeypatch):
    monkeypatch.setattr(here.scheduler, "status", lambda _: Status("running"))
    page = Page(run=run.id, view="umap", steps=50)
    page.button(key="train").click()
    page.run()
    training, layout = (config for config, _ in started[-2:])
    assert (page.data("map")["run"], page.data("map")["view"]) == (training.id, layout.id)
    assert layout == ProjectionConfig.following("umap")
    assert page.test.query_params["view"] == "umap"


@pytest.mark.parametrize("method", projection_views())
@pytest.mark.parametrize("acts", ["map, train", "train, map", "train, drawn, map"])
def test_a_map_that_is_chosen_as_a_training_begins_is_that_of_the_training(
    here, run, started, monkeypatch, acts, method
):
    monkeypatch.setattr(here.scheduler, "status", lambda _: Status("running"))
    ui = UIState(run=run.id, settings={"dataset": "digits", "steps": 50})
    shown = resolve_view(ui, here)
    for act in acts.split(", "):
        if act == "train":
            settings._train(ui, here)
            started.clear()
        elif act == "drawn":
            shown = resolve_view(ui, here)
        else:
            choose_view(ui, here, shown, method)
    shown = resolve_view(ui, here)
    assert (shown.run.config.steps, shown.projection.config) == (50, ProjectionConfig.following(method))
    assert {config for config, _ in started} == {shown.projection.config}, "the run before gets no other map"


def test_train_says_what_was_trained_already_and_offers_another_seed(here, write, started, monkeypatch):
    config = TrainConfig(dataset="digits", steps=50)
    for seed in (0, 1):
        write(here.runs, config.replace(seed=seed))
    monkeypatch.setattr(here.scheduler, "submit", lambda order, owner="": order.existing() or started.append(order))
    page = Page(dataset="digits", steps=50)
    assert "Already trained" not in page.captions
    page.button(key="train").click()
    page.run()
    assert "Already trained; replayed." in page.captions
    assert (page.data("map")["run"], page.data("map")["replays"]) == (config.id, 1)
    page.button(key="train").click()
    page.run()
    assert page.data("map")["replays"] == 2
    again = page.button(key="train.again")
    assert again.label == "Train again with seed 2"
    page.ui.set("steps", 60)  # then it is no longer true
    page.run()
    assert "Already trained" not in page.captions


def test_mnist_is_the_default_if_on_disk_and_digits_otherwise(here, run, started):
    page = Page(run=run.id)
    assert "MNIST is not downloaded" in page.captions
    page.button(key="train").click()
    page.run()
    assert started[0][0].dataset == "digits"


def test_an_invalid_url_shows_a_message(here, run):
    page = Page(run=run.id, steps="-5")
    assert "steps" in page.captions
    gone = Page(run="0" * 16)
    assert "Run not found" in gone.captions


def test_the_last_layout_of_a_run_that_is_deleted_stays_and_says_what_to_do(here, run, write):
    gone = write(here.store, run.config.replace(seed=77))
    page = Page(run=gone.id)
    here.store.delete(gone.id)
    shown = page.run().data("map")
    assert (shown["run"], shown["gone"]) == (gone.id, True)
    assert "not found" not in page.captions


@pytest.mark.parametrize("loss", {loss.family: name for name, loss in LOSSES.items()}.values())
def test_the_form_offers_only_miners_that_the_loss_takes(here, run, loss):
    page = Page(run=run.id, loss=loss)
    declared = LOSSES[loss]
    assert page.selectbox(key="set.loss").value == loss
    assert any(declared.summary == pages.without_terms(caption.value) for caption in page.test.caption)
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


@pytest.mark.parametrize("phase", ["running", "finished", "failed"])
def test_stop_is_of_the_layout_while_it_is_computed_and_of_the_training_beside_a_finished_one(
    here, run, monkeypatch, phase
):
    layout, shown = projection(here.runs, run.id, ProjectionConfig(method="pca")).begin(), []
    monkeypatch.setattr(progress_panel, "mount", lambda *arguments, data, **options: shown.append(data))
    run_view = replace(current_view.run_view_of(run, here), status=Status("running"))
    run_view = replace(run_view, projection=layout, projection_status=Status(phase))
    progress_panel.progress_panel(UIState(), here, run_view)
    assert shown[0]["running"] == (phase != "failed")
    assert shown[0]["work"] == work_id(run.path if phase == "finished" else layout.path)


def test_a_failed_run_shows_its_reason(here, write, monkeypatch):
    from dmlviz.runs.record_writer import RecordWriter

    run = write(here.runs, TrainConfig(dataset="digits", seed=9), upto=4)
    with RecordWriter(run) as writer:
        writer.event({"event": "failed", "step": 3, "reason": "The loss became infinite at step 3."})
    page = Page(run=run.id)
    assert page.data("progress")["phase"] == "failed"
    assert page.data("progress")["reason"] == "The loss became infinite at step 3."


@pytest.mark.parametrize("end", ["stopped", "failed"])
def test_a_training_that_failed_at_once_says_why_although_a_map_was_to_follow_it(here, end):
    """The map of a training that never began would only say that it has no points."""
    from dmlviz.runs.record_writer import RecordWriter

    run = here.runs.create(TrainConfig(dataset="digits", seed=9), "failed")
    map_ = here.runs.create_projection(run, ProjectionConfig(method="tsne", follow=True))
    for record, event in ((run, "failed"), (map_, end)):
        with RecordWriter(record) as writer:
            writer.event({"event": event, "iteration": 0, "reason": f"The {record.path.name} is not on disk."})
    page = Page(run=run.id, view="tsne")
    assert page.data("map")["view"] == "live"
    assert page.data("progress")["reason"] == f"The {run.id} is not on disk."


@pytest.mark.slow
def test_a_map_of_the_end_keeps_the_alarm_that_was_on_there():
    """The t-SNE of a collapsed net has neat groups."""
    notes = [Page(run=run, view="pca").data("map")["picture"].get("note", "") for run in (COLLAPSED, LEARNED)]
    assert notes[0].startswith("Embeddings have collapsed to a point")
    assert "collapsed" not in notes[1]


def test_an_interrupted_run_can_still_be_viewed(here, write):
    run = write(here.runs, TrainConfig(dataset="digits", seed=9), upto=10)
    page = Page(run=run.id)
    assert page.data("progress")["phase"] == "interrupted"
    assert page.data("inspector")["among"] is None  # not among all test images


@pytest.fixture
def form(monkeypatch):
    """The value and the options of each field of a map's form, by key, once it is drawn without a page."""
    drawn = {}

    def widget(widget, label, key, value, on_change, **options):
        drawn[key] = value, options.get("options")

    monkeypatch.setattr(projection_picker, "bound_widget", widget)
    monkeypatch.setattr(projection_picker.st, "form", lambda *arguments, **options: nullcontext())  # a form stays open
    monkeypatch.setattr(projection_picker.st, "form_submit_button", lambda *arguments, **options: None)
    monkeypatch.setattr(projection_picker, "form_fields", lambda *arguments, **options: None)
    return drawn


@pytest.mark.parametrize("method", ["pca", "tsne", "umap"])
def test_the_parameters_of_a_run_that_trains_name_an_epoch_that_is_offered(here, write, form, method):
    run = write(here.runs, TrainConfig(dataset="digits", seed=9), upto=10)
    view = replace(current_view.run_view_of(run, here), status=Status("running"))
    projection_picker._form(UIState(view=method), here, view)
    value, options = form["view.epoch"]
    assert value in options


def test_the_page_is_given_the_route_that_answers_queries(here, run):
    page = Page(run=run.id)
    source = page.data("inspector")["query"]
    assert source["url"].startswith(f"dmlviz/runs/{run.id}/query?")
    assert source["view"] == "live"
    assert not source["live"]
    assert not page.test.get("file_uploader")


def test_widgets_follow_the_state(here, run):
    page = Page(run=run.id)
    page.ui.more = True
    page.ui.set("steps", 77)
    page.run()
    assert page.number_input(key="set.steps").value == 77
    page.number_input(key="set.steps").set_value(78)
    page.run()
    assert page.ui.config("digits").steps == 78
    assert not [widget for widget in page.test.selectbox if widget.key == "set.frozen_batch_norm"]
    page.ui.set("net", "protonet")
    page.run()
    page.selectbox(key="set.frozen_batch_norm").select(True)
    page.run()
    assert page.ui.config("digits").frozen_batch_norm
    assert Page(**page.ui.to_query()).ui.config("digits") == page.ui.config("digits")


def test_each_loss_of_a_sum_has_its_own_parameters(here):
    page = Page(dataset="digits", loss="weighted_sum")
    assert page.number_input(key="loss.weighted_sum.a.contrastive.margin").value == 1
    page.number_input(key="loss.weighted_sum.a.contrastive.margin").set_value(0.5)
    page.run()
    assert page.ui.config("digits").loss_params["a"]["margin"] == 0.5
    again = Page(**page.ui.to_query())
    assert again.ui.messages.all() == {}
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
    assert "Small net, 64 dimensions on a sphere, 600 steps" in page.captions
    assert Page(run=run.id, more=1).number_input(key="set.steps").value == 600


def test_the_form_starts_from_a_recipe_or_a_run_and_says_what_was_changed_since(here, run):
    page = Page(run=run.id, dataset="digits")
    recipe = RECIPES["arcface_circle"]
    page.selectbox(key="start").select(recipe.name)
    page.run()
    assert page.ui.config("mnist") == TrainConfig(dataset="digits", **recipe.settings)
    assert recipe.summary in page.captions
    assert page.ui.to_query()["from"] == recipe.name

    page.ui.set("steps", 77)
    page.run()
    assert "Changed: steps" in page.captions
    page.button(key="reset").click()
    page.run()
    assert page.ui.config("mnist") == TrainConfig(dataset="digits", **recipe.settings)

    page.button(key="use-settings").click()
    page.run()
    assert page.ui.config("mnist") == run.config
    page.ui.set("dataset", "mnist")
    page.ui.set("seed", 3)
    page.run()
    assert "Changed: dataset, seed" in page.captions
    again = Page(**page.ui.to_query())
    assert (again.ui.base, again.selectbox(key="start").value) == (run.id, run.id)
    assert "Changed: dataset, seed" in again.captions


def test_a_starting_point_that_is_gone_is_the_default(here, run):
    page = Page(run=run.id, **{"from": "0" * 16})
    assert page.selectbox(key="start").value == next(iter(RECIPES))
    assert "There is no recipe" in Page(**{"from": "quik"}).captions


def test_an_internal_error_shows_a_message_without_a_traceback(here, run, monkeypatch, caplog):
    from dmlviz_app.explore import maps

    def broken(*_, **__):
        raise RuntimeError("a secret")

    monkeypatch.setattr(maps, "maps", broken)
    test = AppTest.from_file(str(pages.MAIN), default_timeout=30).run()
    assert not test.exception
    said = " ".join(caption.value for caption in test.caption)
    assert "The workbench failed" in said
    assert "secret" not in said
    assert "secret" in caplog.text


def test_digits_have_images_without_a_download(tmp_path):
    assert len(image_tiles("digits", tmp_path)) == 596


def test_after_an_interrupted_rerun_widgets_default_to_the_state(here):
    page = Page(dataset="digits", net="lenet", embedding_dim=16, loss="triplet", more=1, **{"loss.margin": "0.35"})
    for run in range(2):
        chosen = {box.key: box.options[box.proto.default] for box in page.selectbox if box.key.startswith("set.")}
        assert (chosen["set.net"], chosen["set.embedding_dim"]) == ("LeNet", "16"), f"run {run}"
        assert chosen["set.loss"].startswith("Triplet ")
        assert page.number_input(key="loss.triplet.margin").proto.default == pytest.approx(0.35)
        page.run()


def test_a_value_set_in_an_interrupted_rerun_is_set_again_and_no_other_is():
    def script():
        import streamlit as st
        from dmlviz_app.forms.parameters import bound_widget, track_interrupted_rerun

        with track_interrupted_rerun():
            net = st.session_state["value"]
            bound_widget(st.selectbox, "Net", "net", net, lambda entered: None, options=["small", "lenet"])
            bound_widget(st.number_input, "Seed", "seed", 0, None)  # may hold what a person has not sent yet
            if st.session_state["newer run"]:
                st.stop()

    test = AppTest.from_function(script, default_timeout=120)
    is_set = []
    for net, interrupted in (("lenet", False), ("small", True), ("small", False), ("small", False)):
        test.session_state["value"], test.session_state["newer run"] = net, interrupted
        test.run()
        is_set.append((test.selectbox(key="net").proto.set_value, test.number_input(key="seed").proto.set_value))
    assert is_set == [(True, True), (True, False), (True, False), (False, False)]


def test_the_first_page_never_shows_a_run_that_fails_on_purpose(here):
    assert not default_run(here).info.get("fails")


def test_a_select_box_without_a_value_is_empty():
    def script():
        import streamlit as st
        from dmlviz_app.forms.parameters import bound_widget

        bound_widget(st.selectbox, "Run", "run", None, lambda entered: None, options=["first", "second"])

    test = AppTest.from_function(script, default_timeout=120).run()
    assert not test.exception
    assert test.selectbox(key="run").value is None


@pytest.fixture
def no_first_map(monkeypatch):
    """Own vectors open on the map that they have: no worker draws another one."""
    monkeypatch.setattr(current_view, "_open_on_umap", lambda *_: None)


@pytest.fixture
def imported(here, tmp_path, no_first_map):
    """A run of nine embeddings, one of them without a label."""
    columns = {
        "vector": np.eye(9).tolist(),
        "label": [*["cat", "dog", "cow"] * 2, "cat", "dog", None],
        "price": np.arange(9.0),
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    return import_embeddings(here.runs, import_path(tmp_path / "t.parquet"), "Nine animals")


@pytest.mark.parametrize("method", ["umap", "pca"])
def test_own_vectors_open_on_umap_and_pca_stands_in_until_it_is_drawn(here, imported, monkeypatch, method):
    monkeypatch.setattr(current_view, "_open_on_umap", OPEN_ON_UMAP)
    monkeypatch.setattr(here.scheduler, "submit", lambda order, owner="": order.existing() or order.begin())
    status = {"umap": Status("running"), "pca": Status("finished")}
    ended = here.scheduler.status
    monkeypatch.setattr(
        here.scheduler,
        "status",
        lambda record: ended(record) if record.path == imported.path else status[record.config.method],
    )
    if method == "umap":
        status["umap"] = Status("finished")
    page = Page(run=imported.id)
    shown = page.data("map")["view"]
    assert imported.projection(shown).config.method == method
    assert page.data("progress")["replaces_map"] == (method == "pca")
    assert ("awaits" in page.data("map")) == (method == "pca")  # no undo of what the page did
    assert page.ui.view == "umap"
    page.ui.set_view("live")  # what a person chooses stays
    page.run()
    assert page.data("map")["view"] == "live"
    assert page.data("workbench")["welcome"]["vectors"]


@pytest.mark.parametrize(("method", "said"), [("tsne", "perplexity = 3: 30"), ("umap", "neighbors = 8: 15")])
def test_the_form_of_a_map_of_few_points_says_what_is_lowered(here, imported, form, monkeypatch, method, said):
    told = []
    monkeypatch.setattr(projection_picker.st, "caption", told.append)
    view = current_view.run_view_of(imported, here)
    projection_picker._form(UIState(view=method), here, view)
    assert any(f"of 9 points is drawn with {said} is for more points." in line for line in told), told


def test_why_a_map_cannot_be_drawn_stands_on_the_map_and_goes_when_another_is_chosen(here, imported, monkeypatch):
    def refuse(order, owner=""):
        raise UserError("No more maps now.")

    monkeypatch.setattr(here.scheduler, "submit", refuse)
    page = Page(run=imported.id, view="tsne")
    assert page.ui.view == "live"
    assert page.data("map")["notices"] == ["No more maps now."]
    assert "No more maps" not in page.captions  # neither above it nor in the sidebar
    page.ui.set_view("live")
    page.run()
    assert page.data("map")["notices"] == []


def test_an_address_may_name_a_map_by_its_id(here, imported):
    drawn = here.runs.create_projection(imported, ProjectionConfig(method="pca", seed=7))
    for view, query in ((drawn.id, {"view": "pca", "map.seed": "7"}), ("0" * 16, {})):
        ui = UIState.from_query({"run": imported.id, "view": view})
        resolve_view(ui, here)
        assert ui.to_query() == {"run": imported.id} | query
    assert ui.messages.take("map.view") == [f"Run {imported.id} has no projection '0000000000000000'."]


@pytest.fixture
def recorded(here, no_first_map):
    """A run of one step of another program."""
    recording = dmlviz.record("A run elsewhere", labels=[0, 1] * 5, runs=here.runs.folder)
    recording.snapshot(1, np.random.default_rng(0).normal(size=(10, 4)))
    recording.close()
    run = next(run for run in here.runs.list() if run.title == "A run elsewhere")
    until(lambda: here.jobs.status(run.id).phase == "finished")  # until its scores are written, too
    return run


def words(page):
    return " ".join(element.value for element in [*page.sidebar.markdown, *page.sidebar.caption])


def keys(page):
    return {element.key for element in [*page.button, *page.get("button_group")]}


def test_an_import_says_what_it_is_and_offers_nothing_that_needs_a_net(imported):
    page = Page(run=imported.id, pin=0)
    assert all(word in words(page) for word in ("Nine animals", "Imported, 20", "9 rows, 9 dimensions", "**3**"))
    assert "Training" not in words(page)
    assert "train" not in keys(page)
    assert "query" not in page.data("inspector")
    assert not page.data("workbench").get("has_loss")  # an import has no loss
    assert page.data("inspector")["given"] is True  # so that "at the end of the run" is not said of it
    assert page.data("inspector")["history"] is False
    drawers = page.data("batch_explorer")
    assert (drawers["noun"], drawers["given"]) == ("row", True)  # distances need no net, batches do


@pytest.mark.slow
def test_a_recording_with_an_alarm_opens_on_the_map_of_its_steps(here, monkeypatch):
    monkeypatch.setattr(current_view, "_open_on_umap", OPEN_ON_UMAP)
    points = np.random.default_rng(0).normal(size=(40, 8))
    with dmlviz.record("diverges", labels=[0, 1] * 20, runs=here.runs.folder, data=here.data) as recording:
        recording.snapshot(1, points)
        with pytest.warns(dmlviz.recording.RecordingWarning):
            recording.snapshot(2, np.full_like(points, np.nan))
    assert Page(run=recording.run.id).data("map")["view"] == "live"


@pytest.mark.slow
def test_a_recording_says_how_long_its_training_was(recorded):
    page = Page(run=recorded.id)
    for word in ("Recorded from another program, 20", "10 rows", "**1 step**"):
        assert word in words(page), words(page)
    assert "train" not in keys(page)


def test_the_settings_are_a_click_away(imported):
    page = Page(run=imported.id)
    page.button(key="card.train").click()
    page.run()
    assert "train" in keys(page)
    assert "Nine animals" not in words(page)


def test_a_run_with_a_net_has_settings_and_the_tabs_of_queries(run):
    page = Page(run=run.id)
    assert "train" in keys(page)
    assert "query" in page.data("inspector")
    assert "card.train" not in keys(page)


@pytest.mark.slow
def test_the_first_page_says_that_another_program_records_a_run_and_shows_it_by_a_click(here, run):
    import dmlviz

    labels = np.repeat([0, 1], 20)
    page = AppTest.from_file(str(pages.MAIN), default_timeout=30).run()
    assert "recording.show" not in {button.key for button in page.button}
    with dmlviz.record("my run", labels=labels, runs=here.runs.folder, data=here.data) as recording:
        recording.snapshot(0, np.random.default_rng(0).normal(size=(40, 8)))
        until(lambda: recorded_run(here) is not None)
        page.run()
        assert any("Another program records **my run** now." in element.value for element in page.markdown)
        page.button(key="recording.show").click().run()
        assert page.session_state["page.explore"].run == recorded_run(here).id
        assert "recording.show" not in {button.key for button in page.button}
    recording.run  # noqa: B018 - waits for its end
    assert recorded_run(here) is None


def test_any_net_of_timm_is_a_backbone_and_is_there_again_when_it_was_refused(here, monkeypatch):
    orders = []
    monkeypatch.setattr(backbone_state, "missing_library", lambda _: "")
    monkeypatch.setattr(here.scheduler, "submit", lambda order, *_: orders.append(order.begin().order))
    page = Page(dataset="digits")
    page.button(key="backbone").click()
    page.run().selectbox(key="backbone-name").set_value("timm:")
    assert not [button for button in page.run().button if button.key == "backbone-start"]
    page.text_input(key="backbone-timm").set_value("two words")
    assert "letters, digits, dots" in page.run().captions
    page.text_input(key="backbone-timm").set_value("resnet19 ")
    page.run().button(key="backbone-start").click()
    page.run()
    assert orders[0]["backbone"] == "timm:resnet19"
    monkeypatch.setattr(type(here.features), "status", lambda *_: None)
    after_a_reload = Page(dataset="digits")
    after_a_reload.test.session_state["backbone-choice"] = page.test.session_state["backbone-choice"]
    after_a_reload.button(key="backbone").click()
    assert after_a_reload.run().text_input(key="backbone-timm").value == "resnet19"


@pytest.mark.slow
def test_an_augmentation_shows_what_it_does_to_the_chosen_data(client, monkeypatch) -> None:
    page = Page(dataset="digits", more=1)
    assert not [box for box in page.number_input if box.key == "set.augmentation.hue"]  # they are gray
    assert "not mirrored, as their classes are digits" in page.captions
    page.button(key="augmentation-usual").click()
    page.run()
    (address,) = re.findall(r'src="([^"]*/augmented/[^"]*)"', "".join(one.proto.body for one in page.get("html")))
    picture = np.asarray(Image.open(io.BytesIO(client.get(unescape(address)).content)))
    assert picture.shape == (3 * 8, 8 * 8)
    above, below = picture[:8], picture[8:].reshape(2, 8, 64)
    assert not (below == above).all(axis=(1, 2)).any()
    assert client.get("/dmlviz/augmented/digits.png?flip=2").json()["error"].endswith("got 2.")
    monkeypatch.setitem(sys.modules, "torchvision", None)
    captions = Page(dataset="digits", more=1, net="resnet18").captions  # the net and the augmentation
    assert captions.count("torchvision's, which is not installed: `pip install 'dmlviz[torchvision]'`") == 2
