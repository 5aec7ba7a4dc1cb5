"""A trial: one piece of a study's work, what it gets from its worker, and what it measured. Loads no torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from dmlviz.jobs.job_record import StoppedError

Size = Literal["quick", "full"]
Values: TypeAlias = dict[str, Any]  # what a trial measured, by name, JSON types


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One piece of a lab's work, done by one worker process in one go.

    Attributes:
        name: Unique in its study; also a file name, for instance "batch_hard-margin_0.2-seed_1".
        settings: Everything that the measurement needs, as plain JSON types. Equal settings give equal results.
        dataset: Name of the data set that it reads.
        seconds: Processor seconds that it is expected to take on one core; the cost shown before it starts.
    """

    name: str
    settings: Mapping[str, Any]
    dataset: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """The result of a trial.

    Attributes:
        trial: The trial.
        values: Its measurements, as plain JSON types; {} when it failed.
        error: The reason of a failure, for instance that the training diverged; empty otherwise.
        seconds: Wall seconds that it took.
        folder: The folder of its arrays (`.npy`, `.npz`) and runs, for the pictures behind a point.
    """

    trial: Trial
    values: Mapping[str, Any]
    error: str = ""
    seconds: float = 0.0
    folder: Path | None = None


class Measurement(Protocol):
    """The signature of the function that does a trial; it runs in a worker process and may load torch."""

    def __call__(self, trial: Trial, context: "TrialContext") -> Mapping[str, Any]:
        """Do the trial and return its measurements as plain JSON types; raise UserError when it can't be done."""


@dataclass(frozen=True, kw_only=True)
class TrialContext:
    """The surroundings of a trial in the worker that runs it.

    Attributes:
        folder: An empty folder for its arrays and runs; kept with the result.
        data_root: The folder of the data sets; None for the default.
        report: Called now and then with the share that is done (0 to 1) and, if there are any, measurements so far.
        stop: True when it should end early; then it raises `TrialStoppedError`.
    """

    folder: Path
    data_root: Path | None = None
    report: Callable[..., None] = field(default=lambda share, **values: None)
    stop: Callable[[], bool] = field(default=lambda: False)


class TrialStoppedError(StoppedError):
    """The trial was asked to stop before it had a result."""
