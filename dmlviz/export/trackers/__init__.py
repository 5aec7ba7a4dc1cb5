"""Logs a finished run in an experiment tracker: settings, curves, final scores, the map."""

from importlib import import_module
from importlib.util import find_spec

from dmlviz.catalog.export_formats import TRACKERS
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport

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
