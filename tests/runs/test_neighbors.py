"""Nearest neighbors in a run."""

import json

import numpy as np
import pytest

from dmlviz.errors import UserError


def test_neighbors_leave_the_item_out_and_name_classes(runs, write, labels):
    run = write(runs)
    embeddings = np.asarray(run.embeddings, np.float64)
    far = np.linalg.norm(embeddings - embeddings[7], axis=1)
    far[7] = np.inf
    expected = np.argsort(far)[:5]
    found = run.neighbors(7, 5)
    assert [neighbor.item for neighbor in found] == expected.tolist()
    assert [neighbor.label for neighbor in found] == labels[expected].tolist()
    np.testing.assert_allclose([neighbor.distance for neighbor in found], far[expected], rtol=1e-4)
    json.dumps([neighbor._asdict() for neighbor in found])


def test_neighbors_at_a_step_are_among_the_watched(runs, write, labels):
    run = write(runs)
    tracked = run.tracked_indices
    item = int(tracked[3])
    embeddings = run.snapshot(2).astype(np.float64)
    far = np.linalg.norm(embeddings - embeddings[3], axis=1)
    far[3] = np.inf
    assert [neighbor.item for neighbor in run.neighbors(item, 4, step=2)] == tracked[np.argsort(far)[:4]].tolist()
    stranger = next(i for i in range(len(labels)) if i not in tracked)
    with pytest.raises(UserError, match=f"Image {stranger} is not among the 20"):
        run.neighbors(stranger, 4, step=2)
    for nonsense in (-1, len(labels), 10**9):
        with pytest.raises(UserError, match="is not among"):
            run.neighbors(nonsense, 4)


def test_neighbors_while_training_come_from_the_newest_snapshot(runs, told, write):
    run = write(runs, events=list(told())[:-1])
    item = int(run.tracked_indices[0])
    assert run.neighbors(item, 3) == run.neighbors(item, 3, step=4)


def test_the_gallery_of_a_run_that_was_trained_again_is_not_the_old_one(runs, told, write):
    run = write(runs)
    before = run.neighbors(7, 5)
    again = write(runs, events=list(told(spread=5.0)))
    assert again.neighbors(7, 5) != before


def test_a_point_of_the_space_has_neighbors(runs, write):
    run = write(runs)
    assert run.neighbors_of_point(run.embeddings[7], 1)[0].item == 7
    assert run.neighbors_of_point(run.embeddings[7], 1)[0].distance == pytest.approx(0, abs=1e-3)
