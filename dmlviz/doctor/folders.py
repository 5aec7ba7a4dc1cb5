"""Checks of the disk: the folders, the data sets and the runs in them."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import available_datasets
from dmlviz.errors import UserError
from dmlviz.runs.quota import format_bytes, total_size
from dmlviz.runs.store import Runs

State = Literal["ok", "warning", "broken"]


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        name: Subject of the check.
        state: "broken" where dmlviz cannot work, "warning" where a part of it cannot or will soon not.
        finding: Result.
        remedy: Remedy; empty if none is needed.
    """

    name: str
    state: State
    finding: str
    remedy: str = ""


LITTLE_SPACE = 1_000_000_000  # bytes
MIN_FREE_BYTES = 50_000_000  # bytes; a run of the largest data set takes less


def check_folder(name: str, folder: Path, option: str) -> Check:
    """Return whether a folder can be written to, and how much space is left.

    Args:
        name: Purpose of the folder.
        folder: The folder; it need not exist yet.
        option: The way to choose another.
    """
    try:
        existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with tempfile.TemporaryFile(dir=existing):
            pass
        free = shutil.disk_usage(existing).free
    except OSError as error:
        return Check(
            name, "broken", f"{folder}: nothing can be written ({error.strerror}).", f"Choose another: {option}"
        )
    finding = f"{folder}: writable, {format_bytes(free)} free" + ("" if existing == folder else "; made when needed")
    if free < MIN_FREE_BYTES:
        return Check(name, "broken", finding, f"Free some space, or choose another folder: {option}")
    if free < LITTLE_SPACE:
        return Check(name, "warning", finding, f"Runs and data sets will soon fill it; choose another folder: {option}")
    return Check(name, "ok", finding)


def check_datasets(root: Path) -> Check:
    """Return the data sets on disk, and those that are downloaded on first use."""
    try:
        available = available_datasets(root)
    except (OSError, UserError) as error:
        return Check("data sets", "broken", str(error), "Remove the data set that cannot be read: dmlviz data --help")
    missing = [name for name in DATASETS.builtin if name not in available]
    finding = ", ".join(available)
    return Check(
        "data sets", "ok", finding + (f"; downloaded when first used: {', '.join(missing)}" if missing else "")
    )


def check_runs(folder: Path, limit: int) -> Check:
    """Return how many runs there are, whether they can be read, and how much of the disk limit they take.

    Args:
        folder: The runs folder; it need not exist yet.
        limit: Bytes that the runs may take.
    """
    store = Runs(folder)
    readable, damaged_runs = store.look()
    own = [run for run in readable if not store.is_bundled(run)]
    finding = (
        f"{len(own)} of your own, {len(readable) - len(own)} ready-made; "
        f"{format_bytes(total_size(store))} of {format_bytes(limit)}"
    )
    if damaged_runs:
        names = ", ".join(f"{run.id} ({run.state})" for run in damaged_runs[:5])
        return Check("runs", "warning", f"{finding}; {len(damaged_runs)} unreadable: {names}", "See `dmlviz runs`.")
    return Check("runs", "ok", finding)
