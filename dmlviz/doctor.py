"""Checks of `dmlviz doctor`: what dmlviz needs of this machine, and a remedy for what is missing."""

import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import available_datasets
from dmlviz.errors import UserError
from dmlviz.network import check_port_free
from dmlviz.process_setup import MOST_FILES, open_files
from dmlviz.runs.quota import MIN_FREE_BYTES, format_bytes
from dmlviz.version import __version__

State = Literal["ok", "warning", "broken"]
LITTLE_SPACE = 1_000_000_000  # bytes
FILES_A_VISITOR, ENOUGH_FILES = 5, 4096  # measured: 4.3 a page that stays open
NVIDIA = Path("/proc/driver/nvidia/version")


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


def checks(runs: Path, data: Path, host: str, port: int) -> Iterator[tuple[str, Callable[[], Check]]]:
    """Yield the name and the function of each check.

    Args:
        runs: The runs folder; it need not exist yet.
        data: The folder of the data sets; it need not exist yet.
        host: The address on which the app would listen.
        port: The port on which it would.
    """
    DATASETS.add_search_path(data)
    yield "program", check_program
    yield "torch", check_torch
    yield "open files", check_open_files
    yield "runs folder", partial(check_folder, "runs folder", runs, "--runs FOLDER or DMLVIZ_RUNS")
    yield "data folder", partial(check_folder, "data folder", data, "--data FOLDER or DMLVIZ_DATA")
    yield "data sets", partial(check_datasets, data)
    yield "port", partial(check_port, host, port)


def check_program() -> Check:
    """Return the versions of dmlviz, Python, Streamlit and the system."""
    system = f"{platform.system()} {platform.machine()}"
    versions = f"Python {platform.python_version()}, Streamlit {version('streamlit')}"
    return Check("program", "ok", f"dmlviz {__version__}, {versions}, {system}")


def check_torch() -> Check:
    """Return the version of torch, whether torchvision fits, and the device of trainings. Imports torch: seconds."""
    try:
        import torch
    except (ImportError, OSError) as error:
        finding = f"torch cannot be imported: {str(error)[:200]}"
        return Check("torch", "broken", finding, "Install it again: pytorch.org")
    finding = str(torch.__version__)
    try:
        wanted = next(Requirement(line) for line in requires("torchvision") or () if Requirement(line).name == "torch")
    except (PackageNotFoundError, StopIteration):
        finding += ", without torchvision"
    else:
        finding += f", torchvision {version('torchvision')}"
        if not wanted.specifier.contains(torch.__version__, prereleases=True):
            finding += f", which needs {wanted}"
            return Check("torch", "warning", finding, "Install the torchvision of your torch.")
    if torch.cuda.is_available():
        return Check("torch", "ok", f"{finding}; {torch.cuda.get_device_name()} (CUDA {torch.version.cuda})")
    if NVIDIA.exists():
        why = "is built without CUDA" if torch.version.cuda is None else f"with CUDA {torch.version.cuda} cannot use it"
        finding = f"There is a graphics card, but torch {torch.__version__} {why}."
        return Check("torch", "warning", finding, "Install the torch that fits its driver: pytorch.org/get-started")
    return Check("torch", "ok", f"{finding}; trainings run on the processor")


def check_open_files() -> Check:
    """Return how many files a server may have open: it raises its limit as far as the system lets it."""
    limits = open_files()
    if limits is None:
        return Check("open files", "ok", "not limited")
    most = MOST_FILES if limits[1] < 0 else limits[1]  # -1: no limit
    finding = f"{most:,}, enough for about {most // FILES_A_VISITOR:,} visitors at a time"
    if most < ENOUGH_FILES:
        remedy = f"Raise the hard limit to {ENOUGH_FILES:,}: `ulimit -Hn`, or LimitNOFILE of a service."
        return Check("open files", "warning", finding, remedy)
    return Check("open files", "ok", finding)


def check_folder(name: str, folder: Path, option: str) -> Check:
    """Return whether a folder can be written to, and how much space is left; `option` is the way to choose another."""
    try:
        existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with tempfile.TemporaryFile(dir=existing):
            pass
        free = shutil.disk_usage(existing).free
    except OSError as error:
        finding = f"{folder}: nothing can be written ({error.strerror})."
        return Check(name, "broken", finding, f"Choose another: {option}")
    finding = f"{folder}: writable, {format_bytes(free)} free" + ("" if existing == folder else "; made when needed")
    if free < LITTLE_SPACE:
        state: State = "broken" if free < MIN_FREE_BYTES else "warning"
        return Check(name, state, finding, f"Free some space, or choose another folder: {option}")
    return Check(name, "ok", finding)


def check_datasets(root: Path) -> Check:
    """Return the data sets on disk, and those that are downloaded on first use."""
    try:
        available = available_datasets(root)
    except (OSError, UserError) as error:
        return Check("data sets", "broken", str(error), "Remove the data set that cannot be read: dmlviz data --help")
    missing = ", ".join(name for name in DATASETS.builtin if name not in available)
    finding = ", ".join(available) + (f"; downloaded when first used: {missing}" if missing else "")
    return Check("data sets", "ok", finding)


def check_port(host: str, port: int) -> Check:
    """Return whether the app could listen there."""
    try:
        check_port_free(host, port)
    except UserError as error:
        return Check("port", "warning", str(error), "Nothing, if that is dmlviz; else choose another with --port.")
    return Check("port", "ok", f"{host} port {port} is free")
