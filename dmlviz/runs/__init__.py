"""Runs on disk: write, read, list, evict, export, import, project."""

from dmlviz.runs.neighbor_search import Neighbor
from dmlviz.runs.run import EventLogDir, ProjectionRun, Run, RunNotFoundError, State
from dmlviz.runs.store import Runs, bundled_runs, default_title, runs_folder

__all__ = [
    "EventLogDir",
    "Neighbor",
    "ProjectionRun",
    "Run",
    "RunNotFoundError",
    "Runs",
    "State",
    "bundled_runs",
    "default_title",
    "runs_folder",
]
