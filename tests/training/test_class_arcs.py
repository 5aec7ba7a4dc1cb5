"""The wedges that the map draws at every frame are the arcs on which the loss itself lets each class win."""

import math

import numpy as np
import pytest
import torch

from dmlviz.losses import build
from dmlviz.training.batch_terms import SAMPLES, class_arcs

STEP = 2 * math.pi / SAMPLES
CASES = [
    ("arcface", {"margin": 0.2, "scale": 16.0}, 10),
    ("cosface", {"margin": 0.2, "scale": 16.0}, 10),
    ("combined_margin", {"m1": 1.5, "m2": 0.1, "m3": 0.1, "scale": 16.0}, 6),
    ("normalized_softmax", {}, 7),
    ("sphereface", {"margin": 2.5}, 5),
    ("cosface", {"margin": 0.35, "scale": 16.0}, 2),
]


@pytest.mark.slow
def test_the_maps_wedges_are_the_arcs_of_the_loss(page_script):
    questions, expected = [], []
    for name, params, count in CASES:
        loss = build(name, embedding_dim=2, num_classes=count, seed=3, **params)
        angles = 2 * math.pi * (np.arange(count) + 0.3 * np.random.default_rng(count).random(count)) / count
        loss.weight.data = torch.tensor(np.stack([np.cos(angles), np.sin(angles)], axis=1), dtype=torch.float32)
        expected.append(class_arcs(loss, torch.eye(2)))
        questions.append(
            {
                "angles": angles.tolist(),
                "margins": loss.declaration.angular_margins(loss.declaration.with_defaults(params)),
            }
        )
    for case, wedges, arcs in zip(CASES, page_script("wedges", questions)["wedges"], expected, strict=True):
        assert arcs, case
        for direction in (np.arange(SAMPLES) + 0.5) * STEP:
            winner = next((arc["row"] for arc in arcs if arc["start"] <= direction < arc["end"]), None)
            drawn = [row for row, wedge in enumerate(wedges) if _inside(direction, wedge, -STEP)]
            assert drawn in ([], [winner]), case
            assert winner is None or _inside(direction, wedges[winner], STEP), case


def _inside(direction, wedge, room):
    """Whether a direction lies in a wedge that is wider by `room` on either side."""
    start, end = wedge[0] - room, wedge[1] + room
    return end > start and (direction - start) % (2 * math.pi) < end - start
