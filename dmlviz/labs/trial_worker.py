"""Does one trial in a worker process and writes what comes out into the trial's folder."""

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from dmlviz.jobs.job_events import TrialFinished, TrialProgress
from dmlviz.jobs.job_record import TrialRecord
from dmlviz.labs.registry import LABS
from dmlviz.studies.trial import Measurement, Trial, TrialContext


def run_trial(folder: Path, *, data_root: Path | None = None, stop: Callable[[], bool] = lambda: False) -> None:
    """Do the trial that a folder describes; an exception ends it as "failed", with the reason.

    Args:
        folder: The folder, of an order as `dmlviz.jobs.order.trial`.
        data_root: The folder of the data sets.
        stop: True when the trial should end early.

    Raises:
        UserError: If the folder holds no trial, or another process is doing it.
    """
    record = TrialRecord(folder)
    order = record.order
    values: dict[str, Any] = {}  # the last ones that were reported

    def report(share: float, **new: Any) -> None:
        nonlocal values
        values = new or values
        writer.progress(TrialProgress(event="progress", share=share, values=values), now=bool(new))

    with record.writing() as writer:
        start = time.perf_counter()
        context = TrialContext(folder=folder, data_root=data_root, report=report, stop=stop)
        measures = measurement(order["lab"])(Trial(**order["trial"]), context)
        seconds = time.perf_counter() - start
        writer.finished(TrialFinished(event="finished", values=dict(measures), seconds=seconds))


def measurement(lab: str) -> Measurement:
    """Return the function that does the trials of a lab; of a plug-in's lab the one that it brought.

    Raises:
        UserError: If there is no lab of that name.
    """
    spec = LABS[lab]
    if lab in LABS.plugged:
        return LABS.plugged[lab]
    module, _, function = spec.measure.partition(":")
    measurement: Measurement = getattr(import_module(module), function)
    return measurement
