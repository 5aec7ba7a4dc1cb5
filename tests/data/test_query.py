"""A picture of any kind becomes what the net was trained on, or one clear sentence."""

import io
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from dmlviz.data.declared import DATASETS, DatasetDeclaration
from dmlviz.data.query import decode, prepare
from dmlviz.errors import UserError


def file_of(picture: np.ndarray | Image.Image, format: str = "PNG", **options) -> bytes:
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def stroke(height: int = 90, width: int = 60) -> np.ndarray:
    """A bright slanted bar on a dark ground, off centre."""
    picture = np.zeros((height, width), np.uint8)
    for row in range(10, 50):
        picture[row, 5 + row // 4 : 12 + row // 4] = 255
    return picture


def test_a_picture_and_its_negative_give_the_same_query():
    light, dark = prepare(255 - stroke(), "mnist"), prepare(stroke(), "mnist")
    assert np.array_equal(light.image, dark.image)
    assert any("inverted" in step.caption for step in light.steps)
    assert not any("inverted" in step.caption for step in dark.steps)


def test_the_ink_fills_a_box_of_20_and_its_mass_lies_in_the_middle():
    image = prepare(stroke(), "mnist").image
    assert image.shape == (28, 28)
    assert image.dtype == np.uint8
    rows = np.flatnonzero(image.any(axis=1))
    assert rows[-1] - rows[0] + 1 == 20
    weight = image / image.sum()
    assert abs(weight.sum(axis=1) @ (np.arange(28) + 0.5) - 14) <= 0.5
    assert abs(weight.sum(axis=0) @ (np.arange(28) + 0.5) - 14) <= 0.5


@pytest.mark.parametrize(("dataset", "size"), [("mnist", 28), ("fashion_mnist", 28), ("digits", 8)])
def test_the_query_has_the_size_of_the_data_set_and_the_last_step_is_it(dataset, size):
    query = prepare(stroke(), dataset)
    assert query.image.shape == (size, size)
    assert query.image.max() == 255
    assert query.steps[-1].image is query.image


def test_position_and_brightness_of_the_stroke_do_not_matter():
    moved = np.zeros((200, 200), np.uint8)
    moved[100:190, 40:100] = stroke() // 3
    assert np.array_equal(prepare(moved, "mnist").image > 40, prepare(stroke(), "mnist").image > 40)


def test_grey_paper_with_noise_leaves_a_clean_ground():
    rng = np.random.default_rng(0)
    photo = np.clip(200 - stroke(90, 90) * 0.6 + rng.normal(0, 3, (90, 90)), 0, 255).astype(np.uint8)
    image = prepare(photo, "mnist").image
    assert (image[0] == 0).all()
    assert (image > 128).sum() > 20


@pytest.mark.parametrize("value", [0, 90, 255])
def test_a_blank_picture_is_refused_with_a_sentence(value):
    with pytest.raises(UserError, match="blank"):
        prepare(np.full((40, 40), value, np.uint8), "mnist")


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1)])
def test_a_sliver_has_no_ground_to_stand_out_from_or_is_framed(shape):
    picture = np.zeros(shape, np.uint8)
    picture.flat[0] = 255
    if shape == (1, 1):
        with pytest.raises(UserError, match="blank"):
            prepare(picture, "mnist")
    else:
        assert prepare(picture, "mnist").image.shape == (28, 28)


def test_a_dot_in_the_middle_of_nothing_is_framed():
    picture = np.zeros((50, 50), np.uint8)
    picture[25, 25] = 255
    assert prepare(picture, "mnist").image.sum() > 0


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP"])
def test_the_three_formats_are_read(format):
    read = decode(file_of(stroke(), format))
    assert read.shape == (90, 60)
    assert abs(read.astype(int) - stroke()).mean() < 8


def test_transparency_lies_on_white():
    drawing = np.zeros((40, 40, 4), np.uint8)
    drawing[10:30, 18:22] = (0, 0, 0, 255)
    read = decode(file_of(drawing))
    assert read[0, 0] == 255
    assert read[20, 20] == 0


def test_palette_with_transparency_and_16_bit_pictures_are_read():
    palette = Image.fromarray(stroke()).convert("P")
    assert decode(file_of(palette, transparency=0)).shape == (90, 60)
    deep = Image.fromarray(stroke().astype(np.uint16) * 200)
    read = decode(file_of(deep))
    assert np.array_equal(read > 128, stroke() > 128)


def test_the_turn_noted_by_a_camera_is_undone():
    exif = Image.Exif()
    exif[0x0112] = 6
    assert decode(file_of(stroke(), "JPEG", exif=exif.tobytes())).shape == (60, 90)


def announced(width: int, height: int) -> bytes:
    """A tiny PNG that announces a huge picture."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("side", [5000, 9500, 60000])
def test_a_decompression_bomb_is_refused_before_it_is_decoded(side):
    with pytest.raises(UserError, match="4096"):
        decode(announced(side, side))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "PNG, JPEG or WebP"),
        (b"<svg onload=alert(1)></svg>", "PNG, JPEG or WebP"),
        (file_of(stroke(), "GIF"), "PNG, JPEG or WebP"),
        (file_of(stroke())[:60], "damaged"),
        (file_of(np.random.default_rng(0).integers(0, 255, (80, 80)).astype(np.uint8), "JPEG")[:400], "damaged"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * (2 * 1024 * 1024), "2 MB"),
    ],
)
def test_a_hostile_or_broken_file_gets_one_sentence(data, words):
    with pytest.raises(UserError, match=words):
        decode(data)


OWN = DatasetDeclaration(
    name="own-00000000cafe0001", title="Mine", summary="", classes=("a", "b"), size=20, mean=0.5, std=0.2
)


def own_data(number: int, **facts: object) -> str:
    """The name of somebody's own data that are like this."""
    declared = replace(OWN, name=f"own-00000000cafe{number:04x}", **facts)
    DATASETS.tell(declared.describe())
    return declared.name


def test_a_picture_among_ones_own_is_fitted_whole_as_they_were():
    name = own_data(1, channels=3)
    picture = np.full((30, 60, 3), (200, 100, 50), np.uint8)
    picture[:, 20:40] = (0, 0, 255)
    query = prepare(picture, name)
    assert query.image.shape == (20, 20, 3)
    assert (query.image[0, 0] == (200, 100, 50)).all(), "on the colour of its border"
    assert (query.image[10, 10] == (0, 0, 255)).all()
    assert np.array_equal(query.steps[-1].image, query.image)


def test_among_grey_pictures_it_becomes_grey():
    query = prepare(np.full((20, 20, 3), (255, 0, 0), np.uint8), own_data(2))
    assert query.image.shape == (20, 20)
    assert (query.image == 76).all()


def test_a_drawing_takes_the_ground_of_the_data():
    dark = prepare(stroke(), own_data(3))
    light = prepare(stroke(), own_data(4, light_ground=True))
    assert np.array_equal(light.image, 255 - dark.image)
    assert dark.image[0, 0] == 0


def test_what_cannot_be_asked_of_ones_own_data_is_a_sentence():
    with pytest.raises(UserError, match="cannot be drawn"):
        prepare(stroke(), own_data(5, channels=3))
    with pytest.raises(UserError, match="without a net"):
        prepare(stroke(), own_data(6, size=0))


def test_an_upload_keeps_its_colours_where_they_are_wanted():
    picture = np.zeros((9, 9, 3), np.uint8)
    picture[..., 1] = 255
    assert decode(file_of(picture), colour=True).shape == (9, 9, 3)
    assert decode(file_of(picture)).ndim == 2
