"""Logs a finished run in an experiment tracker: settings, curves, final scores, the map."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from dmlviz.catalog.export_formats import TRACKERS
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.runs.run import Run

__all__ = ["TRACKERS", "log_run"]


def log_run(tracker: str, export: RunExport, target: str | None = None) -> str:
    """Log a run in an experiment tracker.

    Args:
        tracker: A name in TRACKERS.
        export: The run.
        target: The folder (TensorBoard), address (MLflow) or project (Weights & Biases); by default that of the spec.

    Returns:
        Its new place: a folder or an address.

    Raises:
        UserError: For an unknown tracker, a run that has not finished or is logged there already, a library that is not
            installed, or a target that does not answer.
    """
    spec = TRACKERS[tracker]
    if find_spec(spec.library) is None:
        raise UserError(f"{spec.title} is not installed: pip install 'dmlviz[{spec.extra}]'.")
    if export.run.end is None:
        raise export.run.lacks("end, after which it can be logged")
    where: str = import_module(f"dmlviz.export.trackers.{tracker}_run").log(export, target or spec.target)
    return where


@dataclass(frozen=True)
class Values:
    """Values that belong to one step.

    Attributes:
        step: The step.
        time: Time of measurement (seconds since 1970).
        values: The numbers by name, such as "validation/map_at_r".
    """

    step: int
    time: float
    values: dict[str, float]


def settings(run: Run) -> dict[str, str | int | float | bool]:
    """Return the settings of a run, those of its loss and miner as "loss_params.margin"; unset ones are left out."""
    return dict(_flat(run.config.to_dict()))


def values_by_step(run: Run) -> Iterator[Values]:
    """Yield what was measured while a run trained, in the order of the steps, and all scores at its end.

    The scores at the end are of all test images and of all validation images, those before it of samples of them.
    """
    for event in run.events():
        match event["event"]:
            case "step":
                values = {
                    "train/loss": event["loss"],
                    "train/active": event["active"],
                    "train/positive_distance": event["positive_distance"],
                    "train/negative_distance": event["negative_distance"],
                    "train/images_per_second": event["images_per_second"],
                }
            case "snapshot":
                values = _scores(event["scored_on"], event["metrics"]) | _scores("train", event.get("train_metrics"))
            case "finished" | "stopped":
                values = _scores("test", event.get("metrics")) | _scores("validation", event.get("validation_metrics"))
                values |= _scores("train", event.get("train_metrics"))
            case _:
                continue
        finite = {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}
        if finite:
            yield Values(event.get("step", 0), event["time"], finite)


def _scores(images: str, scores: Mapping[str, float | None] | None) -> dict[str, float | None]:
    return {f"{images}/{name}": value for name, value in (scores or {}).items()}


def _flat(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str | int | float | bool]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, str | int | float | bool):
            yield prefix + name, value
        elif value is not None:
            yield prefix + name, str(value)
