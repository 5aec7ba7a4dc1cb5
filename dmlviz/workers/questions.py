"""Answers of the inference worker: the functions of the kinds of questions, which raise UserError."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

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
from dmlviz.runs.embed import handle_request, project_onto_maps
from dmlviz.runs.gallery import Gallery
from dmlviz.runs.logits import logits
from dmlviz.runs.occlusion import SLOW_STRIDE, STRIDE, occlusion_maps
from dmlviz.runs.query_calibration import confidence
from dmlviz.runs.query_confidence import NEIGHBORS, vote
from dmlviz.runs.run import Run
from dmlviz.storage.file_cache import stamp
from dmlviz.training.batch_terms import batch_terms
from dmlviz.training.labeled_images import Augmentation

MAX_PLACED = 500  # kept pictures on a t-SNE or UMAP, where each takes some 3 ms


def embed(question: dict[str, Any], data_root: Path | None) -> EmbeddedImages:
    """Embed images with the nets of a run."""
    reply = handle_request(question)
    if question.get("confidence"):
        reply["confidence"] = confidence(question, reply, data_root)
    if question.get("near") and "step" not in reply:
        kept, embeddings = Gallery(Run(question["run"])), np.asarray(reply["embeddings"], np.float32)
        try:
            reply["gallery"] = [[*kept.nearest(one, question["near"], question["holders"])] for one in embeddings]
        except DamagedFileError as error:
            reply["gallery_trouble"] = str(error)
    return reply


def gallery(question: dict[str, Any], data_root: Path | None) -> PlacedGallery:
    """Place the kept pictures of `holders` on the maps of a run; say which `new` ones are far from others of a name."""
    run, holders = Run(question["run"]), question["holders"]
    kept = Gallery(run)
    pictures = kept.pictures(holders)
    far = [kept.far_from_others(picture, holders) for picture in pictures if picture.id in question["new"]]
    places: dict[str, list[list[float]]] = {}
    if pictures and question["place"]:
        maps = [one for one in run.projections() if one.state == "finished"]
        stamps = [stamp(path) for path in (run.path / "weights.safetensors", kept.folder / "index.json")]
        places = _places(run.path, holders and tuple(holders), (*stamps, *(one.id for one in maps)))
    answer = PlacedGallery(places=places, hints=[*filter(None, far)])
    if question.get("judge"):
        near = [run.neighbors_of_point(one, NEIGHBORS) for one in kept.embed(pictures)]
        labels = vote(np.array([[one.label for one in row] for row in near]).reshape(len(near), -1))[0]
        answer["judged"] = [(int(label), row[0].distance) for label, row in zip(labels, near, strict=True)]
    return answer


@lru_cache(maxsize=8)
def _places(path: Path, holders: tuple[str, ...] | None, _state: tuple[object, ...]) -> dict[str, list[list[float]]]:
    """Return the places of kept pictures on each map, of the newest alone where each takes milliseconds."""
    run = Run(path)
    kept = Gallery(run)
    embeddings = kept.embed(kept.pictures(holders))
    linear = [one.id for one in run.projections() if one.config.declared.linear]
    return project_onto_maps(run, embeddings[-MAX_PLACED:]) | project_onto_maps(run, embeddings, linear)


def batch(question: dict[str, Any], data_root: Path | None) -> dict[str, Any]:
    """Compute the terms of the loss in a batch."""
    run = Run(question["run"])
    return asdict(batch_terms(run.config, run.batch(question["step"])))


def item_logits(question: dict[str, Any], data_root: Path | None) -> Mapping[str, Any]:
    """Compute what the loss of a run gives a test image for each class."""
    return logits(Run(question["run"]), question["item"])


def occlusion(question: dict[str, Any], data_root: Path | None) -> dict[str, Any]:
    """Find which parts of two test images, or of a picture and one, hold them together for a run's net."""
    run, items = Run(question["run"]), question["items"]
    images = load(run.config.dataset, data_root).test.images[items]
    if "picture" in question:
        images = np.stack([np.array(question["picture"], np.uint8), *images])
    stride = STRIDE if DATASETS[run.config.dataset].features is None else SLOW_STRIDE
    return {"maps": occlusion_maps(lambda batch: embed_images(run, batch), images, stride).tolist()}


def mean(question: dict[str, Any], data_root: Path | None) -> dict[str, Any]:
    """Place the mean of some test embeddings, each counting by its share, on the maps of a run."""
    run, items = Run(question["run"]), question["items"]
    assert run.embeddings is not None  # which the caller has seen
    point = np.array(question["shares"], np.float32)[None] @ run.embeddings[items]
    return {"places": project_onto_maps(run, point, question["views"])}


def loss(question: dict[str, Any], data_root: Path | None) -> Mapping[str, Any]:
    """Compute values and slopes of a loss on a few points."""
    return sampling.answer(question)


def augmented(question: dict[str, Any], data_root: Path | None) -> dict[str, Any]:
    """Change images (n × s × s × channels, from 0 to 255) as a training does, each by a draw of its own."""
    images = np.array(question["images"], np.uint8)
    augmentation = Augmentation(
        question["strengths"], background=float(DATASETS[question["dataset"]].dark_on_light), seed=0
    )
    return {"images": augmentation.pixels(torch.from_numpy(images)).tolist()}


def lab(question: dict[str, Any], data_root: Path | None) -> Answer:
    """Ask the net of a lab."""
    from dmlviz.labs import registry  # loads all labs

    return registry.answer(question)


def answer(question: dict[str, Any], data_root: Path | None) -> Mapping[str, Any]:
    """Answer a question by the kind of work that its `ask` names, which raises UserError."""
    reply: Mapping[str, Any] = lazy(kinds("question")[question.pop("ask")].work)(question, data_root)
    return reply
