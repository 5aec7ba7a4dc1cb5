"""`dmlviz doctor`: say whether this machine has what dmlviz needs, and what to do where it has not."""

import json
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, Literal

import typer
from packaging.requirements import Requirement
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import DataFolder, RunsFolder, single_command_app
from dmlviz.data import available_datasets, data_root
from dmlviz.errors import UserError
from dmlviz.network import check_port_free
from dmlviz.process_setup import MOST_FILES, open_files
from dmlviz.runs.quota import MIN_FREE_BYTES, format_bytes
from dmlviz.runs.store import runs_folder
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


app = single_command_app()
SIGNS = {"ok": "[green]ok[/green]", "warning": "[yellow]warning[/yellow]", "broken": "[red]broken[/red]"}


@app.command()
def doctor(
    runs: RunsFolder = None,
    data: DataFolder = None,
    host: Annotated[str, typer.Option(help="address that the app would listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port that the app would listen on")] = 8501,
    as_json: Annotated[bool, typer.Option("--json", help="print the results as JSON")] = False,
) -> None:
    """Check versions, open files, folders, data sets and port. Exit status 1 if something is broken."""
    console, progress = Console(highlight=False), Console(stderr=True)
    found = []
    for name, look in checks(runs_folder(runs), data_root(data), host, port):
        with progress.status(f"Checking: {name} …"):
            found.append(_look_at(name, look))
    is_ok = all(check.state != "broken" for check in found)
    if as_json:
        print(json.dumps({"ok": is_ok, "checks": [asdict(check) for check in found]}, indent=1))
    else:
        console.print(_table(found))
        console.print(_summary(found), style="bold")
    raise typer.Exit(0 if is_ok else 1)


def _look_at(name: str, look: Callable[[], Check]) -> Check:
    """Return what a check finds; one that fails itself is broken, and the others go on."""
    try:
        return look()
    except Exception as error:
        return Check(
            name, "broken", f"{type(error).__name__}: {str(error)[:200]}", "Report this: it should not happen."
        )


def _table(found: list[Check]) -> Table:
    table = Table("", "", "", box=None, show_header=False, pad_edge=False)
    for column in table.columns[:2]:
        column.no_wrap = True
    for check in found:
        remedy = f"\n[yellow]→ {escape(check.remedy)}[/yellow]" if check.remedy else ""
        table.add_row(SIGNS[check.state], check.name, escape(check.finding) + remedy)
    return table


def _summary(found: list[Check]) -> str:
    failures, warnings = (sum(check.state == state for check in found) for state in ("broken", "warning"))
    if failures:
        return f"\n{failures} of {len(found)} checks are broken: dmlviz does not work here yet."
    return "\nNothing is missing." + (f" {warnings} warning{'s' if warnings > 1 else ''}." if warnings else "")
