"""`dmlviz runs`: what has been trained."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dmlviz.commands import RunsFolder, command_app
from dmlviz.runs import Runs, runs_folder

app = command_app()
SCORES = {"precision_at_1": "P@1", "map_at_r": "MAP@R"}


@app.command()
def runs(runs: RunsFolder = None) -> None:
    """List the runs, the newest first, those that come with the program last. Scores are of all test images."""
    known = Runs(runs_folder(runs))
    console = Console(highlight=False)
    found = known.list()
    if not found:
        console.print(f"No runs in {known.folder} yet; dmlviz train makes one.", soft_wrap=True)
        return
    table = Table("run", "title", *SCORES.values(), "state", "asked for", box=None, pad_edge=False)
    for column in table.columns:
        column.no_wrap = column.header != "title"
    for run in found:
        config = run.config
        scores = [run.metrics.get(key) for key in SCORES]
        table.add_row(
            run.id,
            f"{escape(run.title)}\n[dim]{config.net}, {config.embedding_dim}-d, {config.steps:,} steps[/dim]",
            *("" if score is None else f"{score:.4f}" for score in scores),
            run.state,
            "ready-made" if known.comes_with_the_program(run) else f"{run.created.astimezone():%Y-%m-%d}",
        )
    console.print(table)
    console.print(f"in {known.folder}", style="dim", soft_wrap=True)
