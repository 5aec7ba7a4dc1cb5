"""`dmlviz doctor`: say whether this machine has what dmlviz needs, and what to do where it has not."""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import DataFolder, RunsFolder, single_command_app
from dmlviz.data import data_root
from dmlviz.doctor.folders import Check
from dmlviz.errors import UserError
from dmlviz.network import check_port_free
from dmlviz.runs.store import runs_folder

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
    """Check versions, folders, port, memory, cores, GPU and data sets, and train one step. Exit status 1 if broken."""
    console, progress = Console(highlight=False), Console(stderr=True)
    checks = []
    for name, look in _checks(runs_folder(runs), data_root(data), host, port):
        with progress.status(f"Checking: {name} …"):
            checks.append(_look_at(name, look))
    is_ok = all(check.state != "broken" for check in checks)
    if as_json:
        print(json.dumps({"ok": is_ok, "checks": [asdict(check) for check in checks]}, indent=1))
    else:
        console.print(_table(checks))
        console.print(_summary(checks), style="bold")
    raise typer.Exit(0 if is_ok else 1)


def _checks(runs: Path, data: Path, host: str, port: int) -> Iterator[tuple[str, Callable[[], Check]]]:
    from dmlviz.doctor import folders, machine, packages
    from dmlviz.runs.quota import parse_limit

    DATASETS.add_search_path(data)
    yield "program", packages.check_program
    yield "packages", packages.check_packages
    yield "optional parts", packages.check_extras
    yield "page", packages.check_page
    yield "runs folder", partial(folders.check_folder, "runs folder", runs, "--runs FOLDER or DMLVIZ_RUNS")
    yield "data folder", partial(folders.check_folder, "data folder", data, "--data FOLDER or DMLVIZ_DATA")
    yield "temporary files", partial(folders.check_folder, "temporary files", Path(tempfile.gettempdir()), "TMPDIR")
    yield "runs", lambda: folders.check_runs(runs, parse_limit())
    yield "data sets", partial(folders.check_datasets, data)
    yield "port", partial(_check_port, host, port)
    yield "memory", machine.check_memory
    yield "cores", machine.check_cores
    yield "open files", machine.check_open_files
    yield "GPU", machine.check_gpu
    yield "training", machine.check_training


def _look_at(name: str, look: Callable[[], Check]) -> Check:
    """Return what a check finds; one that fails itself is broken, and the others go on."""
    try:
        return look()
    except Exception as error:
        return Check(
            name, "broken", f"{type(error).__name__}: {str(error)[:200]}", "Report this: it should not happen."
        )


def _check_port(host: str, port: int) -> Check:
    try:
        check_port_free(host, port)
    except UserError as error:
        return Check("port", "warning", str(error), "Nothing, if that is dmlviz; else choose another with --port.")
    return Check("port", "ok", f"{host} port {port} is free")


def _table(checks: list[Check]) -> Table:
    table = Table("", "", "", box=None, show_header=False, pad_edge=False)
    for column in table.columns[:2]:
        column.no_wrap = True
    for check in checks:
        remedy = f"\n[yellow]→ {escape(check.remedy)}[/yellow]" if check.remedy else ""
        table.add_row(SIGNS[check.state], check.name, escape(check.finding) + remedy)
    return table


def _summary(checks: list[Check]) -> str:
    failures, warnings = (sum(check.state == state for check in checks) for state in ("broken", "warning"))
    if failures:
        return f"\n{failures} of {len(checks)} checks are broken: dmlviz does not work here yet."
    return "\nEverything works." + (f" {warnings} warning{'s' if warnings > 1 else ''}." if warnings else "")
