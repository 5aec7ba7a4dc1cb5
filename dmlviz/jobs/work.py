"""What a worker gets to do a job."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Work:
    """A job as its worker has it.

    Attributes:
        folder: Folder of the job.
        data_root: Folder of the data sets; the default one if None.
        stop: True when the job should end early.
        datasets: Data sets that are loaded already, by name.
    """

    folder: Path
    data_root: Path | None = None
    stop: Callable[[], bool] = lambda: False
    datasets: Mapping[str, Any] = field(default_factory=dict)
