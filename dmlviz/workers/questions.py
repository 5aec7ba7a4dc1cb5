"""Answers of the inference worker: the functions of the kinds of questions, which raise UserError."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dmlviz.labs.answers import Answer
from dmlviz.losses import sampling
from dmlviz.parts import kinds, lazy
from dmlviz.runs.answers import EmbeddedImages
from dmlviz.runs.embed import handle_request
from dmlviz.runs.logits import logits
from dmlviz.runs.query_calibration import confidence
from dmlviz.runs.run import Run
from dmlviz.training.batch_terms import batch_terms


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


def lab(question: dict[str, Any], data_root: Path | None) -> Answer:
    """Ask the net of a lab."""
    from dmlviz.labs import registry  # loads all labs

    return registry.answer(question)


def answer(question: dict[str, Any], data_root: Path | None) -> Mapping[str, Any]:
    """Answer a question by the kind of work that its `ask` names, which raises UserError."""
    reply: Mapping[str, Any] = lazy(kinds("question")[question.pop("ask")].work)(question, data_root)
    return reply
