"""The film-strip of a picture of one's own; that of a test image is asked for by its address, see test_routes."""

import json

import numpy as np

from app.payloads.neighbor_history import query_neighbor_history
from app.payloads.query import QueryResult, TrajectoryPoint


def answer(way, embedding, label=4):
    return QueryResult((), [], label, 0, "", {}, way, embedding)


def test_a_picture_like_a_watched_image_has_that_images_neighbors_over_the_training(run):
    row, steps = 11, run.snapshot_steps[:-1]
    item = int(run.tracked_indices[row])
    way = [TrajectoryPoint(step, [0.0, 0.0], run.snapshot(step)[row]) for step in steps]
    film = query_neighbor_history(run, answer(way, run.embeddings[item]), 10)
    assert json.loads(json.dumps(film)) == film | {"near": [[list(one) for one in near] for near in film["near"]]}
    assert film["item"] is None
    assert (film["label"], film["among"]) == (4, len(run.tracked_indices))
    assert film["steps"] == [*steps, run.config.steps]
    for step, near in zip(steps, film["near"], strict=False):
        assert near[0] == (item, 0.0)
        assert [other for other, _ in near[1:]] == [neighbor.item for neighbor in run.neighbors(item, 9, step)]
    last = np.linalg.norm(run.embeddings[run.tracked_indices] - run.embeddings[item], axis=1)
    assert [other for other, _ in film["near"][-1]] == run.tracked_indices[
        np.argsort(last, kind="stable")[:10]
    ].tolist()
    assert all(film["labels"][str(other)] == run.labels[other] for near in film["near"] for other, _ in near)


def test_a_run_that_kept_its_net_at_the_end_only_has_no_film_of_a_picture(run):
    assert query_neighbor_history(run, answer([], run.embeddings[0]), 10) is None
