"""The Learn page: every catalog entry has a page, found by its URL and by the search."""

import json
import runpy
from pathlib import Path
from urllib.parse import quote, urlencode

import dmlviz_app
import pytest
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.learn.answers import ANSWERS
from dmlviz_app.learn.catalog_index import (
    KINDS,
    TOPICS,
    kind_of,
    limits,
    recommendations,
    recommended_in_dimensions,
    related_entries,
    search,
    to_json,
)
from dmlviz_app.learn.index import results
from dmlviz_app.learn.state import LearnState
from dmlviz_app.learn.topics import DRAWN, QUESTIONS

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.projections import REFERENCES
from dmlviz.config import TrainConfig
from dmlviz.labs.architectures import find
from dmlviz.labs.registry import LABS
from dmlviz.lessons import LESSONS
from dmlviz.lessons.figure_specs import FIGURES
from tests.app.pages import open_page, without_terms

ENTRIES = [(kind, name) for kind, of in KINDS.items() for name in of.catalog]


def learn(**query):
    return open_page("learn", **query)


def words(test):
    return without_terms(" ".join(element.value for element in [*test.markdown, *test.caption]))


def cards(test):
    return [card for section in data(test, "index")["sections"] for card in section["cards"]]


def links(test):
    return [card["address"].partition("?")[2] for card in cards(test)]


def data(test, key):
    told = [element for element in test.get("bidi_component") if element.key == key]
    return json.loads(told[0].proto.json) if told else None


def test_the_index_leads_to_every_entry_topic_and_lesson(here):
    led = links(learn())
    for kind, name in ENTRIES:
        assert f"{kind}={name}" in led
    for kind, names in (("topic", TOPICS), ("answer", ANSWERS), ("lesson", LESSONS), ("lab", LABS)):
        assert {f"{kind}={name}" for name in names} <= set(led)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("loss", "triplet"), ("loss", "weighted_sum"), ("loss", "hinge_pair"), ("loss", "arcface"), ("loss", "sigreg"),
     ("net", "small"), ("miner", "batch_hard"), ("metric", "map_at_r"), ("sampler", "episodes"),
     ("projection", "tsne")],
)  # fmt: skip
def test_an_entry_page_shows_its_spec(here, kind, name):
    test, declared = learn(**{kind: name}), KINDS[kind].catalog[name]
    said = words(test)
    for text in (declared.title, declared.summary, declared.when_to_use, declared.formula, declared.reference):
        assert text in said
    for parameter in declared.parameters:
        assert f"`{parameter.name}`" in said
        assert parameter.help in said.replace(r"\|", "|")
    lines = "\n".join(element.value for element in test.markdown).splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert len(rows) >= len(declared.parameters)
    assert all(row.replace(r"\|", "").count("|") == 5 for row in rows), "a bar in a text ends its cell"
    assert (data(test, "loss_plot") is not None) == (kind == "loss" and name != "weighted_sum")
    assert (data(test, "force_playground") is not None) == (kind == "loss" and name != "weighted_sum")
    assert (data(test, "layout_playground") is not None) == (name == "tsne")


def test_every_map_has_a_formula_in_words_and_the_reference_engine_its_parameters(here):
    for spec in KINDS["projection"].catalog.values():
        assert spec.formula, spec.name
        assert spec.explanation, spec.name
    said = words(learn(projection="umap"))
    assert KINDS["projection"].catalog["umap"].explanation in said
    for parameter in REFERENCES["umap"].parameters:
        assert f"`{parameter.name}`" in said


def test_losses_and_miners_link_to_each_other():
    for loss in LOSSES.values():
        named = {name for kind, name in related_entries(loss) if kind.name == "miner"}
        assert named == {miner.name for miner in MINERS.values() if miner.tuple_kind in loss.tuple_kinds}
    for miner in MINERS.values():
        assert {name for _, name in related_entries(miner)} == {
            loss.name for loss in LOSSES.values() if miner.tuple_kind in loss.tuple_kinds
        }


def test_the_search_finds_by_name_author_and_use(here):
    assert next(entry.name for entry in search(KINDS["loss"], "Deng ArcFace")) == "arcface"
    assert "batch_hard" in [entry.name for entry in search(KINDS["miner"], "hermans")]
    assert search(KINDS["metric"], "zebra") == []
    test = learn(search="arcface")
    assert "loss=arcface" in links(test)
    assert "loss=triplet" not in links(test)
    assert "No results for" in words(learn(search="zebra"))


def test_recommended_settings_equal_those_of_a_config():
    assert recommendations(LOSSES["triplet"])["Miner"] == MINERS["random_hard_negative"].title
    assert recommendations(LOSSES["softmax"])["Space"] == "free"
    assert recommendations(LOSSES["nt_xent"]) == {}


def test_recommendations_in_two_dimensions_equal_those_of_a_config():
    advice = recommended_in_dimensions(LOSSES["arcface"])[2]
    config = TrainConfig(loss="arcface", embedding_dim=2)
    assert advice["Margin"] == f"{config.loss_params['margin']:g}"
    assert advice["Scale"] == f"{config.loss_params['scale']:g}"
    assert advice["Steps"] == f"{config.steps:,}"
    assert recommended_in_dimensions(LOSSES["triplet"]) == {}


def test_every_parameter_states_its_valid_values():
    for kind, name in ENTRIES:
        for parameter in KINDS[kind].catalog[name].parameters:
            assert limits(parameter)
            assert "None" not in limits(parameter)


def test_loss_props_are_json():
    for loss in LOSSES.values():
        if loss.name != "weighted_sum":
            assert json.loads(json.dumps(to_json(loss))) == to_json(loss)


def test_try_applies_the_plots_parameters_to_explore(here, monkeypatch):
    from dmlviz_app.learn import entry as learn_entry
    from dmlviz_app.widgets import navigation

    test = learn(loss="triplet")
    gone = []
    monkeypatch.setattr(navigation, "switch_to", gone.append)
    monkeypatch.setattr(
        learn_entry, "mount", lambda name, **_: type("Said", (), {"go": {"margin": 0.35, "distance": "euclidean"}})
    )
    test.run()
    assert gone == ["explore"]
    assert test.session_state["page.explore"].to_query() == {"loss": "triplet", "loss.margin": "0.35"}


def test_the_three_spaces_are_shown_with_the_scores_that_the_library_gives_them(here):
    made = runpy.run_path(str(Path(dmlviz_app.__file__).parents[2] / "scripts" / "make_three_spaces.py"))["spaces"]()
    shown = data(learn(topic="three-spaces"), "map_at_r_demo")["spaces"]
    assert shown == made
    for name in ("nmi", "pairwise_f1", "precision_at_1"):
        assert len({space["scores"][name] for space in shown}) == 1
    assert [space["scores"]["map_at_r"] for space in shown] == sorted({space["scores"]["map_at_r"] for space in shown})


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("infonce", "loss", "nt_xent"),
        ("lmnn", "loss", "triplet"),
        ("lmnn", "net", "linear"),
        ("mahalanobis", "net", "linear"),
        ("gallery", "metric", "cmc_at_k"),
        ("pseudo", "lab", "patches"),
        ("sketch", "lab", "two-domains"),
        ("Bielski siamese", "lab", "classical-or-mined"),
        ("bielski", "miner", "hard_negative_pairs"),
        ("rank-1", "metric", "precision_at_1"),
        ("market-1501", "lab", "reid"),
        ("NormFace", "loss", "normalized_softmax"),
    ],
)
def test_the_search_knows_what_lectures_call_things(text, kind, name):
    assert name in [entry.name for entry in search(kind_of(kind), text)]


def test_nets_losses_and_every_architecture_have_the_address_of_their_picture(here):
    assert data(learn(net="lenet"), "architecture")["url"].endswith("/architectures/net/lenet.json")
    assert data(learn(loss="arcface"), "architecture")["url"].endswith("/architectures/loss/arcface.json")
    assert data(learn(miner="batch_hard"), "architecture") is None
    test = learn(topic="architectures")
    for title, (kind, name, about) in DRAWN.items():
        test.selectbox(key="learn.architecture").select(title).run()
        assert about in words(test)
        assert data(test, "architecture")["url"].endswith(f"/architectures/{kind}/{quote(name)}.json")
        assert find(kind, name).layers


def test_figures_to_move_stand_on_the_pages_they_belong_to_and_all_on_one(here):
    assert [one["name"] for one in data(learn(topic="figures"), "small_figures")["figures"]] == list(FIGURES)
    shown = data(learn(loss="nt_xent"), "small_figures")["figures"]
    assert [one["name"] for one in shown] == ["derivation", "temperature", "cosine"]
    assert data(learn(loss="circle"), "small_figures") is None


def test_the_results_of_a_search_lead_to_labs_topics_and_terms_too(here):
    assert LABS["two-domains"].summary in [card["text"] for card in cards(learn(search="sketch"))]
    assert "topic=exam" in links(learn(search="exam"))
    assert "topic=glossary#hard-negative" in links(learn(search="hard negative"))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("loss stays at the margin", "loss-at-the-margin"),
        ("my triplet loss is stuck", "loss-at-the-margin"),
        ("all in one point", "collapse"),
        ("everything collapsed", "collapse"),
        ("umap jumps", "umap-jumps"),
        ("which threshold", "which-threshold"),
        ("bad on unseen classes", "new-classes-are-bad"),
        ("which loss is best?", "which-loss"),
    ],
)
def test_the_search_finds_an_answer_by_its_symptom(text, answer):
    first = next(results(text))
    assert first["address"] == f"learn?answer={answer}"
    assert not any("answer=" in card["address"] for card in results("softmax temperature schedule"))


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_opens_pages_with_settings_that_they_know(here, name):
    answer = ANSWERS[name]
    test = learn(answer=name)
    opened = [element.proto.query_string for element in test.get("page_link")]
    assert answer.summary.endswith(".")
    assert len(answer.runs) >= 2
    for run in answer.runs:
        assert urlencode(run.query) in opened
        if run.page == "labs":
            assert run.query["lab"] in LABS
            continue
        state = UIState.from_query(run.query)
        assert state.messages.all() == {}
        assert state.unknown_query == {}
        config = state.config("mnist")
        assert config.dataset == "digits"  # its figures are of digits
        assert config.steps <= 200  # and there within seconds
        assert "seed 0" in answer.runs[0].measured
    for kind, related in answer.related:
        assert LearnState.from_query({kind: related}).name == related or related in LABS


def test_every_exam_question_has_an_answer_and_drawings_of_pages_that_exist(here):
    assert len(QUESTIONS) == 7
    test = learn(topic="exam")
    for number, question in enumerate(QUESTIONS, 1):
        assert question.question.endswith("?")
        shown = data(test, f"exam.{number}")["sections"][0]["cards"]
        assert len(shown) == len(question.drawings) >= 2
        assert all(card["picture"] for card in shown)
    assert QUESTIONS[0].answer.splitlines()[-2] in words(test)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"loss": "lifted_structure"}, "There is no loss called 'lifted_structure': did you mean 'lifted'"),
        ({"miner": "hard_negatives"}, "There is no miner called 'hard_negatives': did you mean 'hardest_negative' or"),
        ({"net": "le_net"}, "There is no net called 'le_net': did you mean 'lenet'"),
        ({"lesson": "margin and lines"}, "There is no lesson called 'margin and lines': "),
        ({"topic": "exams"}, "There is no topic called 'exams': did you mean 'exam'?"),
    ],
)
def test_a_name_that_does_not_exist_is_said_with_similar_ones_above_the_index(here, query, sentence):
    test = learn(**query)
    assert sentence in words(test).replace("\\", "")
    assert "loss=lifted" in links(test)
    assert LearnState.from_query({"loss": "lifted"}).messages.all() == {}
