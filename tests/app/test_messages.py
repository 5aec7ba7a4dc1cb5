"""A sentence about what could not be done stands once, at its cause, and goes when the cause is gone."""

import ast
from pathlib import Path

import dmlviz_app
import pytest
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.people.personal_jobs import PersonalJobs
from dmlviz_app.widgets.messages import Messages

from dmlviz.errors import BusyError, UserError
from tests.app import pages

APP = Path(dmlviz_app.__file__).parent


def test_a_sentence_goes_with_its_cause_and_a_place_has_one():
    state = {"run": "a", "map": 1}
    messages = Messages(state.__getitem__)
    messages.say("map", "first")
    messages.say("map", "second")
    messages.say("run", "lost")
    state["map"] = 2  # whoever says it may go on changing the state, until it is asked for
    assert messages.all() == {"map": "second", "run": "lost"}
    state["map"] = 3
    assert messages.all() == {"run": "lost"}
    messages.say("run.lesson", "within")
    messages.forget("run")
    assert messages.all() == {}


def test_that_somebody_has_to_wait_is_said_only_while_that_is_so():
    blocked = [True]
    messages = Messages(lambda place: place)
    messages.say("map", BusyError("It is being stopped.", lambda: blocked[0]))
    assert messages.all() == {"map": "It is being stopped."}
    blocked[0] = False
    assert messages.all() == {}
    messages.say("train", BusyError("It is being stopped.", lambda: blocked[0]), lambda: "another cause")
    assert messages.all() == {}  # over before the page is drawn


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ({"steps": "many"}, "set.steps"),
        ({"loss": "tripel"}, "set.loss"),
        ({"loss": "triplet", "loss.margin": "wide"}, "loss.triplet.margin"),
        ({"loss": "triplet", "loss.width": "1"}, "set.loss.width"),
        ({"loss": "softmax", "miner.ratio": "1"}, "set.miner.ratio"),
        ({"run": "../x"}, "run"),
        ({"lesson": "why-minning"}, "run.lesson"),
        ({"from": "classicc"}, "start"),
        ({"view": "pcaa"}, "map.view"),
        ({"color": "clas"}, "map.color"),
        ({"view": "tsne", "view.perplexity": "-4"}, "map.perplexity"),
        ({"view.perplexity": "4"}, "map.perplexity"),
        ({"view": "tsne", "map.dims": "7"}, "map.dims"),
        ({"curves": "rocs"}, "curves"),
    ],
)
def test_what_an_address_asks_in_vain_is_said_at_its_place(query, place):
    state = UIState.from_query(query)
    assert list(state.messages.all()) == [place]
    state.set_view("pca")
    state.curves = "roc"
    state.show("0" * 16)
    state.set("loss", "contrastive")
    state.set("steps", 7)
    assert state.messages.all() == {}


@pytest.mark.slow
def test_on_the_page_each_stands_once_at_its_place_and_goes(here, run, monkeypatch):
    page = pages.open_page(run="f" * 16, steps="many", loss="triplet", color="clas", **{"loss.margin": "wide"})

    def said(words: str) -> bool:
        """Return whether the page says this, once: what is in the drawer stands above the map while that is closed."""
        above, inside = (sum(words in caption.value for caption in part.caption) for part in (page.main, page.sidebar))
        assert (above, inside) in ((0, 0), (1, 0 if "Run" in words else 1))
        return bool(above)

    assert "got 'many'" in page.sidebar.caption.values[-1]  # in More, which is open for it
    assert said("margin is a number")
    assert said("Run not found")
    page.number_input(key="loss.triplet.margin").set_value(0.4).run()
    assert not said("margin is a number")
    assert said("got 'many'")
    page.number_input(key="set.steps").set_value(7).run()
    assert not said("got 'many'")
    assert said("Run not found")

    def refuse(*_):
        raise UserError("You have all jobs that you may have.")

    with monkeypatch.context() as patch:
        patch.setattr(PersonalJobs, "check_training", refuse)
        page.button(key="train").click().run()
        assert said("You have all jobs")
        page.run()
        assert said("You have all jobs")
    page.run()  # a job has ended
    assert not said("You have all jobs")


def test_every_action_of_a_button_has_a_boundary():
    calls = (call for file in APP.rglob("*.py") for call in ast.walk(ast.parse(file.read_text())))
    bare = [
        ast.unparse(call)
        for call in calls
        if isinstance(call, ast.Call) and any(word.arg in ("on_click", "on_select") for word in call.keywords)
        if ast.unparse(call.func).startswith("st.") and "action(" not in ast.unparse(call)
        if "on_select='rerun'" not in ast.unparse(call)
    ]
    assert not bare


@pytest.mark.slow
def test_what_learn_and_clean_could_not_do_stays_until_something_else_is_asked(here, run):
    learn = pages.open_page("learn", loss="tripel")
    for _ in range(2):  # it does not go by itself
        assert sum("There is no loss called" in caption.value for caption in learn.caption) == 1
        learn.run()
    learn.text_input(key="learn.search").set_value("margin").run()
    assert not any("There is no loss called" in caption.value for caption in learn.caption)
    clean = pages.open_page("clean", run="f" * 16)
    for _ in range(2):
        assert sum("There is no run" in caption.value for caption in clean.caption) == 1
        clean.run()
    clean.session_state["page.clean"].select("digits", run.id)
    clean.run()
    assert not any("There is no run" in caption.value for caption in clean.caption)
