"""What pages and routes share: settings, runs, jobs. One of each in a process, outside every session and cache."""

import threading
from dataclasses import dataclass, field
from pathlib import Path

from dmlviz.data import data_root
from dmlviz.jobs import Jobs
from dmlviz.runs import Runs, runs_folder


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where the app runs and keeps its things; `slots` trainings at a time, one core left free when None."""

    runs: Path = field(default_factory=runs_folder)
    data: Path | None = None
    slots: int | None = None
    host: str = "127.0.0.1"
    port: int = 8501


@dataclass(frozen=True)
class Services:
    """`routes` says whether /api is served beside the pages; without it the pages poll."""

    settings: Settings
    runs: Runs
    jobs: Jobs
    routes: bool

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
        settings.runs.mkdir(parents=True, exist_ok=True)
        runs = Runs(settings.runs)
        jobs = Jobs(runs, slots=settings.slots, data_root=settings.data, warm=warm)
        _services = Services(settings, runs, jobs, routes)
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
        _services = None
