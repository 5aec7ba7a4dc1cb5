"""Runs a lab in this process, trial by trial: for scripts and tests. App and command line use worker processes."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.labs.lab_study import check_dataset
from dmlviz.labs.registry import LABS
from dmlviz.labs.trial_worker import measurement
from dmlviz.studies.trial import Size, TrialContext, TrialResult


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
