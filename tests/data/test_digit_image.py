"""A drawing becomes a digit of 8 × 8 as scikit-learn's digits were made."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from dmlviz.data import load
from dmlviz.data.digit_image import THIN, block_counts, deskew, edges, frame_digit
from dmlviz.data.query_image import prepare
from dmlviz.runs.embed import embed_and_place
from dmlviz.runs.store import Runs

# Each figure as most people draw it, in strokes over a pad of 100 × 100: polygons and (box, from, to) arcs.
FIGURES = {
    0: [((30, 15, 70, 85), 0, 360)],
    1: [[(40, 30), (52, 16), (52, 84)]],
    2: [((32, 15, 70, 50), 180, 380), [(66, 42), (30, 82), (72, 82)]],
    3: [((30, 15, 68, 50), 200, 450), ((28, 48, 70, 84), 270, 510)],
    4: [[(54, 16), (28, 60), (76, 60)], [(60, 40), (60, 86)]],
    5: [[(70, 18), (36, 18), (34, 48)], ((30, 42, 70, 84), 240, 510)],
    6: [[(60, 16), (36, 52)], ((32, 46, 68, 84), 0, 360)],
    8: [((35, 14, 66, 48), 0, 360), ((31, 48, 70, 86), 0, 360)],
    9: [((32, 16, 68, 52), 0, 360), [(67, 36), (60, 86)]],
}


def drawing(figure: int, pen: int = 7, lean: float = 0.0) -> np.ndarray:
    picture = Image.new("L", (100, 100))
    draw = ImageDraw.Draw(picture)
    for part in FIGURES[figure]:
        if isinstance(part, tuple):
            box, begin, end = part
            draw.arc(box, begin, end, 255, pen)
        else:
            draw.line(part, 255, pen, joint="curve")
    return np.asarray(picture.transform(picture.size, Image.Transform.AFFINE, (1, lean, -lean * 50, 0, 1, 0)))


@pytest.mark.parametrize("lean", [0.0, 0.25, -0.25])
@pytest.mark.parametrize("pen", [4, 7, 12])
def test_a_drawn_digit_lands_among_its_class_with_any_pen(pen, lean):
    run = next(run for run in Runs("/nowhere").list() if run.config.dataset == "digits" and not run.info.get("fails"))
    images = np.stack([prepare(drawing(figure, pen, lean), "digits").image for figure in FIGURES])
    said = embed_and_place(run, images, views=[])
    votes = [
        np.bincount(
            [neighbor.label for neighbor in run.neighbors_of_point(np.asarray(embedding, np.float32), 10)]
        ).argmax()
        for embedding in said["embeddings"]
    ]
    assert np.mean(np.array(votes) == list(FIGURES)) >= 7 / 9, votes


def test_a_slanted_digit_is_set_upright():
    leaning = np.zeros((40, 60))
    for row in range(40):
        leaning[row, 40 - row // 2 : 46 - row // 2] = 1
    assert deskew(leaning).shape[1] <= 10
    assert np.allclose(deskew(np.ones((40, 6))), 1)


def test_a_digit_that_bulges_to_one_side_is_not_sheared():
    """As NIST saw it: a line from top to bottom stands upright, wherever most of the ink is."""
    seven = np.zeros((32, 20))
    seven[:, 15:] = seven[:5] = 1
    assert np.array_equal(deskew(seven), seven)


def test_a_gray_pixel_at_the_edge_is_covered_in_part():
    assert edges(np.array([0, 0.5, 1, 0.2, 1, 1, 0.25, 0])) == (1.5, 6.25)


def test_a_prepared_digit_is_not_changed_again():
    """Its frame of 20 columns fills half of a block on either side, which is gray in the image of 8 × 8."""
    frame = np.zeros((32, 32))
    frame[:, 6:26] = 1
    frame[5:13, 11:21] = frame[18:27, 11:21] = 0
    image = np.rint(block_counts(frame) * 255).astype(np.uint8)
    again = prepare(np.kron(image, np.ones((10, 10), np.uint8)), "digits").image
    assert np.abs(again.astype(int) - image).max() <= 2


@pytest.mark.parametrize("pen", [3, 5, 7, 9])
def test_strokes_are_as_thick_as_in_the_data_with_any_pen(pen):
    ink = [block_counts(frame_digit(deskew(drawing(figure, pen) / 255))).sum() for figure in FIGURES]
    assert min(ink) >= THIN
    usual = (load("digits").test.images / 255).sum(axis=(1, 2)).mean()
    assert abs(np.mean(ink) - usual) < 4


def test_a_one_stays_narrow_inside_the_frame():
    one = block_counts(frame_digit(deskew(drawing(1) / 255)))
    assert not one[:, [0, 7]].any()
    assert np.flatnonzero(one.any(axis=0)).size <= 5
    full = frame_digit(np.ones((90, 90)))
    assert not full[:, :6].any()
    assert full[:, 6:26].all()


@pytest.mark.parametrize("shape", [(1, 30), (30, 1), (50, 50)])
def test_a_thin_line_and_a_dot_are_framed(shape):
    picture = np.zeros(shape, np.uint8)
    picture[shape[0] // 2, shape[1] // 2] = 255
    query = prepare(picture, "digits")
    assert query.image.shape == (8, 8)
    assert query.image.any()
    assert query.steps[-1].image is query.image
