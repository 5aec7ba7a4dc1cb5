"""The file of a query image is read as a picture, or refused with a sentence."""

import io
import struct
import zlib

import numpy as np
import pillow_heif
import pytest
from PIL import Image

from dmlviz.data.image_ops import READABLE, decode_square, read_size, shrink
from dmlviz.data.query_file import decode
from dmlviz.data.query_image import prepare
from dmlviz.errors import UserError
from tests.data.pictures import file_of, stroke


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "HEIF", "AVIF"])
def test_a_query_and_an_imported_image_are_read_from_the_same_formats(format):
    pillow_heif.register_heif_opener()
    file = file_of(stroke(90, 90), format)
    assert abs(decode(file, "mnist").astype(int) - stroke(90, 90)).mean() < 8
    assert read_size(file) == (90, 90)
    assert abs(decode_square(file, 90)[..., 0].astype(int) - stroke(90, 90)).mean() < 8


@pytest.mark.parametrize("ink", [0, 128, 250, 255])
@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
@pytest.mark.parametrize("ground", [0, 255])
def test_ink_of_any_shade_on_a_transparent_ground_is_seen(ink, mode, ground):
    alpha = stroke(90, 90)
    picture = Image.merge(
        "LA", [Image.fromarray(np.where(alpha > 0, ink, ground).astype(np.uint8)), Image.fromarray(alpha)]
    )
    if mode == "P":
        indices = Image.fromarray((alpha > 0).astype(np.uint8), "P")
        indices.putpalette([ground] * 3 + [ink] * 3)
        file = file_of(indices, transparency=0)
    else:
        file = file_of(picture.convert(mode))
    seen = prepare(decode(file, "mnist"), "mnist").image
    black = prepare(decode(file_of(255 - alpha), "mnist"), "mnist").image
    assert abs(seen.astype(int) - black).mean() < 3
    assert np.ptp(decode_square(file, 90)) > 100


def test_transparency_lies_on_white():
    drawing = np.zeros((40, 40, 4), np.uint8)
    drawing[10:30, 18:22] = (0, 0, 0, 255)
    read = decode(file_of(drawing), "mnist")
    assert read[0, 0] == 255
    assert read[20, 20] == 0


def test_palette_with_transparency_and_16_bit_pictures_are_read():
    palette = Image.fromarray(stroke()).convert("P")
    assert decode(file_of(palette, transparency=0), "mnist").shape == (90, 60)
    deep = Image.fromarray(stroke().astype(np.uint16) * 200)
    read = decode(file_of(deep), "mnist")
    assert np.array_equal(read > 128, stroke() > 128)


def test_exif_rotation_is_applied():
    exif = Image.Exif()
    exif[0x0112] = 6
    assert decode(file_of(stroke(), "JPEG", exif=exif.tobytes()), "mnist").shape == (60, 90)


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
    with pytest.raises(UserError, match="50 megapixels" if side > 5000 else "too few for a photograph"):
        decode(announced(side, side), "mnist")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", READABLE),
        (b"<svg onload=alert(1)></svg>", READABLE),
        (file_of(stroke())[:60], "damaged"),
        (file_of(np.random.default_rng(0).integers(0, 255, (80, 80)).astype(np.uint8), "JPEG")[:400], "damaged"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * (30 * 1024 * 1024), "30 MB"),
    ],
)
def test_a_hostile_or_broken_file_gets_one_sentence(data, words):
    with pytest.raises(UserError, match=words):
        decode(data, "mnist")


LARGE = {
    "gray": ("L", lambda ramp: ramp),
    "color": ("RGB", lambda ramp: np.stack([ramp, ramp, 255 - ramp], axis=2)),
    "transparent": ("RGBA", lambda ramp: np.stack([ramp, ramp, ramp, 255 - ramp], axis=2)),
    "deep": ("I;16", lambda ramp: ramp.astype(np.uint16) * 200),
}


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("size", [(2048, 1024), (1300, 2051)])
def test_a_large_picture_is_shrunk_to_the_mean_of_its_blocks(kind, size):
    mode, make = LARGE[kind]
    width, height = size
    ramp = np.linspace(0, 255, width * height).reshape(height, width).astype(np.uint8)
    picture = Image.fromarray(make(ramp))
    assert picture.mode == mode
    small = shrink(picture, 256)
    factor = max(size) // 256
    assert small.size == (-(-width // factor), -(-height // factor))
    if mode in ("L", "RGB", "RGBA"):
        np.testing.assert_allclose(np.asarray(small, float), np.asarray(picture.reduce(factor), float), atol=1)
    else:
        block = np.asarray(picture)[:factor, -(width % factor or factor) :].astype(float)
        assert np.asarray(small)[0, -1] == pytest.approx(block.mean())


def test_a_large_picture_keeps_its_rotation_and_costs_little_more_than_its_pixels():
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    file = io.BytesIO()
    Image.new("RGB", (3000, 1500), "red").save(file, "PNG", exif=exif)
    assert decode(file.getvalue(), "digits").shape == (512, 256)
