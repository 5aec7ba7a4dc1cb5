"""Decisions of the review sheet come by a route: all that are sent together are kept in their order, or none."""

from concurrent.futures import ThreadPoolExecutor

import dmlviz_app.clean.state as clean
import pyarrow
import pytest
from dmlviz_app.clean import panel, payloads

from dmlviz import add_data
from dmlviz.cleaning.decisions import cleaning
from dmlviz.cleaning.job import clean_run
from dmlviz.data.corrections import load_corrections
from dmlviz.errors import UserError
from dmlviz.jobs.job_record import Work
from dmlviz.runs.training_run import train_and_record
from tests.app.pages import MAIN, open_page


def action(image, kind, label=None, tag=None):
    return {"image": image, "action": kind, "label": label, "tag": tag}


@pytest.fixture
def decide(client, run):
    """Send decisions; the answer."""
    return lambda *actions: client.post(f"/dmlviz/runs/{run.id}/cleaning/decisions", json={"actions": actions})


def test_decisions_are_kept_in_their_order_and_read_back(client, here, run, decide):
    assert decide(action(3, "relabel", label=7), action(5, "exclude")).status_code == 200
    assert decide(action(3, "undo"), action(8, "tag", tag="odd one")).status_code == 200
    read = client.get(f"/dmlviz/runs/{run.id}/cleaning.json").json()["decisions"]
    assert read == {
        "5": {"action": "exclude", "label": None, "tag": ""},
        "8": {"action": "tag", "label": None, "tag": "odd one"},
    }
    assert {*load_corrections(here.data, run.config.dataset).images} == {5, 8}


def test_a_decision_that_cannot_be_is_a_sentence_and_those_sent_with_it_are_not_kept(here, run, decide):
    refusal = decide(action(5, "exclude"), action(3, "relabel", label=99))
    assert refusal.status_code == 404
    assert "99" in refusal.json()["error"]
    assert not load_corrections(here.data, run.config.dataset).images


def test_decisions_that_come_at_once_are_all_kept(here, run, decide):
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda image: decide(action(image, "exclude")).status_code, range(20))]
    assert answers == [200] * 20
    assert [*load_corrections(here.data, run.config.dataset).images] == [*range(20)]


@pytest.mark.slow
def test_the_run_with_the_best_validation_score_comes_first(here, run, monkeypatch):
    other = here.runs.create(run.config.replace(seed=run.config.seed + 1))
    list(train_and_record(other, data_root=here.data))
    for scores, first in (({run.id: 0.9, other.id: 0.5}, run.id), ({run.id: 0.5, other.id: 0.9}, other.id)):
        monkeypatch.setattr(clean, "validation_score", lambda one, scores=scores: scores.get(one.id))
        assert next(one.id for one in clean.usable_runs(here)[run.config.dataset]) == first


def test_a_run_without_a_net_is_not_offered(here, run):
    (run.path / "weights.safetensors").unlink()
    assert run.id not in {one.id for runs in clean.usable_runs(here).values() for one in runs}
    assert "has no net" in clean.why_not(run, here)


@pytest.mark.parametrize("labels", ["aaabaaaaaabbbbbbbbbb", "aaaaaaaaaabbbbbbbbbb"], ids=["suspect", "nothing"])
def test_own_vectors_are_looked_through_without_a_net(here, labels):
    places, is_clean, labels = [*range(10), *range(90, 100)], labels[3] == "a", [*labels]
    table = pyarrow.table({"x": places, "label": labels, "text": [f"text {i}" for i in range(20)]})
    own = add_data(table, label="label", vector="x", data=here.data, runs=here.runs.folder, report=str)
    assert clean.why_not(own, here) is None
    assert own.id in {one.id for runs in clean.usable_runs(here).values() for one in runs}
    record = cleaning(here.store, own).begin()
    clean_run(Work(record.path, here.data))
    clean.decide([action(9, "exclude")], own, here)
    with pytest.raises(UserError, match="numbers 0 to 19; got 20"):
        clean.decide([action(20, "exclude")], own, here)
    answer = payloads.findings(own, here)
    assert (answer["images"], answer["noun"], "sheet" in answer) == (20, "row", False)
    assert answer["work"] == cleaning(here.store, own).id  # by which it is stopped
    if is_clean:
        assert (answer["rows"], answer["values"]) == ([], {})
        return
    assert ("suspect", 3) in [(row["kind"], row["image"]) for row in answer["rows"]]
    assert answer["values"]["3"] == "text text 3"
    assert b'"decided",9,"a"' in payloads.table(own, here)


def test_the_page_opens_on_the_data_set_of_explore(here, run, monkeypatch):
    monkeypatch.setattr(panel, "usable_runs", lambda services: {"digits": [run], "numbers": [run]})
    page = open_page(dataset="numbers")
    page.switch_page(str(MAIN.parent / "clean" / "page.py"))
    page.query_params.clear()
    assert next(box.value for box in page.run().selectbox if box.label == "Data set") == "numbers"
