"""Answers of the inference worker: the functions of the kinds of questions, which raise UserError."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import load
from dmlviz.errors import DamagedFileError
from dmlviz.labs.answers import Answer
from dmlviz.losses import sampling
from dmlviz.parts import kinds, lazy
from dmlviz.runs.answers import EmbeddedImages, PlacedGallery
from dmlviz.runs.embed import embed as embed_images
from dmlviz.runs.embed import embed_and_place, project_onto_maps
from dmlviz.runs.explanations import SLOW_STRIDE, STRIDE, logits, occlusion_maps
from dmlviz.runs.gallery import Gallery
from dmlviz.runs.query_calibration import confidence as confidence_of
from dmlviz.runs.query_confidence import vote, voting_neighbors
from dmlviz.runs.run import Run
from dmlviz.storage.file_cache import stamp
from dmlviz.training.batch_terms import batch_terms
from dmlviz.training.labeled_images import Augmentation

MAX_PLACED = 500  # kept pictures on a t-SNE or UMAP, where each takes some 3 ms


def embed(
    data_root: Path | None,
    run: str,
    images: str,
    shape: list[int],
    views: list[str] | None,
    trajectory: bool | Literal["places"],
    confidence: bool,
    near: int,
    holders: list[str] | None,
) -> EmbeddedImages:
    """Embed images (bytes in base 64, and their shape) with the nets of a run; see `dmlviz.jobs.pool.embed_images`."""
    asked, pixels = Run(run), np.frombuffer(b64decode(images), np.uint8).reshape(shape)
    reply = embed_and_place(asked, pixels, views, trajectory)
    if confidence:
        reply["confidence"] = confidence_of(asked, pixels, reply, data_root)
    if near and "step" not in reply:
        kept, embeddings = Gallery(asked), np.asarray(reply["embeddings"], np.float32)
        try:
            reply["gallery"] = [[*kept.nearest(one, near, holders)] for one in embeddings]
        except DamagedFileError as error:
            reply["gallery_trouble"] = str(error)
    return reply


def gallery(
    data_root: Path | None, run: str, holders: list[str] | None, new: list[str], place: bool, judge: bool = False
) -> PlacedGallery:
    """Place the kept pictures of `holders` on the maps of a run; say which `new` ones are far from others of a name."""
    asked = Run(run)
    kept = Gallery(asked)
    pictures = kept.pictures(holders)
    far = kept.far_from_others(new, holders) if new else []
    places: dict[str, list[list[float]]] = {}
    if pictures and place:
        maps = [one for one in asked.projections() if one.state == "finished"]
        stamps = [stamp(path) for path in (asked.path / "weights.safetensors", kept.folder / "index.json")]
        places = _places(asked.path, tuple(holders) if holders else None, (*stamps, *(one.id for one in maps)))
    answer = PlacedGallery(places=places, hints=far)
    if judge:
        near = [asked.neighbors_of_point(one, voting_neighbors(asked.known_labels)) for one in kept.embed(pictures)]
        labels = vote(np.array([[one.label for one in row] for row in near]).reshape(len(near), -1))[0]
        answer["judged"] = [(int(label), row[0].distance) for label, row in zip(labels, near, strict=True)]
    return answer


@lru_cache(maxsize=8)
def _places(path: Path, holders: tuple[str, ...] | None, _state: tuple[object, ...]) -> dict[str, list[list[float]]]:
    """Return the places of kept pictures on each map, of the newest alone where each takes milliseconds."""
    run = Run(path)
    kept = Gallery(run)
    pictures = kept.pictures(holders)
    embeddings, maps = kept.embed(pictures), [one for one in run.projections() if one.state == "finished"]
    places = project_onto_maps(run, embeddings, [one.id for one in maps if one.config.declared.linear])
    row_of = {one.id: row for row, one in enumerate(pictures)}
    newest = [*row_of][-MAX_PLACED:]
    for view in (one.id for one in maps if one.config.whole and not one.config.declared.linear):
        known = _placed_on(path, view, stamp(path / "weights.safetensors"))
        if new := [one for one in newest if one not in known]:
            rows = [row_of[one] for one in new]
            known |= zip(new, project_onto_maps(run, embeddings[rows], [view])[view], strict=True)
        places[view] = [known[one] for one in newest]
    return places


@lru_cache(maxsize=32)
def _placed_on(path: Path, view: str, _net: object) -> dict[str, list[float]]:
    """Return the places on a map that are known, by picture: a change of a large gallery places what is new."""
    return {}


def batch(data_root: Path | None, run: str, step: int) -> dict[str, object]:
    """Compute the terms of the loss in a batch."""
    asked = Run(run)
    return asdict(batch_terms(asked.config, asked.batch(step)))


def item_logits(data_root: Path | None, run: str, item: int) -> Mapping[str, Any]:
    """Compute what the loss of a run gives a test image for each class."""
    return logits(Run(run), item)


def occlusion(
    data_root: Path | None, run: str, items: list[int], picture: list[object] | None = None
) -> dict[str, object]:
    """Find which parts of two test images, or of a picture and one, hold them together for a run's net."""
    asked = Run(run)
    images = load(asked.config.dataset, data_root).test.images[items]
    if picture is not None:
        images = np.stack([np.array(picture, np.uint8), *images])
    stride = STRIDE if DATASETS[asked.config.dataset].features is None else SLOW_STRIDE
    return {"maps": occlusion_maps(lambda batch: embed_images(asked, batch), images, stride).tolist()}


def mean(
    data_root: Path | None, run: str, items: list[int], shares: list[float], views: list[str]
) -> dict[str, object]:
    """Place the mean of some test embeddings, each counting by its share, on the maps of a run."""
    asked = Run(run)
    assert asked.embeddings is not None  # which the caller has seen
    point = np.array(shares, np.float32)[None] @ asked.embeddings[items]
    return {"places": project_onto_maps(asked, point, views)}


def loss(data_root: Path | None, **question: Any) -> Mapping[str, Any]:
    """Compute values and slopes of a loss on a few points."""
    return sampling.answer(question)


def augmented(
    data_root: Path | None, dataset: str, images: list[object], strengths: Mapping[str, float]
) -> dict[str, object]:
    """Change images (n × s × s × channels, from 0 to 255) as a training does, each by a draw of its own."""
    augmentation = Augmentation(strengths, background=float(DATASETS[dataset].dark_on_light), seed=0)
    return {"images": augmentation.pixels(torch.from_numpy(np.array(images, np.uint8))).tolist()}


def lab(data_root: Path | None, **question: Any) -> Answer:
    """Ask the net of a lab."""
    from dmlviz.labs import registry  # loads all labs

    return registry.answer(question)


def answer(question: Mapping[str, Any], data_root: Path | None) -> Mapping[str, Any]:
    """Answer a question by the kind of work that its `ask` names, with its other fields; that raises UserError."""
    fields = {**question}
    reply: Mapping[str, Any] = lazy(kinds("question")[fields.pop("ask")].work)(data_root, **fields)
    return reply
