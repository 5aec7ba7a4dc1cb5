"""What may be handed to a recording, and what is refused in one sentence."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from PIL import Image

from dmlviz.errors import UserError
from dmlviz.recording.inputs import check_number, check_step, read_embeddings, read_labels
from dmlviz.recording.pictures import to_pictures


def test_labels_are_numbers_or_names():
    ids, names = read_labels(["cat", "dog", "cat"], None)
    assert ids.tolist() == [0, 1, 0]
    assert names == ("cat", "dog")
    ids, names = read_labels(torch.tensor([7, 300, 7]), None)  # more than 8 bits
    assert ids.tolist() == [0, 1, 0]
    assert names == ("7", "300")
    ids, names = read_labels([2, 0], ["a", "b", "c"])
    assert ids.tolist() == [2, 0]
    assert names == ("a", "b", "c")
    ids, names = read_labels(torch.tensor([[7], [3]]), None)
    assert ids.tolist() == [1, 0]


FLAGS = [True, False, True]


@pytest.mark.parametrize(
    "make", [list, np.array, torch.tensor, pd.Series, pa.array, lambda x: pd.Series(x, dtype="boolean")]
)
def test_flags_are_classes_called_true_and_false(make):
    ids, names = read_labels(make(FLAGS), None)
    assert (ids.tolist(), names) == ([1, 0, 1], ("False", "True"))


@pytest.mark.parametrize(
    "make", [list, pa.array, lambda x: pd.Series(x, dtype="boolean"), lambda x: np.array(x, object)]
)
def test_flags_may_be_missing(make):
    ids, names = read_labels(make([*FLAGS, None]), None)
    assert (ids.tolist(), names) == ([1, 0, 1, 2], ("False", "True", "no label"))


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        ([[1, 0], [0, 1]], None, r"one label for each embedding; got labels of shape \(2, 2\)"),
        ([1, 2.5], None, "whole numbers or texts; got 2.5 at index 1"),
        ([3], None, "at least 2 images; got 1"),
        ([3, 3, 3], None, "2 to 65,535 classes; got 1"),
        ([0, 3], ["a", "b"], "numbers from 0 to 1; got 0 to 3"),
        (["x", "y"], ["x", "y"], "numbers from 0 to 1; got texts"),
    ],
)
def test_other_labels_are_refused(labels, classes, message):
    with pytest.raises(UserError, match=message):
        read_labels(labels, classes)


def test_embeddings_are_copied_as_float32():
    given = torch.ones(3, 2, dtype=torch.bfloat16, requires_grad=True)
    copy = read_embeddings(given, 1, 3, 2)
    assert copy.dtype == np.float32
    array = np.zeros((3, 2), np.float32)
    copy = read_embeddings(array, 1, 3, 2)
    array += 1
    assert not copy.any()
    rows = [torch.ones(2, requires_grad=True), torch.zeros(2, dtype=torch.bfloat16)]
    np.testing.assert_array_equal(read_embeddings(rows, 1, 2, 2), [[1, 1], [0, 0]])


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        (np.zeros((2, 4)), r"each of the 3 images, as 3 × d numbers; got shape \(2, 4\) at step 9"),
        ([torch.zeros(1, 4)] * 3, r"got shape \(3, 1, 4\) at step 9: join the batches, as with torch.cat"),
        ([torch.zeros(2, 4), torch.zeros(1, 4)], "got 2 items of different shapes: join batches, as with torch.cat"),
        (np.zeros((3, 5)), "the same number of dimensions; got 5 at step 9 after 4"),
        (np.full((3, 4), np.nan), "NaN or infinity in 3 of 3 rows at step 9"),
        (np.full((3, 4), 1e300), "NaN or infinity in 3 of 3 rows"),
        (np.zeros((3, 0)), "1 to 4,096 dimensions; got 0"),
        (np.full((3, 4), "x"), "Embeddings are numbers"),
    ],
)
def test_other_embeddings_are_refused(embeddings, message):
    with pytest.raises(UserError, match=message):
        read_embeddings(embeddings, 9, 3, 4)


def test_steps_rise():
    assert check_step(torch.tensor(4), 3) == 4
    for step, message in ((3, "got step 3 after step 3"), (1.5, "whole number; got 1.5"), (10**7, "Steps run from 0")):
        with pytest.raises(UserError, match=message):
            check_step(step, 3)
    assert check_number("loss", torch.tensor(0.5, requires_grad=True)) == 0.5
    with pytest.raises(UserError, match="loss is one number"):
        check_number("loss", torch.ones(2))


@pytest.mark.parametrize(
    ("shape", "squares"),
    [((5, 8, 8), (5, 8, 8)), ((5, 1, 8, 8), (5, 8, 8)), ((5, 8, 8, 1), (5, 8, 8)), ((5, 3, 8, 8), (5, 8, 8, 3))],
)
def test_every_layout_gives_the_same_picture(shape, squares):
    pixels = np.arange(5 * 64, dtype=np.uint8).reshape(5, 8, 8)
    images = np.broadcast_to(pixels.reshape(5, *(8 if n == 8 else 1 for n in shape[1:])), shape)
    for given in (images, torch.from_numpy(images.copy()), images / 255, torch.from_numpy(images / np.float32(255))):
        pictures = to_pictures(given, 5)
        assert pictures.dtype == np.uint8
        assert pictures.shape == squares
        np.testing.assert_array_equal(pictures[..., 0] if pictures.ndim == 4 else pictures, pixels)


def test_large_and_normalized_images_become_small_pictures():
    images = np.random.default_rng(0).normal(size=(3, 3, 100, 60)).astype(np.float32)
    images[:, 0] += 40  # each channel is stretched by itself
    pictures = to_pictures(images, 3)
    assert pictures.shape == (3, 64, 64, 3)
    assert pictures[..., 0].std() > 5


def test_images_are_kept_as_large_as_asked():
    large = np.random.default_rng(0).integers(0, 256, (2, 300, 240, 3), np.uint8)
    assert to_pictures(large, 2, side=224).shape == (2, 224, 224, 3)
    small = large[:, :100, :100]
    np.testing.assert_array_equal(to_pictures(small, 2, side=224), small)
    with pytest.raises(UserError, match="side is 8 to 224 pixels; got 300"):
        to_pictures(large, 2, side=300)


def test_images_of_pillow_have_any_size_and_transparency_is_white():
    pictures = to_pictures([Image.new("RGB", (20, 20), "red"), Image.new("RGBA", (10, 30))], 2)
    assert pictures.shape == (2, 30, 30, 3)
    assert pictures[0].reshape(-1, 3).tolist() == 900 * [[255, 0, 0]]
    assert (pictures[1] == 255).all()
    array = np.zeros((2, 8, 8, 4), np.uint8)
    array[0, ..., 3] = 255
    assert [to_pictures(array, 2)[i].mean() for i in (0, 1)] == [0, 255]
    for kind in (bool, np.uint8, np.int64, np.float32):  # black and white
        assert {*np.unique(to_pictures(np.eye(8, dtype=kind)[None].repeat(2, 0), 2)).tolist()} == {0, 255}


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((2, 8, 8)), "one image for each label"),
        (np.zeros((3, 8)), r"got shape \(3, 8\)"),
        (np.zeros((3, 4, 8, 8)), "reorder or drop channels"),
        (np.full((3, 8, 8), np.inf), "finite"),
        (np.zeros((3, 8, 8), complex), "uint8 or floats; got complex128"),
        (["a.png", "b.png", "c.png"], "got <U5: open files with Pillow first"),
        ([np.zeros((8, 8)), np.zeros((8, 9)), np.zeros((8, 8))], "scale images to one size"),
        (np.zeros((3, 0, 8)), "at least one pixel"),
    ],
)
def test_other_images_are_refused(images, message):
    with pytest.raises(UserError, match=message):
        to_pictures(images, 3)
