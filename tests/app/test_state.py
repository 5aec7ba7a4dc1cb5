"""The state of Explore and its URL."""

import numpy as np
import pytest
from dmlviz_app.forms.selection import SeenView, Selection
from dmlviz_app.forms.training_settings import SETTINGS
from dmlviz_app.forms.view_state import UIState

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import TrainConfig
from dmlviz.runs.run import LIVE

RUN = "0123456789abcdef"


def test_a_fresh_state_is_the_default_config_and_an_empty_url():
    state = UIState()
    assert state.config("mnist") == TrainConfig()
    assert state.to_query() == {}


def test_a_selected_data_set_overrides_the_fallback():
    state = UIState()
    assert state.config("digits").dataset == "digits"
    state.set("dataset", "mnist")
    assert state.config("digits").dataset == "mnist"


def test_a_subset_is_projected_and_left_again():
    some = Selection("digits", "IAE=")  # images 5 and 8
    state = UIState(view="tsne")
    state.project_subset(some)
    assert state.projection().items.tolist() == [5, 8]
    assert UIState.from_query(state.to_query()).projection() == state.projection()
    state.set_view("umap")
    state = UIState.from_query(state.to_query())  # as after a reload
    state.show_whole()
    assert (state.view, state.subset, state.projection().items) == ("tsne", None, None)
    live = UIState()
    live.project_subset(some)
    assert live.projection().items.tolist() == [5, 8]
    live.set_view("umap")
    live.set_view(LIVE)
    assert live.projection() is None
    live.project_subset(some)
    assert live.view == "umap"  # as the last one


def test_a_projection_is_shown_again_as_it_was_asked_for():
    state = UIState(view="tsne")
    state.set_projection(dims=3, seed=7)
    state.set_param("view", PROJECTIONS["tsne"], PROJECTIONS["tsne"].parameters[0], 12.0)
    whole = state.projection()
    state.project_subset(Selection.of("digits", np.arange(100, 200)))
    state.set_view("pca")
    subset = state.projection()
    for config in (whole, subset, None, whole):
        state.show_projection(config, "digits")
        assert state.projection() == config


def test_defaults_follow_a_small_subset():
    few = Selection.of("digits", np.arange(30))
    state = UIState(view="tsne", subset=few)
    assert state.projection().params["perplexity"] == 10
    state.set_param("view", PROJECTIONS["tsne"], PROJECTIONS["tsne"].parameters[0], 8)
    assert state.projection().params["perplexity"] == 8
    assert UIState(view="tsne").projection().params["perplexity"] == 30


def test_every_loss_can_be_selected_and_sets_its_recommendations():
    state = UIState()
    for loss in LOSSES:
        state.set("loss", loss)
        assert state.config("mnist") == TrainConfig(loss=loss)


@pytest.mark.parametrize("loss", [name for name, loss in LOSSES.items() if 2 in loss.in_dimensions])
def test_in_two_dimensions_recommended_parameters_are_the_default(loss):
    state = UIState()
    state.set("loss", loss)
    state.set("embedding_dim", 2)
    assert state.config("mnist") == TrainConfig(loss=loss, embedding_dim=2)
    for parameter in LOSSES[loss].parameters:
        state.set_param("loss", LOSSES[loss], parameter, parameter.default)
    usual = TrainConfig(loss=loss, embedding_dim=2, loss_params=LOSSES[loss].with_defaults({}))
    assert state.config("mnist") == usual
    assert UIState.from_query(state.to_query()).config("mnist") == usual
    again = UIState()
    again.load(usual)
    assert again.config("mnist") == usual
    again.load(TrainConfig(loss=loss, embedding_dim=2, dataset="mnist"))
    again.set("embedding_dim", 64)
    assert again.config("mnist") == TrainConfig(loss=loss)


def test_no_miner_differs_from_the_recommended_miner():
    for loss, declared in LOSSES.items():
        if declared.recommended.get("miner") is None:
            continue
        state = UIState()
        state.set("loss", loss)
        state.set("miner", None)
        assert state.config("mnist").miner is None
        assert UIState.from_query(state.to_query()).config("mnist").miner is None


def test_a_default_value_is_not_in_the_url():
    state = UIState()
    state.set("steps", 123)
    state.set("steps", TrainConfig().steps)
    assert state.to_query() == {}


def test_changed_settings_survive_another_loss():
    state = UIState()
    state.set("steps", 123)
    state.set("loss", "triplet")
    assert state.config("mnist").steps == 123


def test_a_loss_and_a_miner_of_one_name_keep_their_own_parameters():
    state = UIState()
    state.set("loss", "multi_similarity")
    state.set("miner", "multi_similarity")
    alpha, epsilon = LOSSES["multi_similarity"].parameters[0], MINERS["multi_similarity"].parameters[0]
    state.set_param("loss", LOSSES["multi_similarity"], alpha, 3.0)
    state.set_param("miner", MINERS["multi_similarity"], epsilon, 0.3)
    config = UIState.from_query(state.to_query()).config("mnist")
    assert config.loss_params[alpha.name] == 3.0
    assert config.miner_params[epsilon.name] == 0.3


def test_held_out_classes_enter_and_leave_the_url():
    state = UIState()
    state.set("held_out_classes", (7, 8, 9))
    assert state.to_query() == {"held_out_classes": "7,8,9"}
    again = UIState.from_query(state.to_query())
    assert again.config("mnist") == state.config("mnist") == TrainConfig(held_out_classes=(7, 8, 9))
    again.set("held_out_classes", ())
    assert again.to_query() == {}


def test_an_incompatible_setting_is_reported_and_not_set():
    state = UIState()
    state.set("classes_per_batch", 9)
    state.set("held_out_classes", (1, 2))
    refusal = "A batch has P = 9 classes; 8 of 10 are seen: use classes_per_batch ≤ 8."
    assert state.messages.all() == {"set.held_out_classes": refusal}
    assert state.config("mnist") == TrainConfig(classes_per_batch=9)
    state.set("classes_per_batch", 12)
    assert list(state.messages.all()) == ["set.held_out_classes", "set.classes_per_batch"]
    state.set("steps", 50)
    assert state.messages.all() == {}
    assert state.config("mnist") == TrainConfig(classes_per_batch=9, steps=50)


def test_parameters_of_a_loss_are_kept_while_another_is_selected():
    state, margin = UIState(), next(p for p in LOSSES["triplet"].parameters if p.name == "margin")
    state.set("loss", "triplet")
    state.set_param("loss", LOSSES["triplet"], margin, 0.7)
    state.set("loss", "nt_xent")
    assert "margin" not in state.config("mnist").loss_params
    state.set("loss", "triplet")
    assert state.config("mnist").loss_params["margin"] == 0.7


@pytest.mark.parametrize(
    "query",
    [
        {"loss": "nonsense"},
        {"steps": "-1"},
        {"steps": "many"},
        {"steps": "1e400"},
        {"learning_rate": "nan"},
        {"embedding_dim": "-3"},
        {"loss": "triplet", "loss.margin": "wide"},
        {"loss": "softmax", "miner": "hardest_negative"},
        {"run": "../../etc/passwd"},
        {"normalize": "perhaps"},
        {"max_train_images": "3"},
    ],
)
def test_invalid_url_parameters_are_reported_and_ignored(query):
    state = UIState.from_query(query)
    assert len(state.messages.all()) == 1
    state.config("mnist")
    assert state.run is None


def test_a_reference_projection_round_trips_in_any_parameter_order():
    query = {"view.densmap": "1", "view.metric": "cosine", "map.engine": "reference", "map.seed": "3", "view": "umap"}
    state = UIState.from_query(query)
    assert state.messages.all() == {}
    wanted = state.projection()
    assert (wanted.engine, wanted.seed) == ("reference", 3)
    assert (wanted.params["densmap"], wanted.params["metric"]) == (True, "cosine")
    assert state.to_query() == query


def test_each_engine_keeps_its_own_parameters():
    state = UIState.from_query({"view": "umap", "view.neighbors": "30"})
    assert state.projection().params["neighbors"] == 30
    state.set_projection(engine="reference")
    assert state.projection().params["neighbors"] == 15
    assert state.params_with("dmlviz")["neighbors"] == 30
    state.set_view("pca")
    assert state.projection().engine == "dmlviz"


def test_the_second_map_is_the_same_projection_by_the_other_engine():
    query = {"view": "umap", "beside": "1", "map.engine": "reference", "view.neighbors": "30", "view.iterations": "50"}
    state = UIState.from_query(query | {"view.densmap": "1", "view.metric": "manhattan"})
    shown, second = state.projection(), state.second_projection()
    assert (shown.engine, second.engine, second.params["neighbors"]) == ("reference", "dmlviz", 30)
    assert (second.params["iterations"], second.params["metric"]) == (200, "euclidean")
    assert second.by("reference").params["neighbors"] == 30
    assert UIState.from_query(state.to_query()).second_projection() == second
    state.set_view("pca")
    assert (state.beside, state.second_projection()) == (False, None)
    assert not UIState.from_query({"view": "pca", "beside": "1"}).beside


@pytest.mark.parametrize("query", [{"view": "pca", "map.engine": "reference"}, {"view": "umap", "map.engine": "cuml"}])
def test_an_invalid_engine_is_reported_and_replaced_by_ours(query):
    state = UIState.from_query(query)
    assert len(state.messages.all()) == 1
    assert state.projection().engine == "dmlviz"


def test_unknown_url_parameters_are_kept():
    state = UIState.from_query({"lesson": "margins", "embed": "true", "steps": "50"})
    assert state.to_query() == {"lesson": "margins", "embed": "true", "steps": "50"}


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ({"lesson": "why-minning"}, "why-mining"),
        ({"view": "pcaa"}, "pca"),
        ({"curves": "rocs"}, "roc"),
        ({"color": "clas"}, "class"),
        ({"loss": "tripel"}, "triplet"),
        ({"dataset": "minst"}, "mnist"),
    ],
)
def test_a_name_in_the_address_that_does_not_exist_is_said_with_a_similar_one(query, near):
    (message,) = UIState.from_query(query).messages.all().values()
    assert f"{next(iter(query.values()))!r}: did you mean {near!r}" in message


@pytest.mark.parametrize("query", [{"view": "nonsense"}, {"pin": "-1"}, {"pin": "x"}, {"pin": "²"}, {"view": "plane"}])
def test_an_invalid_view_or_pin_falls_back_to_the_live_view(query):
    state = UIState.from_query(query)
    assert state.view == LIVE
    assert state.seen.pinned is None


def test_another_run_opens_in_its_live_view():
    state = UIState(run=RUN, view="umap", seen=SeenView(3, 40))
    state.show("f" * 16)
    assert (state.run, state.view, state.seen) == ("f" * 16, LIVE, SeenView())


def test_every_config_field_is_in_the_url():
    assert set(SETTINGS) | {"loss_params", "miner_params"} == set(TrainConfig.model_fields)


def test_loading_a_config_restores_its_settings():
    config = TrainConfig(
        dataset="digits", loss="triplet", loss_params={"margin": 0.7}, miner="batch_hard", steps=77, learning_rate=0.01
    )
    ui = UIState()
    ui.set("optimizer", "sgd")
    ui.load(config)
    assert ui.config("mnist") == config
    assert UIState.from_query(ui.to_query()).config("mnist") == config
    plain = TrainConfig(dataset="digits", loss="contrastive", miner=None)
    ui.load(plain)
    assert ui.config("mnist") == plain
    ui.load(TrainConfig(dataset="moons"))  # whose dimensions go with it
    ui.set("dataset", "digits")
    assert ui.config("mnist") == TrainConfig(dataset="digits")
