"""What a net says of test images: class scores before and after the margin, and maps of what is hidden."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.ops.ball import in_ball
from dmlviz.runs.damage import check
from dmlviz.runs.explanations import STRIDE, WINDOW, logits, occlusion_maps
from dmlviz.runs.files import file_named
from dmlviz.runs.run import LOSS_WEIGHTS
from dmlviz.training.events import Finished

WEIGHT = np.random.default_rng(1).normal(size=(10, 4)).astype(np.float32)


@pytest.fixture
def of_loss(runs, told, write):
    """A run with a loss's weights."""

    def written(loss, params=None, weights=None, **fields):
        config = TrainConfig(dataset="digits", net="mlp", embedding_dim=4, steps=4, eval_subset_size=20, loss=loss,
                             loss_params=params or {}, **fields)  # fmt: skip
        weights = {"weight": WEIGHT} if weights is None else weights
        events = (
            replace(event, loss_weights=weights) if isinstance(event, Finished) else event for event in told(config)
        )
        return write(runs, config, events)

    return written


@pytest.mark.parametrize("item", [0, 7, 20])
def test_the_own_class_bears_the_margin_of_arcface(of_loss, labels, item):
    run = of_loss("arcface", {"margin": 0.5, "scale": 8})
    answer, x = logits(run, item), run.embeddings[item]
    cosine = (WEIGHT @ x) / np.linalg.norm(WEIGHT, axis=1) / np.linalg.norm(x)
    assert answer["before"] == pytest.approx(8 * cosine, rel=1e-4)
    expected = 8 * cosine
    expected[labels[item]] = 8 * math.cos(math.acos(cosine[labels[item]]) + 0.5)
    assert answer["after"] == pytest.approx(expected, rel=1e-4)
    assert (answer["own"], answer["classes"]) == (labels[item], list(range(10)))
    assert answer["norm"] == pytest.approx(np.linalg.norm(x), rel=1e-5)


def test_softmax_has_no_margin_and_a_held_out_class_no_score_of_its_own(of_loss, labels):
    weights = {"weight": WEIGHT[:9], "bias": np.arange(9, dtype=np.float32)}
    run = of_loss("softmax", weights=weights, held_out_classes=(3,))
    answer = logits(run, 3)
    assert answer["own"] is None
    assert answer["before"] == answer["after"] == pytest.approx(WEIGHT[:9] @ run.embeddings[3] + np.arange(9), rel=1e-4)
    assert logits(run, 4)["own"] == 3


def test_a_sum_shows_the_part_that_scores_classes(of_loss):
    run = of_loss("weighted_sum", {"a": "contrastive", "b": "cosface"}, {"b.weight": WEIGHT})
    answer = logits(run, 5)
    assert answer["before"][5] - answer["after"][5] == pytest.approx(64 * 0.35, rel=1e-4)


def test_wrong_questions_and_damaged_weights_get_a_sentence(of_loss, runs, write):
    run = of_loss("arcface")
    with pytest.raises(UserError, match="from 0 to 49; got 50"):
        logits(run, 50)
    with pytest.raises(UserError, match="keeps no class weights"):
        logits(write(runs), 0)
    (run.path / LOSS_WEIGHTS).write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"loss\.safetensors"):
        logits(run, 0)
    assert LOSS_WEIGHTS in [error.file for error in check(run)]
    assert file_named(LOSS_WEIGHTS)


SIDE = 28


def sums_of_quarters(images):
    """A net that knows where it looks: the mean ink of each quarter (n × 4)."""
    n = len(images)
    quarters = images.reshape(n, 2, SIDE // 2, 2, SIDE // 2, -1).astype(float)
    return quarters.mean(axis=(2, 4, 5)).reshape(n, 4)


def pair(*images):
    return np.stack(images).astype(np.uint8)


def with_square(top, left, ink=200, color=False):
    image = np.full((SIDE, SIDE, 3) if color else (SIDE, SIDE), 10)
    image[top : top + 4, left : left + 4] = ink
    return image


@pytest.mark.parametrize("color", [False, True])
def test_what_both_have_holds_them_together_and_what_one_has_holds_them_apart(color):
    both, one = with_square(4, 4, color=color), with_square(20, 20, color=color)
    images = pair(both, np.maximum(both, one))
    first, second = occlusion_maps(sums_of_quarters, images)
    assert first[5, 5] > 0
    assert second[5, 5] > 0
    assert second[21, 21] < 0
    assert first[21, 21] == first[5, 21] == second[5, 21] == 0  # nothing is hidden there


def test_a_map_is_the_mean_over_the_windows_on_a_pixel():
    images = pair(with_square(10, 10), with_square(9, 11))
    maps = occlusion_maps(sums_of_quarters, images)
    width, step = round(WINDOW * SIDE), round(STRIDE * SIDE)
    distance = np.linalg.norm(np.subtract(*sums_of_quarters(images)))
    changes = []
    for top in range(1 - width, SIDE, step):
        for left in range(1 - width, SIDE, step):
            rows, columns = slice(max(0, top), top + width), slice(max(0, left), left + width)
            hidden = images[0].copy()
            hidden[rows, columns] = 10
            if 11 in range(SIDE)[rows] and 12 in range(SIDE)[columns]:
                changes.append(np.linalg.norm(np.subtract(*sums_of_quarters(pair(hidden, images[1])))) - distance)
    assert maps[0, 11, 12] == pytest.approx(np.mean(changes))


@pytest.mark.parametrize("ink", [0, 255])
def test_of_two_empty_images_nothing_can_be_hidden(ink):
    empty = np.full((2, SIDE, SIDE), ink, np.uint8)
    assert not occlusion_maps(sums_of_quarters, empty).any()


def test_two_equal_images_are_only_moved_apart():
    assert (occlusion_maps(sums_of_quarters, pair(with_square(4, 4), with_square(4, 4))) >= 0).all()


@pytest.mark.slow
def test_a_page_without_a_server_finds_the_same_parts(page_script):
    random, given, right = np.random.default_rng(0), [], []
    for size in (8, 28, 35):  # 35 / 14 lies between two whole numbers of pixels
        weights = random.normal(size=(size * size, 5))
        drawn = np.where(random.random((2, size, size)) < 0.3, random.integers(0, 256, (2, size, size)), 7)
        blank = np.full((size, size), 255)
        for images in (drawn, np.stack([drawn[0], blank]), random.integers(0, 256, (2, size, size))):
            curvature = 1e-4 * (size == 8)  # points of a large ball, within its rim

            def embed(batch, weights=weights, curvature=curvature):
                return in_ball(batch.reshape(len(batch), -1) / 255 @ weights, curvature)

            about = {"pair": images.reshape(2, -1).tolist(), "size": size, "weights": weights.tolist()}
            given.append(about | {"curvature": curvature})
            right.append(occlusion_maps(embed, images))
    for expected, found in zip(right, page_script("occlusion", given), strict=True):
        np.testing.assert_allclose(np.reshape(found, expected.shape), expected, atol=2e-6)
