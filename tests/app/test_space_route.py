"""The route that scores a few points in the plane."""

import json

import pytest

from dmlviz.metrics import evaluate

POINTS = {"points": [[0, 0], [0.1, 0], [1, 1], [1.1, 1]], "classes": [0, 0, 1, 1]}


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
        (json.dumps({"points": [[0, 0]], "classes": [0]}), "2 to 300 points"),
        (json.dumps({"points": [[0, 0], [1]], "classes": [0, 1]}), "2 finite numbers"),
        ('{"points": [[0, 0], [1, NaN]], "classes": [0, 1]}', "2 finite numbers"),
        ('{"points": [[0, 0], [1, 1e999]], "classes": [0, 1]}', "2 finite numbers"),
        (json.dumps({"points": [[0, 0], [1, 1]], "classes": [0]}), "one class id per embedding"),
        (json.dumps({"points": [[0, 0], [1, 1]], "classes": {"a": 1}}), "class id"),
        (" " * 60_000, "at most 50,000 bytes"),
    ],
)
def test_anything_else_is_refused_in_a_sentence(client, body, said):
    answer = client.post("/dmlviz/scores.json", content=body)
    assert answer.status_code == 404
    assert said in answer.json()["error"]


def test_scores_that_are_not_defined_are_null(client):
    body = {"points": [[0, 0], [1, 1]], "classes": [0, 0]}
    assert client.post("/dmlviz/scores.json", json=body).json()["scores"]["nmi"] is None
