"""Who is near whom in a run."""

import json

import numpy as np
import pytest

from dmlviz.errors import UserError


def test_neighbours_leave_the_item_out_and_name_classes(runs, write, labels):
    run = write(runs)
    embeddings = np.asarray(run.embeddings, np.float64)
    far = np.linalg.norm(embeddings - embeddings[7], axis=1)
    far[7] = np.inf
    expected = np.argsort(far)[:5]
    found = run.neighbours(7, 5)
    assert [neighbour.item for neighbour in found] == expected.tolist()
    assert [neighbour.label for neighbour in found] == labels[expected].tolist()
    np.testing.assert_allclose([neighbour.distance for neighbour in found], far[expected], rtol=1e-4)
    json.dumps([neighbour._asdict() for neighbour in found])


def test_neighbours_at_a_step_are_among_the_watched(runs, write, labels):
    run = write(runs)
    watched = run.watched
    item = int(watched[3])
    embeddings = run.snapshot(2).astype(np.float64)
    far = np.linalg.norm(embeddings - embeddings[3], axis=1)
    far[3] = np.inf
    assert [neighbour.item for neighbour in run.neighbours(item, 4, step=2)] == watched[np.argsort(far)[:4]].tolist()
    stranger = next(i for i in range(len(labels)) if i not in watched)
    with pytest.raises(UserError, match=f"Image {stranger} is not among the 20"):
        run.neighbours(stranger, 4, step=2)
    for nonsense in (-1, len(labels), 10**9):
        with pytest.raises(UserError, match="is not among"):
            run.neighbours(nonsense, 4)


def test_neighbours_while_training_come_from_the_newest_snapshot(runs, told, write):
    run = write(runs, events=list(told())[:-1])
    item = int(run.watched[0])
    assert run.neighbours(item, 3) == run.neighbours(item, 3, step=4)


def test_the_gallery_of_a_run_that_was_trained_again_is_not_the_old_one(runs, told, write):
    run = write(runs)
    before = run.neighbours(7, 5)
    again = write(runs, events=list(told(spread=5.0)))
    assert again.neighbours(7, 5) != before


def test_a_point_of_the_space_has_neighbours(runs, write):
    run = write(runs)
    assert run.nearest(run.embeddings[7], 1)[0].item == 7
    assert run.nearest(run.embeddings[7], 1)[0].distance == pytest.approx(0, abs=1e-3)
