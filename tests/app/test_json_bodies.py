"""Each route that reads JSON is sent what it does not expect: the answer is a sentence, and nothing is looked at."""

import json

import pytest

WRONG = [None, True, 1, -1.5, 1e308, "x", "", [], [[]], [None], {}, {"x": "y"}, ["x"] * 3, [[1, "x"]]]
ROUTES = {
    "losses/triplet/curve.json": {"params": {}, "held": {}, "samples": 3},
    "losses/triplet/forces.json": {"points": [[0, 1]], "labels": [0], "weights": [], "triplet": False},
    "losses/triplet/ground.json": {"points": [[0, 1]], "labels": [0], "index": 0, "places": [[0, 1]]},
    "scores.json": {"points": [[0, 1], [1, 0]], "classes": [0, 0]},
    "labs/{lab}/digits/ready-made/answer.json": {"trial": "none"},
    "runs/{run}/query": {"drawing": {"side": 1, "strokes": 1, "ink": "AA=="}},
    "runs/{run}/query?": {"sample": "none"},
    "runs/change": {"run": "{run}", "title": "x", "tags": [], "pinned": True, "visibility": "link", "deleted": False},
    "runs/{run}/cleaning/decisions": {"actions": [{"image": 10**9, "action": "tag", "label": None, "tag": "x"}]},
    "classrooms/ABCD/place": {"page": "", "query": {}, "step": 1},
    "classrooms/ABCD/action": {"what": "lead", "on": True},
}


@pytest.fixture
def post(client, here, run, monkeypatch):
    """Ask a route; the worker says no to all that reaches it."""
    from dmlviz.errors import UserError
    from dmlviz.labs.registry import LABS

    def refuse(question):
        raise UserError("The worker was asked.")

    monkeypatch.setattr(here.scheduler.inference_worker, "call", refuse)
    lab = next(name for name, lab in LABS.items() if "digits" in lab.datasets)

    def post(path, content):
        headers = {"content-type": "application/json"}
        return client.post("/dmlviz/" + path.format(run=run.id, lab=lab), content=content, headers=headers)

    return post


def check(answer, what):
    assert 400 <= answer.status_code < 500 or (answer.status_code == 200 and "error" not in answer.json()), what
    if answer.status_code != 200:
        assert 5 < len(answer.json()["error"]) < 500, what


@pytest.mark.parametrize("path", ROUTES)
def test_a_body_of_other_types_is_refused_in_a_sentence(post, path):
    whole = ROUTES[path]
    bodies = [*WRONG, *({**whole, name: wrong} for name in whole for wrong in WRONG)]
    bodies += [{**whole, "more": wrong} for wrong in WRONG[:3]]
    for name, value in whole.items():
        if isinstance(value, dict):
            bodies += [{**whole, name: {**value, inner: wrong}} for inner in (*value, "x") for wrong in WRONG]
    for body in bodies:
        check(post(path, json.dumps(body)), (path, body))


@pytest.mark.parametrize("path", ROUTES)
def test_a_body_that_is_no_json_is_refused_in_a_sentence(post, path):
    for text in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": NaN', b"nul", b'"' + b"x" * 100 + b'"'):
        check(post(path, text), (path, text[:20]))
