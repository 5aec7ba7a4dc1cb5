"""The review sheet of the page Clean sends its actions again until they are confirmed; each is done once, in order."""

import threading

import dmlviz_app.clean.state as clean
import pytest
from dmlviz_app.clean import panel
from dmlviz_app.clean.state import CleanState

from dmlviz.data.corrections import load_corrections
from dmlviz.runs.training_run import train_and_record
from tests.app.pages import MAIN, open_page


def action(number, image, kind, label=None, tag=None):
    return {"number": number, "action": {"image": image, "action": kind, "label": label, "tag": tag}}


def test_actions_are_done_once_and_in_order_however_often_they_are_sent(here, run):
    state = CleanState()
    first, second = action(1, 3, "relabel", label=7), action(2, 5, "exclude")
    state.decide([first], run, here)
    state.decide([first, second, action(3, 3, "undo"), action(4, 8, "tag", tag="odd one")], run, here)
    state.decide([first, second], run, here)  # late
    images = load_corrections(here.data, run.config.dataset).images
    assert {image: (one.action, one.tag) for image, one in images.items()} == {
        5: ("exclude", ""),
        8: ("tag", "odd one"),
    }
    assert (state.received, state.note) == (4, "")


def test_an_action_that_cannot_be_is_a_sentence_and_those_before_it_hold(here, run):
    state = CleanState()
    state.decide([action(1, 5, "exclude"), action(2, 3, "relabel", label=99)], run, here)
    assert "99" in state.note
    assert [*load_corrections(here.data, run.config.dataset).images] == [5]
    assert state.received == 2


def test_an_action_that_comes_while_another_is_being_saved_loses_neither(here, run, monkeypatch):
    state, reading, second = CleanState(), threading.Event(), threading.Event()

    def load(root, dataset):
        found = load_corrections(root, dataset)
        if not reading.is_set():  # the first: the second action comes now
            reading.set()
            second.wait(0.1)  # it cannot finish before the first has saved
        return found

    monkeypatch.setattr(clean, "load_corrections", load)
    actions = [action(1, 3, "exclude"), action(2, 5, "exclude")]
    first = threading.Thread(target=state.decide, args=(actions[:1], run, here))
    first.start()
    assert reading.wait(60)
    state.decide(actions, run, here)
    second.set()
    first.join()
    assert [*load_corrections(here.data, run.config.dataset).images] == [3, 5]
    assert state.note == ""


@pytest.mark.slow
def test_the_run_with_the_best_validation_score_comes_first(here, run, monkeypatch):
    other = here.runs.create(run.config.replace(seed=run.config.seed + 1))
    for _ in train_and_record(other, data_root=here.data):
        pass
    for scores, first in (({run.id: 0.9, other.id: 0.5}, run.id), ({run.id: 0.5, other.id: 0.9}, other.id)):
        monkeypatch.setattr(clean, "validation_score", lambda one, scores=scores: scores.get(one.id))
        assert next(one.id for one in clean.usable_runs(here)[run.config.dataset]) == first


def test_a_run_without_a_net_is_not_offered(here, run):
    (run.path / "weights.safetensors").unlink()
    assert run.id not in {one.id for runs in clean.usable_runs(here).values() for one in runs}
    assert "has no net" in clean.why_not(run, here)


def test_the_page_opens_on_the_data_set_of_explore(here, run, monkeypatch):
    monkeypatch.setattr(panel, "usable_runs", lambda services: {"digits": [run], "numbers": [run]})
    page = open_page(dataset="numbers")
    page.switch_page(str(MAIN.parent / "clean" / "page.py"))
    page.query_params.clear()
    assert next(box.value for box in page.run().selectbox if box.label == "Data set") == "numbers"
