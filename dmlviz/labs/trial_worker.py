"""Does one trial in a worker process and writes what comes out into the trial's folder."""

import time
from importlib import import_module
from typing import Any

from dmlviz.jobs.job_events import TrialFinished, TrialProgress
from dmlviz.jobs.job_record import TrialRecord
from dmlviz.jobs.work import Work
from dmlviz.labs.registry import LABS
from dmlviz.studies.trial import Measurement, Trial, TrialContext


def run_trial(work: Work) -> None:
    """Do a trial, an order as `dmlviz.jobs.order.trial`; an exception ends it as "failed", with the reason.

    Raises:
        UserError: If the folder holds no trial, or another process is doing it.
    """
    record = TrialRecord(work.folder)
    order = record.order
    values: dict[str, Any] = {}  # the last ones that were reported

    def report(share: float, **new: Any) -> None:
        nonlocal values
        values = new or values
        writer.progress(TrialProgress(event="progress", share=share, values=values), now=bool(new))

    with record.writing() as writer:
        start = time.perf_counter()
        context = TrialContext(
            folder=work.folder,
            data_root=work.data_root,
            report=report,
            stop=lambda: writer.is_full() or work.stop(),
        )
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
