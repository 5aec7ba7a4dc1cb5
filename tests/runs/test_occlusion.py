"""Occlusion maps: exact where the net is known, the same for what cannot be hidden."""

import numpy as np
import pytest

from dmlviz.runs.occlusion import STRIDE, WINDOW, occlusion_maps

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
