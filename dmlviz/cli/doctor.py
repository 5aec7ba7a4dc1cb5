"""`dmlviz doctor`: say whether this machine has what dmlviz needs, and what to do where it has not."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dmlviz.cli import DataFolder, RunsFolder, single_command_app
from dmlviz.data import data_root
from dmlviz.doctor import Check, checks
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
