"""The neighbor history of a query image; that of a test image has a route of its own, see test_routes."""

import json

import numpy as np

from app.payloads.neighbor_history import query_neighbor_history
from app.payloads.query import QueryResult, TrajectoryPoint


def answer(way, embedding, label=4):
    return QueryResult((), [], label, 0, "", {}, way, embedding)


def test_a_query_equal_to_a_tracked_image_has_its_neighbor_history(run):
    row, steps = 11, run.snapshot_steps[:-1]
    item = int(run.tracked_indices[row])
    way = [TrajectoryPoint(step, [0.0, 0.0], run.snapshot(step)[row]) for step in steps]
    history = query_neighbor_history(run, answer(way, run.embeddings[item]), 10)
    assert json.loads(json.dumps(history)) == history | {
        "near": [[list(one) for one in near] for near in history["near"]]
    }
    assert history["item"] is None
    assert (history["label"], history["among"]) == (4, len(run.tracked_indices))
    assert history["steps"] == [*steps, run.config.steps]
    for step, near in zip(steps, history["near"], strict=False):
        assert near[0] == (item, 0.0)
        assert [other for other, _ in near[1:]] == [neighbor.item for neighbor in run.neighbors(item, 9, step)]
    last = np.linalg.norm(run.embeddings[run.tracked_indices] - run.embeddings[item], axis=1)
    assert [other for other, _ in history["near"][-1]] == run.tracked_indices[
        np.argsort(last, kind="stable")[:10]
    ].tolist()
    assert all(history["labels"][str(other)] == run.labels[other] for near in history["near"] for other, _ in near)


def test_a_run_without_checkpoints_has_no_history_of_a_query_image(run):
    assert query_neighbor_history(run, answer([], run.embeddings[0]), 10) is None
