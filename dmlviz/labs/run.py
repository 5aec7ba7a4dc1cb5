"""Runs a lab in this process, trial by trial: for scripts and tests. App and command line use worker processes."""

import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from dmlviz.errors import UserError
from dmlviz.jobs.job_events import TrialFinished, TrialProgress
from dmlviz.jobs.job_record import TrialRecord, Work
from dmlviz.labs.lab_study import check_dataset
from dmlviz.labs.registry import LABS
from dmlviz.studies.trial import Measurement, Size, Trial, TrialContext, TrialResult, Values


def run_trial(work: Work) -> None:
    """Do a trial, an order as `dmlviz.jobs.order.trial`; an exception ends it as "failed", with the reason.

    Raises:
        UserError: If the folder holds no trial, or another process is doing it.
    """
    record = TrialRecord(work.folder)
    order = record.order
    values: Values = {}  # the last ones that were reported

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


def run_lab(
    name: str,
    size: Size = "quick",
    dataset: str | None = None,
    *,
    folder: Path | None = None,
    on_result: Callable[[TrialResult], object] = lambda result: None,
) -> list[TrialResult]:
    """Do all trials of a lab.

    Args:
        name: Name of the lab.
        size: "quick" or "full".
        dataset: Name of the data set; the lab's usual one by default.
        folder: Folder for the trials' arrays; a new folder for temporary files by default.
        on_result: Called after each trial.

    Returns:
        The results. A trial that could not be done, for instance because its training diverged, has an `error`.

    Raises:
        UserError: For a lab or a data set that there is not.

    Example::

        results = run_lab("margins", size="quick")
        rows = LABS["margins"].rows(results)
    """
    lab = LABS[name]
    dataset = check_dataset(lab, dataset)
    measure = measurement(name)
    folder = folder or Path(tempfile.mkdtemp(prefix=f"dmlviz-{name}-"))
    results: list[TrialResult] = []
    while True:
        done = {result.trial.name for result in results}
        missing = [trial for trial in lab.plan(size, dataset, results) if trial.name not in done]
        if not missing:
            return results
        trial = missing[0]
        own = folder / trial.name
        own.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        try:
            values, error = measure(trial, TrialContext(folder=own)), ""
        except UserError as problem:
            values, error = {}, str(problem)
        seconds = time.perf_counter() - start
        results.append(TrialResult(trial=trial, values=values, error=error, seconds=seconds, folder=own))
        on_result(results[-1])
