"""What each image went through while a net learned, against loops."""

from itertools import pairwise

import numpy as np

from dmlviz.cleaning.findings import AMBIGUOUS, ambiguous_rows, dynamics_cells
from dmlviz.ops.training_dynamics import TrainingDynamics, training_dynamics


def test_the_neighbors_with_an_images_label_are_its_confidence():
    rng = np.random.default_rng(0)
    labels = np.repeat([4, 7, 9, 1], [12, 9, 3, 1])
    nets = [np.stack([rng.permutation(np.delete(np.arange(25), i))[:6] for i in range(25)]) for _ in range(5)]
    found = training_dynamics(nets, labels)
    for i, label in enumerate(labels):
        k = min(6, int((labels == label).sum()) - 1)
        if k == 0:
            assert np.isnan([found.confidence[i], found.variability[i], found.forgotten[i]]).all()
            continue
        shares = [float(np.mean(labels[net[i, :k]] == label)) for net in nets]
        assert np.isclose(found.confidence[i], np.mean(shares))
        assert np.isclose(found.variability[i], np.std(shares))
        assert found.forgotten[i] == sum(a > 0.5 >= b for a, b in pairwise(shares))


def test_every_image_lies_in_a_cell_and_those_that_changed_most_are_listed_first():
    rng = np.random.default_rng(0)
    shares = rng.integers(0, 11, (6, 300)) / 10
    shares[:, :9] = [[0.0], [1.0], [0.0], [1.0], [0.0], [1.0]]  # variability .5, the largest
    shares[:, 9] = np.nan
    dynamics = TrainingDynamics(shares.mean(axis=0), shares.std(axis=0), np.nan_to_num(shares[0]))
    items, labels = np.arange(300) * 2, np.zeros(300, int)
    cells = [*dynamics_cells(items, dynamics)]
    assert sum(cell["images"] for cell in cells) == 299
    for cell in cells:
        one = cell["image"] // 2
        assert cell["confidence"] / 10 - 1e-9 <= dynamics.confidence[one] <= (cell["confidence"] + 1) / 10
        assert cell["variability"] / 20 - 1e-9 <= dynamics.variability[one] <= (cell["variability"] + 1) / 20
    rows = [*ambiguous_rows(items, labels, dynamics, np.ones(300, int))]
    assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)
    assert {row.image for row in rows} == set((2 * np.flatnonzero(dynamics.variability >= AMBIGUOUS)).tolist())
