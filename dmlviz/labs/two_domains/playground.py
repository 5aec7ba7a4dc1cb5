"""Finds photographs by a visitor's own sketch, and draws both domains on one map, for the lab *two-domains*."""

import io
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import made, sprite_sheet
from dmlviz.data.query_file import decode_drawing
from dmlviz.errors import UserError
from dmlviz.labs.answers import SketchAnswer, SketchQuestion, TwoDomains
from dmlviz.labs.pair_training import normalize
from dmlviz.labs.training import fill_with_kept
from dmlviz.labs.two_domains import VARIANTS
from dmlviz.labs.two_domains.measure import SHOWN, build_towers, domains, embed
from dmlviz.nets import PairNet
from dmlviz.ops.linear_projection import LinearProjection

NUM_NEAREST = 12  # photographs
FILLED = 0.93  # of the image's side, that a drawing fills


@dataclass(frozen=True, eq=False)
class _Gallery:
    """All test photographs, embedded, with their net and projection."""

    net: PairNet
    settings: Mapping[str, Any]
    images: np.ndarray
    sketches: np.ndarray
    garments: np.ndarray
    names: tuple[str, ...]
    mean: float
    std: float
    embeddings: np.ndarray
    projection: LinearProjection
    places: np.ndarray


def answer(question: SketchQuestion) -> TwoDomains:
    """Return the map of both domains; with a drawing, what it finds and where it lies.

    Args:
        question: The drawing, if any: light lines on a dark ground.

    Raises:
        UserError: If the drawing is empty or did not arrive whole.
    """
    variant = question["variant"]
    gallery = _gallery(question["folder"], question["stamp"], question["dataset"], question["data"], variant)
    drawing = decode_drawing(question["drawing"])
    return {
        "places": gallery.places.round(4).tolist(),
        "photographs": _sheet(gallery.images[:SHOWN]),
        "sketches": _sheet(gallery.sketches[:SHOWN]),
        "garments": gallery.garments[:SHOWN].tolist(),
        "names": list(gallery.names),
        "tile": int(gallery.images.shape[1]),
        "count": len(gallery.images),
        "answer": None if drawing is None else _find(gallery, drawing),
    }


def _find(gallery: _Gallery, drawing: np.ndarray) -> SketchAnswer:
    image = prepare(drawing, gallery.images.shape[1])
    query = embed(gallery.net.b, normalize(image[None], gallery.mean, gallery.std), gallery.settings)
    distances = np.linalg.norm(gallery.embeddings - query, axis=1)
    best = np.argsort(distances, kind="stable")[:NUM_NEAREST]
    return {
        "nearest": [
            {
                "garment": int(gallery.garments[item]),
                "distance": round(float(distances[item]), 3),
                "item": int(item) if item < SHOWN else -1,
            }
            for item in best
        ],
        "sheet": _sheet(gallery.images[best]),
        "place": gallery.projection.project(query)[0].round(4).tolist(),
        "prepared": _sheet(image[None]),
    }


def prepare(drawing: np.ndarray, size: int) -> np.ndarray:
    """Return a drawing as the sketches are: it fills the image, and its lines are light on a dark ground.

    Args:
        drawing: uint8, h × w.
        size: Side of the result in pixels.

    Raises:
        UserError: If nothing is drawn.
    """
    rows, columns = np.nonzero(drawing > 32)
    if not len(rows):
        raise UserError("Nothing is drawn yet: draw a garment.")
    part = drawing[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    scale = FILLED * size / max(part.shape)
    width, height = (max(1, round(side * scale)) for side in (part.shape[1], part.shape[0]))
    small = np.asarray(Image.fromarray(part).resize((width, height), Image.Resampling.LANCZOS))
    result = np.zeros((size, size), np.uint8)
    top, left = (size - height) // 2, (size - width) // 2
    result[top : top + height, left : left + width] = small
    return result


@lru_cache(maxsize=4)
def _gallery(folder: str, stamp: int, dataset: str, data: str, variant: str) -> _Gallery:
    source = made.load(DATASETS["sketches"], dataset, Path(data))
    settings = VARIANTS[variant]._asdict()
    net = build_towers(settings, source.size)
    fill_with_kept(net, Path(folder))
    photographs, sketches = domains(source.test, source.mean, source.std)
    embeddings, sketch_embeddings = embed(net.a, photographs, settings), embed(net.b, sketches, settings)
    projection = LinearProjection.pca(np.concatenate([embeddings, sketch_embeddings]))
    places = projection.project(np.concatenate([embeddings[:SHOWN], sketch_embeddings[:SHOWN]]))
    return _Gallery(
        net=net,
        settings=settings,
        images=source.test.images[0::2],
        sketches=source.test.images[1::2],
        garments=source.test.roles["garment"][0::2],
        names=tuple(source.roles["garment"]),
        mean=source.mean,
        std=source.std,
        embeddings=embeddings,
        projection=projection,
        places=places.reshape(2, -1, 2),
    )


def _sheet(images: np.ndarray) -> str:
    """Return images side by side as a PNG in a data URL."""
    file = io.BytesIO()
    Image.fromarray(sprite_sheet.tile(images, len(images))).save(file, "PNG")
    return f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
