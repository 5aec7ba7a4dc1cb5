"""Answers of the inference worker: a function for each kind of question."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dmlviz.labs.answers import Answer
from dmlviz.losses import sampling
from dmlviz.runs.answers import EmbeddedImages
from dmlviz.runs.embed import handle_request
from dmlviz.runs.logits import logits
from dmlviz.runs.query_calibration import confidence
from dmlviz.runs.run import Run
from dmlviz.training.batch_terms import batch_terms


def _embed(question: dict[str, Any], data_root: Path | None) -> EmbeddedImages:
    reply = handle_request(question)
    if question.get("confidence"):
        reply["confidence"] = confidence(question, reply, data_root)
    return reply


def _batch(question: dict[str, Any], data_root: Path | None) -> dict[str, Any]:
    run = Run(question["run"])
    return asdict(batch_terms(run.config, run.batch(question["step"])))


def _lab(question: dict[str, Any], data_root: Path | None) -> Answer:
    from dmlviz.labs import playground  # loads all labs

    return playground.answer(question)


QUESTIONS: dict[str, Callable[[dict[str, Any], Path | None], Mapping[str, Any]]] = {
    "embed": _embed,
    "batch": _batch,
    "logits": lambda question, data_root: logits(Run(question["run"]), question["item"]),
    "loss": lambda question, data_root: sampling.answer(question),
    "lab": _lab,
}


def answer(question: dict[str, Any], data_root: Path | None) -> Mapping[str, Any]:
    """Answer a question by the function that its `ask` names, which raises UserError."""
    return QUESTIONS[question.pop("ask")](question, data_root)
