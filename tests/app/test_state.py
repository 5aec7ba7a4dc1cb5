"""The state of the interface and the address that holds it."""

import pytest

from app.state.explore import UIState
from app.state.training_form import SETTINGS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import TrainConfig
from dmlviz.runs.run import LIVE

RUN = "0123456789abcdef"


def test_a_fresh_state_is_the_default_training_and_an_empty_address():
    state = UIState()
    assert state.config("mnist") == TrainConfig()
    assert state.to_query() == {}


def test_the_chosen_data_set_stands_and_the_stand_in_only_stands_in():
    state = UIState()
    assert state.config("digits").dataset == "digits"
    state.set("dataset", "mnist")
    assert state.config("digits").dataset == "mnist"


def test_every_loss_can_be_chosen_and_brings_what_it_recommends():
    state = UIState()
    for loss in LOSSES:
        state.set("loss", loss)
        assert state.config("mnist") == TrainConfig(loss=loss)


# One loss of each family: together they have parameters of every kind.
@pytest.mark.parametrize("loss", {loss.family: name for name, loss in LOSSES.items()}.values())
def test_every_state_comes_back_from_its_address(loss):
    state = UIState(run=RUN, view="tsne", pinned=7, step=40, curves="roc")
    state.set("loss", loss)
    state.set("net", list(NETS)[-1])
    state.set("steps", 123)
    state.set("learning_rate", 0.000123456789)
    state.set("normalize", not state.config("mnist").normalize)
    for parameter in LOSSES[loss].parameters:
        if parameter.kind is float:
            state.set_param("loss", LOSSES[loss], parameter, parameter.default / 3 + 0.001)
    state.set_param("view", PROJECTIONS["tsne"], PROJECTIONS["tsne"].parameters[0], 50.0)
    again = UIState.from_query(state.to_query())
    assert again.messages == []
    assert again.config("mnist") == state.config("mnist")
    assert again.projection() == state.projection()
    assert (again.run, again.view, again.pinned, again.step, again.curves) == (RUN, "tsne", 7, 40, "roc")
    assert again.to_query() == state.to_query()


@pytest.mark.parametrize("loss", [name for name, loss in LOSSES.items() if 2 in loss.in_dimensions])
def test_on_a_circle_the_recommended_parameters_are_shown_and_the_usual_ones_can_still_be_chosen(loss):
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


def test_no_miner_is_another_choice_than_the_recommended_one():
    for loss, declared in LOSSES.items():
        if declared.recommended.get("miner") is None:
            continue
        state = UIState()
        state.set("loss", loss)
        state.set("miner", None)
        assert state.config("mnist").miner is None
        assert UIState.from_query(state.to_query()).config("mnist").miner is None


def test_a_choice_that_equals_the_default_leaves_the_address():
    state = UIState()
    state.set("steps", 123)
    state.set("steps", TrainConfig().steps)
    assert state.to_query() == {}


def test_what_a_person_chose_survives_another_loss():
    state = UIState()
    state.set("steps", 123)
    state.set("loss", "triplet")
    assert state.config("mnist").steps == 123


def test_a_miner_that_no_longer_goes_with_the_loss_is_dropped():
    state = UIState()
    state.set("loss", "triplet")
    miner = next(name for name, entry in MINERS.items() if entry.tuple_kind == "triplets")
    state.set("miner", miner)
    assert state.config("mnist").miner == miner
    state.set("loss", "contrastive")
    assert state.config("mnist").loss == "contrastive"
    state.set("loss", "softmax")
    assert state.config("mnist").miner is None


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


def test_unseen_classes_are_in_the_address_and_leave_it_again():
    state = UIState()
    state.set("held_out_classes", (7, 8, 9))
    assert state.to_query() == {"held_out_classes": "7,8,9"}
    again = UIState.from_query(state.to_query())
    assert again.config("mnist") == state.config("mnist") == TrainConfig(held_out_classes=(7, 8, 9))
    again.set("held_out_classes", ())
    assert again.to_query() == {}


def test_a_choice_that_does_not_go_with_the_others_is_said_and_left_out():
    state = UIState()
    state.set("classes_per_batch", 9)
    state.set("held_out_classes", (1, 2))
    assert state.messages == ["A batch has P = 9 classes; 8 of 10 are seen: use classes_per_batch ≤ 8."]
    assert state.config("mnist") == TrainConfig(classes_per_batch=9)
    state.set("classes_per_batch", 12)
    assert len(state.messages) == 1
    state.set("steps", 50)
    assert state.messages == []
    assert state.config("mnist") == TrainConfig(classes_per_batch=9, steps=50)


def test_a_sampler_that_makes_tuples_the_new_loss_does_not_take_is_dropped():
    state = UIState()
    state.set("loss", "contrastive")
    state.set("sampler", "random_pairs")
    state.set("loss", "triplet")
    assert state.messages == []
    assert state.config("mnist") == TrainConfig(loss="triplet")


def test_parameters_of_a_loss_wait_for_its_return():
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
def test_what_an_address_asks_in_vain_is_said_and_left_out(query):
    state = UIState.from_query(query)
    assert len(state.messages) == 1
    state.config("mnist")
    assert state.run is None


def test_a_map_by_a_reference_library_comes_back_from_its_address_in_any_order():
    query = {"view.densmap": "1", "view.metric": "cosine", "map.engine": "reference", "map.seed": "3", "view": "umap"}
    state = UIState.from_query(query)
    assert state.messages == []
    wanted = state.projection()
    assert (wanted.engine, wanted.seed, wanted.params["densmap"], wanted.params["metric"]) == (
        "reference",
        3,
        True,
        "cosine",
    )
    assert state.to_query() == query


def test_each_engine_keeps_its_own_parameters_and_a_map_without_another_engine_has_ours():
    state = UIState.from_query({"view": "umap", "view.neighbors": "30"})
    assert state.projection().params["neighbors"] == 30
    state.set_projection(engine="reference")
    assert state.projection().params["neighbors"] == 15
    assert state.params_with("dmlviz")["neighbors"] == 30
    state.set_view("pca")
    assert state.projection().engine == "dmlviz"


@pytest.mark.parametrize(
    "query",
    [{"view": "pca", "map.engine": "reference"}, {"view": "umap", "map.engine": "cuml"}],
)
def test_an_engine_that_cannot_be_is_said_and_ours_draws(query):
    state = UIState.from_query(query)
    assert len(state.messages) == 1
    assert state.projection().engine == "dmlviz"


def test_other_parts_of_an_address_are_kept():
    state = UIState.from_query({"lesson": "margins", "embed": "true", "steps": "50"})
    assert state.to_query() == {"lesson": "margins", "embed": "true", "steps": "50"}


@pytest.mark.parametrize("query", [{"view": "nonsense"}, {"pin": "-1"}, {"pin": "x"}, {"pin": "²"}, {"view": "plane"}])
def test_a_view_or_pin_that_cannot_be_is_the_live_view_without_a_pin(query):
    state = UIState.from_query(query)
    assert state.view == LIVE
    assert state.pinned is None


def test_another_run_is_shown_from_its_own_side():
    state = UIState(run=RUN, view="umap", pinned=3, step=40)
    state.show("f" * 16)
    assert (state.run, state.view, state.pinned, state.step) == ("f" * 16, LIVE, None, None)


def test_every_field_of_a_training_is_in_the_address():
    assert set(SETTINGS) | {"loss_params", "miner_params"} == set(TrainConfig.model_fields)


def test_a_training_is_set_up_again_as_it_was():
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
