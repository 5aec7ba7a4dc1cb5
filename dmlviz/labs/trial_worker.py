"""Does one trial in a worker process and writes what comes out into the trial's folder."""

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from dmlviz.jobs.trial_record import TrialRecord
from dmlviz.labs.registry import LABS
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.studies.trial import Measurement, Trial, TrialContext, TrialStoppedError

REPORT_INTERVAL_S = 0.2  # seconds between two words on the progress


def run_trial(folder: Path, *, data_root: Path | None = None, stop: Callable[[], bool] = lambda: False) -> None:
    """Do the trial that a folder describes; whatever goes wrong ends it as "failed", with the reason.

    Args:
        folder: The folder, as `TrialRecord.create` makes it.
        data_root: Where the data sets are.
        stop: True when the trial should end early.

    Raises:
        UserError: If the folder holds no trial, or another process is doing it.
    """
    record = TrialRecord(folder)
    order = record.order
    with RecordWriter(record) as writer:
        begun = time.perf_counter()
        writer.event("started")
        try:
            trial = Trial(**order["trial"])
            measure = measurement(order["lab"])
            context = TrialContext(folder=folder, data_root=data_root, report=_Progress(writer), stop=stop)
            values = measure(trial, context)
            writer.event("finished", values=dict(values), seconds=time.perf_counter() - begun)
        except TrialStoppedError:
            writer.event("stopped", reason="stopped by hand")
        except Exception as error:
            writer.failed(error)


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


class _Progress:
    """Writes the progress into the record: new values at once, a share alone a few times a second at most."""

    def __init__(self, writer: RecordWriter) -> None:
        self._writer = writer
        self._written = 0.0
        self._values: dict[str, Any] = {}  # the last ones

    def __call__(self, share: float, **values: Any) -> None:
        if values or time.monotonic() - self._written >= REPORT_INTERVAL_S:
            self._written = time.monotonic()
            self._values = values or self._values
            self._writer.event("progress", share=share, values=self._values)
