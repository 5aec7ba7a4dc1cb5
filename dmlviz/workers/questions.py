"""Answers of the inference worker: the functions of the kinds of questions, which raise UserError."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dmlviz.catalog.datasets import DATASETS
from dmlviz.labs.answers import Answer
from dmlviz.losses import sampling
from dmlviz.parts import kinds, lazy
from dmlviz.runs.answers import EmbeddedImages
from dmlviz.runs.embed import handle_request
from dmlviz.runs.logits import logits
from dmlviz.runs.query_calibration import confidence
from dmlviz.runs.run import Run
from dmlviz.training.batch_terms import batch_terms
from dmlviz.training.labeled_images import Augmentation


def embed(question: dict[str, Any], data_root: Path | None) -> EmbeddedImages:
    """Embed images with the nets of a run."""
    reply = handle_request(question)
    if question.get("confidence"):
        reply["confidence"] = confidence(question, reply, data_root)
    return reply


def batch(question: dict[str, Any], data_root: Path | None) -> dict[str, Any]:
    """Compute the terms of the loss in a batch."""
    run = Run(question["run"])
    return asdict(batch_terms(run.config, run.batch(question["step"])))


def item_logits(question: dict[str, Any], data_root: Path | None) -> Mapping[str, Any]:
    """Compute what the loss of a run gives a test image for each class."""
    return logits(Run(question["run"]), question["item"])


def loss(question: dict[str, Any], data_root: Path | None) -> Mapping[str, Any]:
    """Compute values and slopes of a loss on a few points."""
    return sampling.answer(question)


def augmented(question: dict[str, Any], data_root: Path | None) -> dict[str, Any]:
    """Change images (n × s × s × channels, from 0 to 255) as a training does, each by a draw of its own."""
    images = np.array(question["images"], np.uint8)
    augmentation = Augmentation(
        question["strengths"],
        size=images.shape[1],
        background=float(DATASETS[question["dataset"]].dark_on_light),
        color=images.shape[3] == 3,
        seed=0,
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
