"""Questions of a lab's playground to the net that a trial of a study kept; a worker answers."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from dmlviz.errors import UserError
from dmlviz.labs.answers import Answer
from dmlviz.labs.kept_arrays import NET
from dmlviz.studies.study import Study
from dmlviz.studies.trial import TrialResult
from dmlviz_app.server.services import services

KEPT_ANSWERS = 48
LONGEST_KEPT = 10_000  # characters of a question whose answer is kept: one with a picture is asked once


def kept_nets(study: Study) -> list[TrialResult]:
    """Return the results whose trials kept a net."""
    return [result for result in study.results() if result.folder is not None and (result.folder / NET).is_file()]


def ask(study: Study, dataset: str, data: Path, fields: dict[str, Any]) -> Answer:
    """Return the answer of the worker.

    Args:
        study: The study whose net is asked: of the trial that `fields` name as `trial`, or of the first that kept one.
        dataset: Data set that the pictures are made from.
        data: The data folder.
        fields: The question, JSON types.

    Raises:
        UserError: If no such net was kept, or the question is wrong.
    """
    nets = {result.trial.name: result for result in kept_nets(study)}
    result = nets.get(fields.get("trial") or next(iter(nets), ""))
    if result is None or result.folder is None:
        raise UserError("This study kept no net that could answer: run the lab first.")
    about = {
        "ask": "lab",
        "lab": study.info["lab"],
        "folder": str(result.folder.resolve()),
        "stamp": (result.folder / NET).stat().st_mtime_ns,
        "dataset": dataset,
        "data": str(data.resolve()),
    }
    question = json.dumps(fields | about, sort_keys=True)
    return (_kept_answer if len(question) <= LONGEST_KEPT else _answer)(question)


def _answer(question: str) -> Answer:
    return cast(Answer, services().scheduler.inference_worker.call(json.loads(question)))


_kept_answer = lru_cache(maxsize=KEPT_ANSWERS)(_answer)
