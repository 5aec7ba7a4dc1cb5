"""The Compare page: the pair, its differences, agreement, and trainings started from here."""

import asyncio
import json
from base64 import b64decode

import numpy as np
import pytest
from dmlviz_app.answers.nearest_neighbors import agreement_table, asked_agreement, nearest_neighbor_bytes
from dmlviz_app.compare import state as compare
from dmlviz_app.compare.props import compare_props, map_data
from dmlviz_app.compare.state import Compared, CompareState, differences, resolve, run_view
from dmlviz_app.compare.variant import PRESETS, fields, first_value, preset, with_setting
from dmlviz_app.forms.view_query import COMPARED_CURVES, projection_views

from dmlviz.catalog.losses import LOSSES
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.config.race import usual_losses
from dmlviz.errors import UserError
from dmlviz.figures.data import measure
from dmlviz.figures.drawing import draw
from dmlviz.runs.frames import Frame, HysteresisBounds
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.storage.files import write_array
from tests.app.pages import MAIN, open_page, without_terms

COMPARE = str(MAIN.parent / "compare" / "page.py")
DIGITS = TrainConfig(dataset="digits", net="mlp", embedding_dim=2, steps=30, eval_subset_size=200, seed=5)


@pytest.fixture
def two(here, write):
    """Two runs that differ by their seed, the newer first; their classes overlap."""
    here.store.bundled = here.store.folder / "none"
    runs = []
    for config in (DIGITS, DIGITS.replace(seed=6)):
        run = write(here.runs, config)
        noise = np.random.default_rng(config.seed).normal(size=run.embeddings.shape) / 5
        write_array(run.path / "embeddings.npy", (run.embeddings + noise).astype(np.float32))
        runs.insert(0, run)
    return runs


def agreement(a, b):
    return agreement_table(a, b, nearest_neighbor_bytes(a), nearest_neighbor_bytes(b))


def nearest_is_right(run):
    """By the definition, one image after the other."""
    x, labels = np.asarray(run.embeddings, np.float64), np.asarray(run.labels)
    right = []
    for i in range(len(x)):
        distances = np.linalg.norm(x - x[i], axis=1)
        distances[i] = np.inf
        right.append(labels[distances.argmin()] == labels[i])
    return np.array(right)


def test_the_agreement_table_counts_every_image_once(two):
    a, b = two
    first, second = nearest_is_right(a), nearest_is_right(b)
    cells = agreement(a, b)
    n = len(first)
    for name, mask in {
        "both": first & second,
        "first": first & ~second,
        "second": ~first & second,
        "neither": ~first & ~second,
    }.items():
        bits = np.frombuffer(b64decode(cells[name]["bits"]), np.uint8)
        np.testing.assert_array_equal(np.unpackbits(bits, bitorder="little")[:n].astype(bool), mask)
        assert cells[name]["count"] == mask.sum()
    assert cells["first"]["count"] > 0
    assert cells["second"]["count"] > 0


def test_a_run_agrees_with_itself(two):
    cells = agreement(two[0], two[0])
    assert cells["first"]["count"] == cells["second"]["count"] == 0
    assert sum(cell["count"] for cell in cells.values()) == len(two[0].labels)


def test_a_running_run_has_no_agreement_table(here, write, two):
    with pytest.raises(UserError, match="no embeddings"):
        agreement(two[0], write(here.runs, DIGITS.replace(seed=7), upto=4))


def test_missing_sides_are_filled_with_runs_of_the_same_data_set(here, two):
    ui = CompareState()
    pair = resolve(ui, here, preference=two[1].id)
    assert (pair.a.run.id, pair.b.run.id) == (two[1].id, two[0].id)
    assert pair.same_dataset
    assert pair.complete
    assert CompareState.from_query(ui.to_query()).to_query() == ui.to_query()


def test_a_deleted_run_is_reported_and_replaced(here, two):
    ui = CompareState(a="0" * 16, b=two[0].id)
    pair = resolve(ui, here, None)
    assert (pair.a.run.id, pair.b.run.id) == (two[1].id, two[0].id)
    assert ui.messages.all() == {"runs": "The first run was deleted; another stands in its place."}


def test_the_first_pair_learned_something_and_never_fails_on_purpose(here):
    pair = resolve(CompareState(), here, None)
    failure = next(run for run in here.runs.list() if run.info.get("fails"))
    assert not pair.a.run.info.get("fails")
    assert not pair.b.run.info.get("fails")
    assert resolve(CompareState(), here, failure.id).b.run.id != failure.id
    assert resolve(CompareState(a=failure.id), here, None).a.run.id == failure.id  # it was asked for


def test_the_first_pair_is_the_run_just_trained_and_the_one_that_is_one_setting_apart(here, two, write):
    newest = write(here.runs, DIGITS.replace(seed=12, steps=3))
    pair = resolve(CompareState(), here, two[1].id)
    assert (pair.a.run.id, pair.b.run.id) == (two[1].id, two[0].id)
    pair = resolve(CompareState(), here, newest.id)  # which none is so near
    assert (pair.a.run.id, pair.b.run.id) == (newest.id, two[0].id)


def test_the_newest_two_runs_that_can_be_compared_are_the_first_pair(here, two, write):
    alone = write(here.runs, DIGITS.replace(dataset="mnist"))
    for preferred in (None, alone.id):
        pair = resolve(CompareState(), here, preferred)
        assert (pair.a.run.id, pair.b.run.id) == (two[0].id, two[1].id)
    pair = resolve(CompareState(b=two[0].id), here, alone.id)
    assert pair.a.run.id == two[1].id
    pair = resolve(CompareState(a=alone.id), here, None)  # it was asked for
    assert (pair.a.run.id, pair.b) == (alone.id, None)


def test_a_single_run_is_shown_alone_and_an_empty_list_has_a_message(here, write):
    here.store.bundled = here.store.folder / "none"
    assert resolve(CompareState(), here, None) is None
    run = write(here.runs, DIGITS)
    pair = resolve(CompareState(), here, None)
    assert (pair.a.run.id, pair.b) == (run.id, None)
    assert not pair.same_dataset


def test_a_run_without_embeddings_is_compared_only_if_asked_for_and_said_to_be(here, two, write):
    ended = [write(here.runs, DIGITS.replace(seed=seed), upto=upto) for seed, upto in ((13, 0), (14, 4))]
    for preferred in (None, two[1].id):
        pair = resolve(CompareState(), here, preferred)
        assert {pair.a.run.id, pair.b.run.id} == {two[0].id, two[1].id}
    for run in ended:
        pair = resolve(CompareState(b=run.id), here, two[0].id)
        assert compare_props(pair)["status"].startswith(f"{run.title} ended before its test images were embedded")


@pytest.mark.parametrize("query", [{"a": "../x"}, {"b": ""}, {"pin": "-1"}, {"pin": "x"}])
def test_invalid_url_parameters_of_compare_are_ignored(query):
    assert CompareState.from_query(query).to_query() == {}


def test_selecting_one_run_for_both_sides_swaps_them():
    ui = CompareState(a="a" * 16, b="b" * 16)
    ui.select("b" * 16, "b" * 16)
    assert (ui.a, ui.b) == ("b" * 16, "a" * 16)


@pytest.fixture
def maps(here, two):
    """The first run, of which two maps are drawn; for the second, the correlation of distances is not known."""
    run = two[0]
    kept = {"trustworthiness": 0.9, "continuity": 0.8, "neighbors_kept": 0.7, "distance_correlation": None}
    for method, quality in (("tsne", kept | {"distance_correlation": 0.5}), ("umap", kept)):
        record = here.runs.create_projection(run, ProjectionConfig(method=method))
        with RecordWriter(record) as writer:
            writer.event({"event": "finished", "iteration": 1, "seconds": 0.1, "faithfulness": quality})
    return run


def test_two_maps_of_one_run_are_an_address(here, two):
    ui = CompareState(a=two[0].id, b=two[1].id)
    ui.select_twice(two[0])
    assert (ui.a, ui.b) == (two[0].id, two[0].id)
    assert ui.to_query() == {"a": two[0].id, "b": two[0].id, "view_a": "tsne", "view_b": "umap"}
    assert CompareState.from_query(ui.to_query()).to_query() == ui.to_query()
    ui.view_a = "umap"
    ui.view_b = "tsne"
    ui.select_twice(two[1])  # what was chosen stays
    assert (ui.a, ui.b, ui.view_a, ui.view_b) == (two[1].id, two[1].id, "umap", "tsne")
    assert CompareState.from_query({"view_a": "nonsense", "view_b": "live"}).to_query() == {}
    both = CompareState.from_query({"view": "tsne", "view_b": "umap"})
    assert both.to_query() == {"view_a": "tsne", "view_b": "umap"}


def test_two_maps_of_one_run_share_pins_but_no_places(here, maps):
    ui = CompareState(a=maps.id, b=maps.id, view_a="tsne", view_b="umap")
    pair = resolve(ui, here, None)
    assert (pair.a.projection.config.method, pair.b.projection.config.method) == ("tsne", "umap")
    assert (pair.same_run, pair.same_dataset, pair.same_view) == (True, True, False)
    props = map_data(pair.a, pair)
    assert (props["link"], props["links_views"]) == ("compare", False)


@pytest.mark.parametrize("trains", [False, True], ids=["whole", "trains"])
@pytest.mark.parametrize("turn", [[[0, 1], [-1, 0]], [[0.6, 0.8], [0.8, -0.6]]], ids=["turned", "mirrored"])
def test_a_second_map_is_turned_onto_the_first(here, two, turn, trains):
    rng = np.random.default_rng(5)
    places = rng.standard_normal((len(two[0].labels), 2)) * [3, 1]
    ui = CompareState(a=two[0].id, b=two[1].id, view_a="tsne", view_b="tsne")
    for run, shown in zip(two, (places, places @ np.array(turn).T + 7), strict=True):
        record = here.runs.create_projection(run, ProjectionConfig.following("tsne"))
        with RecordWriter(record) as writer:
            tracked = shown[run.tracked_indices]
            frame = writer.frame(Frame.quantized(tracked, "tracked", HysteresisBounds().around(tracked)))
            writer.event({"event": "frame", "iteration": 1, "of": 2, "step": 1, "frame": frame})
            writer.event({"event": "finished", "iteration": 1, "seconds": 0.1})
        if not (trains and run is two[1]):  # the last layout stands in
            write_array(record.path / "coordinates.npy", shown.astype("f4"))
    pair = resolve(ui, here, None)
    assert pair.same_view  # they followed: steps and eye are shared
    assert "turn" not in map_data(pair.a, pair)
    np.testing.assert_allclose(np.reshape(map_data(pair.b, pair)["turn"], (2, 2)), turn, atol=1e-3 if trains else 1e-5)
    ui.view_b = "live"
    pair = resolve(ui, here, None)
    assert pair.turn(pair.b) is None
    assert not resolve(ui, here, None).same_view


@pytest.mark.slow
def test_more_than_two_runs_are_small_maps_with_one_player_beside_the_untrained_net(here, two, write):
    third = write(here.runs, DIGITS.replace(seed=7))
    runs = [two[0].id, two[1].id, third.id]
    page = open_page("compare", **dict(zip("abd", runs, strict=True)))  # with a gap
    assert page.session_state[compare.KEY].to_query() == dict(zip("abc", runs, strict=True))
    workbench = workbench_props(page)
    maps = workbench["maps"]
    assert [one["run"] for one in maps] == [*runs, runs[0]]
    assert [one["small_map"]["nth"] for one in maps] == [0, 1, 2, None]
    assert {(one["view"], one["link"], one["links_views"]) for one in maps} == {("live", "compare", True)}
    assert [side["run"] for side in workbench["compare"]["sides"]] == runs
    assert len(workbench["inspectors"]) == 1
    page = open_page("compare", **dict(zip("abc", runs, strict=True)), view_a="tsne")
    maps = workbench_props(page)["maps"]
    methods = [here.runs.get(one["run"]).projection(one["view"]).config.method for one in maps]
    assert ([one["run"] for one in maps], methods) == (runs, ["tsne"] * 3), "one map for all"
    assert page.session_state[compare.KEY].to_query() == {**dict(zip("abc", runs, strict=True)), "view_a": "tsne"}


def test_a_race_from_the_form_is_one_job_whose_runs_compare_shows(here, monkeypatch):
    asked = []
    monkeypatch.setattr(type(here.scheduler), "race", lambda self, orders, owner="": asked.extend(orders))
    page = open_page(**{"from": "all_losses", "dataset": "digits", "steps": "5"})
    page.button(key="start.race").click().run()
    losses = [order.content["config"]["loss"] for order in asked]
    assert losses == usual_losses(TrainConfig(dataset="digits", embedding_dim=2))
    assert {(o.content["config"]["steps"], o.content["config"]["seed"]) for o in asked} == {(5, 0)}


def workbench_props(page):
    """What the page sends to its workbench."""
    (sent,) = [element for element in page.get("bidi_component") if element.key == "compare.workbench"]
    return json.loads(sent.proto.json)


def test_the_page_compares_what_two_maps_of_one_run_keep(here, maps):
    page = open_page("compare", a=maps.id, b=maps.id, view_a="tsne", view_b="umap")
    workbench = workbench_props(page)
    quality = workbench["compare"]["quality"]
    assert quality["titles"] == ["t-SNE", "UMAP"]
    assert ["Distance correlation", [0.5, None]] in quality["rows"]
    assert len(workbench["maps"]) == 2
    assert len(workbench["inspectors"]) == 1
    assert workbench["compare"]["sides"] == []


@pytest.mark.slow
@pytest.mark.parametrize("view", ["live", *projection_views()])
def test_scores_are_those_of_the_runs_on_every_map(here, two, view):
    pair = resolve(CompareState(a=two[0].id, b=two[1].id, view_a=view, view_b=view), here, None)
    assert (pair.a.projection is None) == (view == "live")
    sides = compare_props(pair)["sides"]
    assert [side["events_url"].partition("/runs/")[2] for side in sides] == [f"{run.id}/events" for run in two]


def test_a_map_that_a_run_cannot_have_is_noted_and_given_up(here, two, monkeypatch):
    monkeypatch.setattr(type(two[0]), "default_view", "pca")  # as of embeddings without classes
    ui = CompareState(a=two[0].id, b=two[1].id, view_a="pca")
    pair = resolve(ui, here, None)
    assert (pair.a.projection, ui.view_a) == (None, "live")
    assert len(ui.messages.all()) == 1


def test_runs_of_different_data_sets_cannot_be_compared(here, two):
    other = here.runs.create(TrainConfig(dataset="mnist", embedding_dim=2))
    pair = Compared((run_view(two[0], here), run_view(other, here)))
    assert not pair.same_dataset
    assert not pair.complete
    with pytest.raises(UserError, match="different data sets"):
        asyncio.run(asked_agreement(None, two[0], other))


def test_differences_use_the_labels_of_the_settings():
    a = TrainConfig(loss="triplet", loss_params={"margin": 0.2})
    assert differences(a, a) == []
    assert differences(a, a.replace(seed=3)) == [("seed", "0", "3")]
    assert differences(a, a.replace(augmentation={"flip": 0.5, "shift": 0.1})) == [
        ("augmentation", "none", "flip 0.5, shift 0.1")
    ]
    assert differences(a, a.replace(prefixes=(2, 8))) == [("prefixes", "none", "2, 8")]
    assert differences(a, a.replace(space="poincare")) == [("space", "sphere", "Poincaré ball")]
    assert differences(a, a.replace(loss_params={"margin": 0.5})) == [("loss's margin", "0.2", "0.5")]
    told = differences(a, TrainConfig(loss="softmax"))
    assert ("loss", LOSSES["triplet"].title, LOSSES["softmax"].title) in told


@pytest.mark.parametrize(("name", "value"), [("seed", 9), ("embedding_dim", 8), ("loss.margin", 0.7), ("steps", 50)])
def test_changing_one_setting_changes_no_other(name, value):
    config = TrainConfig(loss="triplet")
    changed = with_setting(config, name, value)
    assert len(differences(config, changed)) == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_every_setting_of_every_loss_starts_with_a_value_that_differs_and_can_be_trained(loss):
    config = TrainConfig(dataset="digits", loss=loss)
    same = [name for name in fields(config) if with_setting(config, name, first_value(config, name)).id == config.id]
    assert same == []
    smooth = "label_smoothing" in {one.name for one in LOSSES[loss].parameters}  # 0 is in no config
    assert ("loss.label_smoothing" in fields(config)) == smooth
    if smooth:
        changed = with_setting(config, "loss.label_smoothing", 0.1)
        assert [row[0] for row in differences(config, changed)] == ["loss's label_smoothing"]


def test_an_invalid_change_is_one_sentence():
    with pytest.raises(UserError, match="images_per_class"):
        with_setting(TrainConfig(loss="triplet"), "images_per_class", 1)


@pytest.mark.parametrize(("dataset", "kind"), PRESETS)
def test_a_preset_pair_differs_only_in_how_tuples_are_made(dataset, kind):
    blind, mined = preset(dataset, kind)
    same = ("dataset", "net", "embedding_dim", "normalize", "loss", "steps", "seed", "optimizer", "learning_rate")
    assert all(getattr(blind, name) == getattr(mined, name) for name in (*same, "schedule", "loss_params"))
    assert blind.sampler == f"random_{kind}"
    assert blind.miner is None
    assert (mined.sampler, mined.miner is not None) == ("balanced", True)
    assert abs(blind.effective_batch_size - mined.effective_batch_size) <= 1


def test_the_page_shows_both_maps_and_the_differing_settings(here, two):
    page = open_page("compare", a=two[0].id, b=two[1].id, pin=3)
    workbench = workbench_props(page)
    for name in ("maps", "inspectors"):
        assert [part["run"] for part in workbench[name]] == [run.id for run in two]
    assert [side["run"] for side in workbench["compare"]["sides"]] == [run.id for run in two]
    assert page.session_state[compare.KEY].to_query() == {"a": two[0].id, "b": two[1].id}
    assert here.audience.viewed_runs() >= {run.id for run in two}
    assert any("seed 6 → 5" in without_terms(caption.value) for caption in page.caption)
    assert not any("details in the log" in caption.value for caption in page.caption)


def test_an_address_without_runs_gets_them_and_keeps_what_is_looked_at(here, two):
    page = open_page("compare", pin=3)
    address = dict(page.query_params.items())
    assert [*address["pin"]] == ["3"]
    assert {address["a"], address["b"]} == {run.id for run in two}
    page.session_state[compare.KEY].select(address["b"], address["a"])
    page.run()
    assert "pin" not in page.query_params  # by now the browser has read it, and writes it itself


def test_a_url_is_applied_even_if_another_page_created_the_state(here, two):
    page = open_page()
    page.session_state[compare.KEY] = CompareState()  # as the page Runs leaves it, which links to Compare
    page.switch_page(COMPARE)
    page.query_params["a"], page.query_params["b"] = two[1].id, two[0].id
    page.run()
    assert page.session_state[compare.KEY].to_query() == {"a": two[1].id, "b": two[0].id}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPARED_CURVES)
def test_the_curves_of_both_runs_are_in_one_figure(two, name):
    a, b = two
    page = open_page("compare", a=a.id, b=b.id, curves=name)
    drawn = json.loads(page.get("plotly_chart")[0].proto.spec)["data"]
    alone = [json.loads(draw(name, measure(name, run)).to_json())["data"] for run in (a, b)]
    assert drawn[0]["y"] == alone[0][0]["y"]
    others = [trace for trace in drawn if str(trace.get("name", "")).startswith(f"{b.title} (second)")]
    if name == "distance_histogram":
        assert len(others) == 2  # pairs of one class, and of two
    else:
        lines = alone[1] if name == "scores_by_dimension" else alone[1][:1]
        assert [trace["y"] for trace in others] == [line["y"] for line in lines]
    assert CompareState.from_query({"curves": name}).to_query() == {"curves": name}
    assert CompareState.from_query({"curves": "confusion_matrix"}).curves is None


def test_a_map_figure_or_run_in_the_address_that_does_not_exist_is_said():
    said = CompareState.from_query({"a": "x", "view_a": "umapp", "view_b": "live", "curves": "rocs"}).messages.all()
    assert "did you mean 'umap'" in said.pop("view_a")
    assert "did you mean 'roc'" in said.pop("curves")
    assert "cannot exist" in said.pop("runs")
    assert not said
