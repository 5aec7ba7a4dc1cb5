"""Test images for the browser: sprite sheets and two bytes per label, built once per data set."""

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dmlviz import data
from dmlviz.data import sprite_sheet
from dmlviz.data.class_names import short_names, whole_names
from dmlviz.errors import UserError
from dmlviz_app.answers.cached_file import cached_file
from dmlviz_app.answers.protocol import ImageProps
from dmlviz_app.server.protocol import ROUTES, SpriteSheets


@dataclass(frozen=True, eq=False)
class ImageTiles:
    """The test images of a data set (uint8 n × h × w or n × h × w × 3), their labels (uint16 n) and a content hash."""

    dataset: str
    classes: tuple[str, ...]
    images: np.ndarray
    labels: np.ndarray
    hash: str

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def sheets(self) -> int:
        """Number of sprite sheets."""
        return sprite_sheet.sheet_count(len(self))

    def describe(self) -> ImageProps:
        """Classes, and URLs of tiles and labels."""
        base = f"{ROUTES}/data/{self.dataset}/{self.hash}"
        urls = [f"{base}/sprite-{number}.png" for number in range(self.sheets)]
        sprites = SpriteSheets(urls=urls, tile=sprite_sheet.tile_side(self.images))
        return {
            "classes": list(short_names(self.classes)),
            "whole_names": whole_names(self.classes),
            "n": len(self),
            "labels_url": f"{base}/labels.u16",
            "sprites": sprites,
        }

    def folder(self, cache: Path) -> Path:
        """Cache folder of these images."""
        return cache / f"{self.dataset}-{self.hash}"

    def sheet(self, number: int, cache: Path) -> bytes:
        """Return the PNG of sheet `number`, kept in `cache` if the disk takes it; raise UserError if there is none.

        Row-major, `sheets.COLUMNS` tiles a row, nothing between them; the last sheet of many may be shorter.
        """
        if not 0 <= number < self.sheets:
            raise UserError(f"{self.dataset} has {self.sheets} sheets; there is no sheet {number}.")
        path = self.folder(cache) / f"sprite-{number}.png"
        with _encode_lock:
            return cached_file(path, lambda: sprite_sheet.encode_sheet(self.images, number))


_encode_lock = threading.Lock()
_load_lock = threading.Lock()
_cache: dict[tuple[str, Path], ImageTiles] = {}


def image_tiles(dataset: str, root: Path) -> ImageTiles:
    """Return the test images of a data set on disk, kept for the next call; raise UserError if it is not there."""
    with _load_lock:
        tiles = _cache.get((dataset, root))
        if tiles is None:
            if dataset not in data.available_datasets(root):
                raise UserError(f"{dataset} is not on disk here, so there are no pictures of it: train on it once.")
            dataset_arrays = data.load(dataset, root)
            test = dataset_arrays.test
            tiles = ImageTiles(dataset, dataset_arrays.classes, test.images, test.labels.astype("<u2"), _hash(test))
            _cache[(dataset, root)] = tiles
        return tiles


def _hash(split: data.Split) -> str:
    digest = hashlib.sha256(str(split.images.shape).encode())
    digest.update(np.ascontiguousarray(split.images).data)
    digest.update(split.labels.astype("<u2").tobytes())
    return digest.hexdigest()[:16]
