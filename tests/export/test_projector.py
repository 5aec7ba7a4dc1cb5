"""Every point of the Embedding Projector has its own image."""

import io
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from dmlviz.data import sprite_sheet
from dmlviz.export import SpriteSheets, write
from dmlviz.export.tables import sprite_of


def seen(sprite, side, i):
    """What TensorBoard draws for point i: on the map its shader, in the list of neighbors its inspector (both equal).

    The shader's column is i mod the tiles in a row, its row ⌊i / the tiles in a column⌋; the inspector divides by the
    tiles in a row both times.
    """
    in_a_column, in_a_row = sprite.shape[0] // side, sprite.shape[1] // side
    shader, inspector = (i // in_a_column, i % in_a_row), (i // in_a_row, i % in_a_row)
    assert shader == inspector
    row, column = shader
    return sprite[row * side : (row + 1) * side, column * side : (column + 1) * side]


def kept_with(images, items):
    pngs = tuple(sprite_sheet.encode_sheet(images, number) for number in range(sprite_sheet.sheet_count(len(images))))
    return SimpleNamespace(sheets=SpriteSheets(images.shape[1], pngs), items=items)


@pytest.mark.parametrize("n", [1, 2, 10, 100, 596, 1797, 10_000, 12_345])
@pytest.mark.parametrize("colors", [(), (3,)])
def test_the_sprite_has_every_image(n, colors):
    images = np.random.default_rng(n).integers(256, size=(n, 4, 4, *colors), dtype=np.uint8)
    sprite = np.asarray(Image.open(io.BytesIO(sprite_of(kept_with(images, np.arange(n))))))
    assert sprite.shape[0] == sprite.shape[1]
    assert all(np.array_equal(seen(sprite, 4, i), images[i]) for i in range(n))


def test_a_map_of_some_images_has_only_their_sprites():
    images = np.random.default_rng(0).integers(256, size=(500, 4, 4), dtype=np.uint8)
    items = np.arange(7, 500, 3)
    sprite = np.asarray(Image.open(io.BytesIO(sprite_of(kept_with(images, items)))))
    assert all(np.array_equal(seen(sprite, 4, i), images[item]) for i, item in enumerate(items))


def test_too_many_images_for_one_sprite_are_omitted():
    kept = SimpleNamespace(sheets=SpriteSheets(512, ()), items=np.arange(257))  # 17 × 512 pixels
    assert sprite_of(kept) is None
    assert sprite_of(SimpleNamespace(sheets=None, items=np.arange(3))) is None


def test_the_projector_zip_holds_the_sprite(kept, tmp_path):
    path = Path(tmp_path / "projector.zip")
    with path.open("wb") as file:
        write("projector", kept, file)
    with zipfile.ZipFile(path) as archive:
        sprite = np.asarray(Image.open(archive.open("sprite.png")))
    images = sprite_sheet.tiles(kept.sheets.pngs, kept.sheets.tile)
    assert all(np.array_equal(seen(sprite, 8, i), images[i]) for i in range(596))
