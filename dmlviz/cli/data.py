"""`dmlviz data`: the data sets that are here, and those of one's own."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import DataFolder, RunsFolder, single_command_app
from dmlviz.data import available_datasets, data_root
from dmlviz.data.image_folder import Color, import_image_folder
from dmlviz.data.import_report import ImportedDataset
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()
VECTORS = (".npy", ".npz", ".csv", ".tsv", ".parquet")


@app.command("list")
def listed(data: DataFolder = None) -> None:
    """List the data sets: those on disk, and those that a training fetches first."""
    root = data_root(data)
    DATASETS.add_search_path(root)
    here = available_datasets(root)
    table = Table("name", "title", "", box=None, pad_edge=False)
    for name in [*here, *(name for name in DATASETS.builtin if name not in here)]:
        table.add_row(name, DATASETS[name].title, "" if name in here else "fetched on first use")
    Console(highlight=False).print(table)


@app.command()
def add(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="a folder or zip of class folders, or vectors")],
    title: Annotated[str, typer.Option(metavar="TEXT", help="what to call it; the file's name when empty")] = "",
    side: Annotated[int | None, typer.Option(metavar="N", help="pixels a side, 8 to 64")] = None,
    color: Annotated[Color, typer.Option(help="gray where all pictures are, or as told")] = "auto",
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="labels of vectors that come without")] = None,
    data: DataFolder = None,
    runs: RunsFolder = None,
) -> None:
    """Add data of your own: pictures in class folders, to train on, or ready vectors, to look at as a run.

    Vectors come as npy, npz, csv or parquet, with their labels in a column called label or in a file of their own.
    """
    if path.suffix.lower() in VECTORS and path.is_file():
        _add_vectors(path, labels, title or path.stem, Runs(runs_folder(runs)))
        return
    console = Console(highlight=False, soft_wrap=True)
    with Progress(console=console, transient=True) as shown:
        task = shown.add_task("Reading", total=None)
        found = import_image_folder(
            path,
            title=title,
            side=side,
            color=color,
            progress=lambda done, of: shown.update(task, completed=done, total=of),
        )
    _print_report(found, console)
    print(found.save(data_root(data)))


@app.command()
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="custom- and 16 digits, as `dmlviz data list` shows")],
    data: DataFolder = None,
) -> None:
    """Remove data of your own from the data folder; runs that were trained on it stay, without its pictures."""
    custom_datasets.remove(data_root(data), name)


def _print_report(found: ImportedDataset, console: Console) -> None:
    console.print(f"{found.declared.title}: {found.declared.summary}", markup=False)
    table = Table("class", "to train on", "to test on", box=None, pad_edge=False)
    for one in found.report["classes"]:
        table.add_row(one["name"], f"{one['train']:,}", f"{one['test']:,}")
    console.print(table)
    for line in [*found.report["notes"], *found.report["warnings"]]:
        console.print(line, markup=False)
    for left in found.report["left_out"]:
        names = ", ".join(left["names"][:3])
        console.print(f"Left out: {left['count']:,}, {left['reason']} ({names})", markup=False)


def _add_vectors(path: Path, labels: Path | None, title: str, runs: Runs) -> None:
    from dmlviz.data.embedding_file import read_embeddings
    from dmlviz.runs.import_embeddings import import_embeddings

    found = read_embeddings(path, labels)
    limit_to_one_thread()
    run = import_embeddings(runs, found, title)
    n, d = found.embeddings.shape
    print(f"{run.title}: {n:,} vectors of {d} dimensions in {len(found.classes)} classes, kept as a run without a net")
    print(run.path)
