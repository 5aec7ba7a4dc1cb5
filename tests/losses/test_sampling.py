"""The samples that Learn plots of a loss equal the loss at the same points."""

import pytest
import torch

from dmlviz import losses
from dmlviz.catalog.losses import LOSSES
from dmlviz.errors import UserError
from dmlviz.losses import sampling
from dmlviz.losses.sampling import forces, ground, sample_curve
from dmlviz.losses.scenes import scene_of
from dmlviz.miners.tuples import Triplets

NAMES = [name for name in LOSSES if name != "weighted_sum"]
TRIANGLE = [[-0.35, -0.25], [0.55, 0.35], [0.2, -0.55]]
# Their weights, or their margin, change with the points but are held constant in the gradient.
HELD_IN_GRADIENT = {"circle", "hierarchical_triplet", "adaface"}


@pytest.mark.slow
@pytest.mark.sample(10)
@pytest.mark.parametrize("name", NAMES)
def test_every_loss_has_two_curves_that_change_and_their_slopes(name: str) -> None:
    drawn = sample_curve(name, {}, samples=60)
    assert len(drawn["x"]) == 61
    x = torch.tensor(drawn["x"])[1:]  # the first step is shorter
    for side in ("near", "far"):
        assert None not in drawn[side]["loss"]
        assert max(drawn[side]["loss"]) - min(drawn[side]["loss"]) > 1e-3
        assert len(drawn[side]["slope"]) == 61
        if name in HELD_IN_GRADIENT:
            continue
        values, slopes = (torch.tensor(drawn[side][key])[1:] for key in ("loss", "slope"))
        risen = (values[2:] - values[:-2]) / (x[2:] - x[:-2])
        mean = (slopes[:-2] + 4 * slopes[1:-1] + slopes[2:]) / 6  # Simpson's rule
        off = (mean - risen).abs() / (1 + risen.abs())
        assert off.quantile(0.7) < 0.01, side  # not at a kink, of which FastAP has one at the edge of each bin


def test_a_curve_of_contrastive_is_its_formula_and_marks_its_margin() -> None:
    drawn = sample_curve("contrastive", {"margin": 1.0}, samples=40)
    assert drawn["near"]["loss"][10] == pytest.approx(0.25)
    assert drawn["far"]["loss"][10] == pytest.approx(0.25)
    assert drawn["far"]["slope"][10] == pytest.approx(-1)
    assert [mark["x"] for mark in drawn["marks"]] == [1.0]


def test_a_margin_beyond_the_axis_makes_the_axis_longer() -> None:
    assert sample_curve("contrastive", {"margin": 4.0}, samples=4)["high"] == 5
    assert sample_curve("contrastive", {"margin": 1.0}, samples=4)["high"] == 2


@pytest.mark.parametrize(
    ("name", "params", "kind", "axis"),
    [
        ("contrastive", {}, "pair", "distance"),
        ("contrastive_linear", {"distance": "cosine"}, "pair", "angle"),
        ("triplet", {}, "triplets", "distance"),
        ("triplet", {"distance": "cosine"}, "triplets", "angle"),
        ("nt_xent", {}, "triplets", "angle"),
        ("lifted", {}, "triplets", "distance"),
        ("n_pairs", {}, "triplets", "angle"),
        ("arcface", {}, "weights", "angle"),
        ("softmax", {}, "weights", "angle"),
    ],
)
def test_a_loss_is_plotted_over_what_it_depends_on(name: str, params: dict[str, object], kind: str, axis: str) -> None:
    scene = scene_of(losses.build(name, embedding_dim=4, num_classes=2, **params).double())
    assert (scene.kind, scene.axis.title) == (kind, axis)


def test_a_sample_of_triplet_is_the_value_of_the_loss() -> None:
    drawn = sample_curve("triplet", {"margin": 0.3}, {"p": 0.5}, samples=20)
    loss = losses.build("triplet", margin=0.3)
    for x, value in zip(drawn["x"], drawn["far"]["loss"], strict=True):
        points = torch.tensor([[0.0], [0.5], [-x]])
        right = loss(points, torch.tensor([0, 0, 1]), Triplets(*torch.tensor([[0], [1], [2]])))
        assert value == pytest.approx(right.item(), abs=1e-6)


def test_a_sample_of_arcface_is_the_value_of_the_loss() -> None:
    drawn = sample_curve("arcface", {}, {"p": 30, "n": 90, "others": 3}, samples=12)
    loss = losses.build("arcface", embedding_dim=4, num_classes=4).double()
    for angle, value in zip(drawn["x"], drawn["near"]["loss"], strict=True):
        at = torch.tensor(angle, dtype=torch.float64)
        with torch.no_grad():
            loss.weight.copy_(torch.eye(4)[[0, 2, 3, 3]])
            loss.weight[0] = torch.stack([at.cos(), at.sin(), 0 * at, 0 * at])
        point = torch.tensor([[1.0, 0, 0, 0]], dtype=torch.float64)
        assert value == pytest.approx(loss(point, torch.tensor([0])).item(), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_forces_are_minus_the_gradient_of_the_loss(name: str) -> None:
    points = [[0, 0.1], [0.5, 0.4], [0.3, -0.5], [0.1, 0.6], [-0.4, 0.2], [0.9, 0.1]]
    labels = [0, 0, 1, 1, 2, 2]
    weights = [[1.0, 0], [0, 1.0], [-1, 0]] if LOSSES[name].needs_classes else []
    found = forces(name, {}, points, labels, weights)
    here = {"points": points, "labels": labels, "weights": weights}
    at = [[0.5 + 1e-6, 0.4], [0.5 - 1e-6, 0.4], [0.5, 0.4]]
    more, less, same = ground(name, {}, **here, index=1, places=at)["values"]
    assert same == pytest.approx(found["loss"])
    if name not in HELD_IN_GRADIENT:
        assert found["forces"][1][0] == pytest.approx(-(more - less) / 2e-6, rel=1e-3, abs=1e-5)
    assert len(found["on_weights"]) == len(weights)
    assert 0 <= found["active"] <= 1


def test_a_triplet_within_its_margin_pulls_with_unit_force_at_each_end_and_both_on_the_anchor() -> None:
    found = forces("triplet", {"margin": 0.2}, TRIANGLE, [0, 0, 1], triplet=True)
    anchor, positive, negative = torch.tensor(found["forces"])
    a, p, n = torch.tensor(TRIANGLE)
    assert found["loss"] == pytest.approx(0.2 + (a - p).norm().item() - (a - n).norm().item(), abs=1e-6)
    assert [positive.norm().item(), negative.norm().item()] == pytest.approx([1, 1])
    torch.testing.assert_close(anchor, -positive - negative)


def test_the_ground_moves_a_class_weight_too() -> None:
    weights = [[1.0, 0], [0, 1.0]]
    here = {"points": [[1.0, 0.2]], "labels": [0], "weights": weights}
    (value,) = ground("arcface", {}, **here, index=1, places=[[0.5, 0.5]])["values"]
    moved = forces("arcface", {}, [[1.0, 0.2]], [0], [[0.5, 0.5], [0, 1.0]])
    assert value == pytest.approx(moved["loss"])


@pytest.mark.parametrize(
    ("points", "labels"), [([[0.0, 1], [1]], [0, 1]), ([[float("nan"), 0]], [0]), ([[0.0, 1]], [0, 1]), ([], [])]
)
def test_malformed_points_are_refused_in_a_sentence(points: list[list[float]], labels: list[int]) -> None:
    with pytest.raises(UserError, match="got"):
        forces("triplet", {}, points, labels)


def test_a_slider_out_of_range_is_refused_in_a_sentence() -> None:
    with pytest.raises(UserError, match="Positive held at is a number from 0 to 2; got 9"):
        sample_curve("triplet", {}, {"p": 9})


def test_the_worker_answers_a_question_by_its_name() -> None:
    question = {"loss": "forces", "name": "triplet", "params": {}, "points": TRIANGLE, "labels": [0, 0, 1]}
    assert sampling.answer(question) == forces("triplet", {}, TRIANGLE, [0, 0, 1])
