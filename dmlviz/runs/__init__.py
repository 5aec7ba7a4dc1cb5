"""A run on disk: write, read, list, limit, export, import, project."""

from dmlviz.runs.run import Drawing, Neighbour, Record, Run, State, UnknownRun
from dmlviz.runs.store import BUNDLED, Runs, runs_folder, title_of

__all__ = ["BUNDLED", "Drawing", "Neighbour", "Record", "Run", "Runs", "State", "UnknownRun", "runs_folder", "title_of"]
