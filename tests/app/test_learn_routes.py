"""The routes of Learn: the worker answers from the library's losses; the scores of a few points are the library's."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from dmlviz_app.learn import routes as losses
from dmlviz_app.learn.protocol import CodeSteps, Drawn, LossCurve, LossForces, LossGround, PointCloud
from dmlviz_app.server.services import Services
from dmlviz_app.server.threads import MAX_QUESTIONS, enlarge_thread_pool
from pydantic import TypeAdapter
from starlette.testclient import TestClient

from dmlviz.metrics import evaluate
from dmlviz.nets.architecture import Picture
from dmlviz.runs.run import Run
from dmlviz.workers import questions
from tests.app.test_learn import data, learn

TRIANGLE = {"points": [[-0.35, -0.25], [0.55, 0.35], [0.2, -0.55]], "labels": [0, 0, 1]}
POINTS = {"points": [[0, 0], [0.1, 0], [1, 1], [1.1, 1]], "classes": [0, 0, 1, 1]}


@pytest.fixture(autouse=True)
def asked(here: Services, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """What the worker was asked; it answers as the real one does, in this process."""
    heard: list[dict[str, Any]] = []

    def call(question: dict[str, Any]) -> dict[str, Any]:
        heard.append(question)
        return questions.answer(question, None)

    monkeypatch.setattr(here.scheduler.inference_worker, "call", call)
    losses._answer.cache_clear()
    yield heard
    losses._answer.cache_clear()


@pytest.mark.parametrize(
    ("picture", "body", "kind"),
    [
        ("curve", {"params": {"margin": 0.5}, "held": {"p": 0.4}, "samples": 10}, LossCurve),
        ("forces", TRIANGLE, LossForces),
        ("ground", TRIANGLE | {"index": 1, "places": [[0.0, 0.0]]}, LossGround),
    ],
)
def test_a_picture_is_what_the_protocol_declares(
    client: TestClient, picture: str, body: dict[str, Any], kind: type
) -> None:
    answer = client.post(f"/dmlviz/losses/triplet/{picture}.json", json=body)
    assert answer.status_code == 200
    TypeAdapter(kind).validate_json(answer.content)


def test_equal_questions_reach_the_worker_once(client: TestClient, asked: list[dict[str, Any]]) -> None:
    said = [client.post("/dmlviz/losses/triplet/forces.json", json=TRIANGLE).json() for _ in range(3)]
    assert said[0] == said[1] == said[2]
    assert len(asked) == 1
    assert asked[0]["params"]["margin"] == 0.2


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("tripel/curve", {}, "did you mean 'triplet'"),
        ("triplet/poem", {}, "drawn as curve, forces, ground; got poem"),
        ("triplet/curve", {"params": {"marjin": 1}}, "no parameter 'marjin'"),
        ("triplet/curve", {"pages": 1}, "The fields for curve.json are held, params, samples"),
        ("triplet/curve", [1], "is a JSON object"),
        ("triplet/forces", {"points": [[0, 1]]}, "(required: labels, points); got points."),
        ("triplet/forces", {"points": [[0, 1]], "labels": [0, 1]}, "one class number from 0 for each point"),
        ("triplet/curve", {"samples": 10**9}, "A curve has 2 to 1000 steps"),
    ],
)
def test_an_invalid_question_is_one_sentence(client: TestClient, path: str, body: Any, sentence: str) -> None:
    answer = client.post(f"/dmlviz/losses/{path}.json", json=body)
    assert answer.status_code == 404
    assert sentence in answer.json()["error"]


def test_a_body_that_is_not_json_or_too_long_is_refused(client: TestClient) -> None:
    for content in (b"{", b" " * (losses.MAX_BODY_BYTES + 1)):
        answer = client.post("/dmlviz/losses/triplet/curve.json", content=content)
        assert answer.status_code == 404
        assert answer.json()["error"].startswith("A question about a loss")


def test_questions_that_wait_for_the_worker_hold_up_no_other_route(
    client: TestClient, here: Services, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()

    def call(question: dict[str, Any]) -> dict[str, Any]:
        answered.wait()
        return {"answered": question["samples"]}

    monkeypatch.setattr(here.scheduler.inference_worker, "call", call)
    count = MAX_QUESTIONS + 1
    client.portal.call(enlarge_thread_pool)  # as the server does at its start
    with ThreadPoolExecutor(count + 1) as people:
        bodies = [{"samples": 10 + n} for n in range(count)]
        waiting = [people.submit(client.post, "/dmlviz/losses/triplet/curve.json", json=body) for body in bodies]
        other = people.submit(client.get, f"/dmlviz/runs/{run.id}/columns.json")
        try:
            assert other.result(timeout=60).status_code == 200
            assert not any(question.done() for question in waiting)
        finally:
            answered.set()
        assert [question.result().json()["answered"] for question in waiting] == [10 + n for n in range(count)]


def test_points_are_scored_as_the_library_scores_them(client):
    scores = client.post("/dmlviz/scores.json", json=POINTS).json()["scores"]
    expected = evaluate(embeddings=POINTS["points"], labels=POINTS["classes"], full_ranking=False)
    for name in ("nmi", "pairwise_f1", "precision_at_1", "r_precision", "map_at_r"):
        assert scores[name] == expected[name] == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{", "JSON object"),
        ("[]", "JSON object"),
        ('{"points": []}', "JSON object"),
        (json.dumps({"points": [[0, 0]], "classes": [0]}), "at least 2 items"),
        (json.dumps({"points": [[0, 0], [1]], "classes": [0, 1]}), "points.1: list should have at least 2 items"),
        ('{"points": [[0, 0], [1, NaN]], "classes": [0, 1]}', "points.1.1"),
        ('{"points": [[0, 0], [1, 1e999]], "classes": [0, 1]}', "points.1.1"),
        (json.dumps({"points": [[0, 0], [1, 1]], "classes": [0]}), "one label for each embedding"),
        (json.dumps({"points": [[0, 0], [1, 1]], "classes": {"a": 1}}), "classes: must be a valid"),
        (" " * 60_000, "at most 50,000 bytes"),
    ],
)
def test_anything_but_points_is_refused_in_a_sentence(client, body, said):
    answer = client.post("/dmlviz/scores.json", content=body)
    assert answer.status_code == 404
    assert said in answer.json()["error"]


def test_scores_that_are_not_defined_are_null(client):
    body = {"points": [[0, 0], [1, 1]], "classes": [0, 0]}
    assert client.post("/dmlviz/scores.json", json=body).json()["scores"]["nmi"] is None


def test_points_to_play_with_are_the_images_and_the_embeddings_that_are_there(client: TestClient, run: Run) -> None:
    props = data(learn(projection="umap"), "layout_playground")
    shown = props["clouds"][-1]
    assert (props["clouds"][0]["url"], shown["title"]) == ("dmlviz/clouds/digits.json", "The run shown in Explore")
    for url in ("/dmlviz/clouds/digits.json", f"/{shown['url']}", f"/dmlviz/runs/{run.id}/cloud.json"):
        answer = client.get(url).json()
        TypeAdapter(PointCloud).validate_python(answer)
        assert 1 < len(answer["rows"]) == len(answer["labels"]) <= 400
        assert max(answer["labels"]) < len(answer["classes"]) == 11
    rows, labels = run.embeddings_at(run.embedded_steps[-1])
    assert answer["labels"] == labels[:400].tolist()
    np.testing.assert_allclose(answer["rows"], rows[:400], atol=1e-3)
    assert client.get("/dmlviz/clouds/nothing.json").status_code == 404


def test_code_is_stepped_through_with_digits_or_a_run(client: TestClient, run: Run) -> None:
    for place in ("code", f"runs/{run.id}/code"):
        answer = client.get(f"/dmlviz/{place}/loss/triplet/steps.json")
        steps = TypeAdapter(CodeSteps).validate_json(answer.content)
        assert len(steps["steps"]) == 6
        assert (run.title in steps["title"]) == (place != "code")
        assert steps["steps"][0]["values"][0]["shape"] == [len(steps["labels"])] * 2 == [8, 8]
    assert client.get("/dmlviz/code/loss/none/steps.json").json()["error"]


def test_a_figure_and_an_architecture_are_answered_and_what_is_wrong_is_said(client: TestClient) -> None:
    drawn = TypeAdapter(Drawn).validate_json(client.post("/dmlviz/figures/cosine.json", content="{}").content)
    moved = client.post("/dmlviz/figures/cosine.json", content='{"angle": 90}').json()
    assert moved["series"] != drawn["series"]
    assert "got angle = 200" in client.post("/dmlviz/figures/cosine.json", content='{"angle": 200}').json()["error"]
    picture = client.get("/dmlviz/architectures/net/mlp.json?embedding_dim=3&size=8&channels=1").json()
    assert TypeAdapter(Picture).validate_python(picture)["boxes"][-1]["lines"][0] == "linear, 3"
    for query in ("seed=1", "size=-1", "size=x", "size=99999"):
        assert "whole numbers" in client.get(f"/dmlviz/architectures/net/mlp.json?{query}").json()["error"]
    assert "no net called" in client.get("/dmlviz/architectures/net/mpl.json").json()["error"]


def test_the_source_of_an_entry_is_a_page_with_its_line(client: TestClient) -> None:
    shown = data(learn(loss="arcface"), "code_tab")
    address, line = shown["source_url"].split("#")
    page = client.get("/dmlviz/" + address.partition("dmlviz/")[2]).text
    assert f'<span id="{line}">@implements(&quot;arcface&quot;)' in page
