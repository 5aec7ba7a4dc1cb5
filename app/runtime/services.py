"""What pages and routes share: settings, runs, jobs; one of each in a process, whatever sessions and caches do."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from app.runtime.active_sessions import ActiveSessions
from app.runtime.logs import log_job
from app.runtime.metrics import count_job
from app.runtime.monitoring import Monitoring, monitoring_from_environment
from app.runtime.uploads import UploadManager
from dmlviz import data
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import data_root
from dmlviz.jobs.job_report import JobReport
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.quota import enforce, parse_limit
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.runs.store import DamagedRun, Runs, runs_folder

T = TypeVar("T")
SCAN_TTL_S = 0.3  # seconds for which a look at the disk holds: a page asks several times


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where the app runs and keeps its things; `slots` trainings at a time, one core left free when None.

    `disk_limit` is how many bytes the runs may take.
    """

    runs: Path = field(default_factory=runs_folder)
    data: Path | None = None
    slots: int | None = None
    disk_limit: int = field(default_factory=parse_limit)
    host: str = "127.0.0.1"
    port: int = 8501
    monitoring: Monitoring = field(default_factory=monitoring_from_environment)


@dataclass(frozen=True)
class Services:
    """What a server has one of.

    Attributes:
        audience: Which session shows which runs.
        evicted: The runs that were deleted to make room for others.
    """

    settings: Settings
    runs: Runs
    jobs: JobScheduler
    intake: UploadManager
    audience: ActiveSessions = field(default_factory=ActiveSessions)
    evicted: list[Run | DamagedRun] = field(default_factory=list)
    _cache: dict[object, tuple[float, Any]] = field(default_factory=dict, repr=False)

    def available(self) -> list[str]:
        """Names of the data sets that are on disk, as of a moment ago."""
        return self._ttl_cache(self.data, lambda: data.available_datasets(self.data))

    def default_run(self) -> Run | None:
        """The run that the first page plays, as of a moment ago: one that comes with the program, or the newest."""
        return self._ttl_cache("ready made", self._ready_made)

    def _ready_made(self) -> Run | None:
        here = self.available()
        for path in sorted(self.runs.bundled.glob("*/run.json")):
            try:
                run = self.runs.get(path.parent.name)
            except RunNotFoundError:  # a copy of it here is damaged
                continue
            if run.config.dataset in here and not run.info.get("fails"):
                return run
        return next(iter(self.runs.list()), None)

    def _ttl_cache(self, key: object, scan: Callable[[], T]) -> T:
        time_s, value = self._cache.get(key, (-SCAN_TTL_S, None))
        if time.monotonic() - time_s >= SCAN_TTL_S:
            value = scan()
            self._cache[key] = time.monotonic(), value
        return cast(T, value)

    def enforce_quota(self) -> None:
        """Delete old runs beyond the disk limit, and empty the trash of what was deleted long ago."""
        self.runs.trash.empty()
        shown = self.audience.viewed_runs()

        def in_use(run: str) -> bool:
            return run in shown or any(key.run == run for key, _ in self.jobs.running_for())

        self.evicted.extend(enforce(self.runs, self.settings.disk_limit, in_use))

    @property
    def data(self) -> Path:
        """The folder of the data sets."""
        return data_root(self.settings.data)

    @property
    def cache(self) -> Path:
        """Where pictures are kept that can be made again."""
        return self.settings.runs / ".pictures"


_lock = threading.Lock()
_services: Services | None = None


def start_services(settings: Settings, *, warm: bool = True) -> Services:
    """Start the process's services anew; what ran before is closed. With `warm`, a worker waits for the first job."""
    global _services
    with _lock:
        if _services is not None:
            _services.jobs.close()
            _services.intake.close()
        settings.runs.mkdir(parents=True, exist_ok=True)
        DATASETS.add_search_path(data_root(settings.data))
        runs = Runs(settings.runs)
        jobs = JobScheduler(runs, slots=settings.slots, data_root=settings.data, warm=warm, on_job=_on_job)
        _services = Services(settings, runs, jobs, UploadManager(data_root(settings.data), runs))
        return _services


def _on_job(report: JobReport) -> None:
    count_job(report)
    log_job(report)


def services() -> Services:
    """The process's services; started from the environment where no server did, as in a test of one page."""
    return _services or start_services(Settings())


def stop_services() -> None:
    """End all jobs and their workers."""
    global _services
    with _lock:
        if _services is not None:
            _services.jobs.close()
            _services.intake.close()
        _services = None
