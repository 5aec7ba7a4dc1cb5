"""What pages and routes share: settings, runs, jobs. One of each in a process, outside every session and cache."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from app.audience import Audience
from app.intake import Intake
from dmlviz import data
from dmlviz.data import data_root
from dmlviz.data.declared import DATASETS
from dmlviz.disk import evict, limit_of
from dmlviz.jobs import Jobs
from dmlviz.runs import DamagedRun, Run, Runs, UnknownRun, runs_folder

T = TypeVar("T")
LOOK = 0.3  # seconds for which a look at the disk holds: a page asks several times


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where the app runs and keeps its things; `slots` trainings at a time, one core left free when None.

    `disk_limit` is how many bytes the runs may take.
    """

    runs: Path = field(default_factory=runs_folder)
    data: Path | None = None
    slots: int | None = None
    disk_limit: int = field(default_factory=limit_of)
    host: str = "127.0.0.1"
    port: int = 8501


@dataclass(frozen=True)
class Services:
    """`routes` says whether /api is served beside the pages; without it the pages poll.

    `audience` knows who looks at which runs, `evicted` which runs have made room for others.
    """

    settings: Settings
    runs: Runs
    jobs: Jobs
    intake: Intake
    routes: bool
    audience: Audience = field(default_factory=Audience)
    evicted: list[Run | DamagedRun] = field(default_factory=list)
    _seen: dict[object, tuple[float, Any]] = field(default_factory=dict, repr=False)

    def available(self) -> list[str]:
        """Names of the data sets that are on disk, as of a moment ago."""
        return self._recently(self.data, lambda: data.available(self.data))

    def ready_made(self) -> Run | None:
        """The run that the first page plays, as of a moment ago: one that comes with the program, or the newest."""
        return self._recently("ready made", self._ready_made)

    def _ready_made(self) -> Run | None:
        here = self.available()
        for path in sorted(self.runs.bundled.glob("*/run.json")):
            try:
                run = self.runs.get(path.parent.name)
            except UnknownRun:  # a copy of it here is damaged
                continue
            if run.config.dataset in here and not run.info.get("fails"):
                return run
        return next(iter(self.runs.list()), None)

    def _recently(self, what: object, look: Callable[[], T]) -> T:
        at, known = self._seen.get(what, (-LOOK, None))
        if time.monotonic() - at >= LOOK:
            known = look()
            self._seen[what] = time.monotonic(), known
        return known

    def tidy(self) -> None:
        """Keep the runs within the disk's limit, and forget what was deleted long ago."""
        self.runs.trash.empty()
        shown = self.audience.runs()

        def in_use(run: str) -> bool:
            return run in shown or any(key.run == run for key, _ in self.jobs.under_way())

        self.evicted.extend(evict(self.runs, self.settings.disk_limit, in_use))

    @property
    def data(self) -> Path:
        return data_root(self.settings.data)

    @property
    def cache(self) -> Path:
        """Where pictures are kept that can be made again."""
        return self.settings.runs / ".pictures"


_lock = threading.Lock()
_services: Services | None = None


def start(settings: Settings, *, routes: bool, warm: bool = True) -> Services:
    """Start the process's services anew; what ran before is closed. With `warm`, a worker waits for the first job."""
    global _services
    with _lock:
        if _services is not None:
            _services.jobs.close()
            _services.intake.close()
        settings.runs.mkdir(parents=True, exist_ok=True)
        DATASETS.look_in(data_root(settings.data))
        runs = Runs(settings.runs)
        jobs = Jobs(runs, slots=settings.slots, data_root=settings.data, warm=warm)
        _services = Services(settings, runs, jobs, Intake(data_root(settings.data), runs), routes)
        return _services


def services() -> Services:
    """The process's services; started from the environment where no server did (`streamlit run app/main.py`)."""
    return _services or start(Settings(), routes=False)


def stop() -> None:
    """Close the jobs: their workers end."""
    global _services
    with _lock:
        if _services is not None:
            _services.jobs.close()
            _services.intake.close()
        _services = None
