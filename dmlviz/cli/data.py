"""`dmlviz data`: list, add and remove data sets."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import DataFolder, RunsFolder, single_command_app
from dmlviz.data import available_datasets, data_root, dataset_note
from dmlviz.data.image_folder import Color, import_image_folder
from dmlviz.data.import_report import ImportedDataset
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()
EMBEDDING_SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".parquet")


@app.command("list")
def list_datasets(data: DataFolder = None) -> None:
    """List all data sets: those on disk or made from those, and those that are downloaded when first used."""
    root = data_root(data)
    DATASETS.add_search_path(root)
    available = available_datasets(root)
    table = Table("name", "title", "", box=None, pad_edge=False)
    for name in [*available, *(name for name in DATASETS.builtin if name not in available)]:
        table.add_row(name, DATASETS[name].title, dataset_note(name, root))
    Console(highlight=False).print(table)


@app.command()
def add(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="folder or zip with one subfolder per class, or an embeddings file"),
    ],
    title: Annotated[str, typer.Option(metavar="TEXT", help="title (default: file name)")] = "",
    side: Annotated[int | None, typer.Option(metavar="N", help="image size in pixels (8 to 64)")] = None,
    color: Annotated[Color, typer.Option(help="color mode; auto = grayscale if all images are")] = "auto",
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="separate label file for embeddings")] = None,
    data: DataFolder = None,
    runs: RunsFolder = None,
) -> None:
    """Add your own data: images in class folders as a data set, or precomputed embeddings as a run.

    Embeddings are npy, npz, csv, tsv or parquet files; labels are a column named label, or a separate file.
    """
    if path.suffix.lower() in EMBEDDING_SUFFIXES and path.is_file():
        _import_embeddings(path, labels, title or path.stem, Runs(runs_folder(runs)))
        return
    console = Console(highlight=False, soft_wrap=True)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("Reading", total=None)
        dataset = import_image_folder(
            path,
            title=title,
            side=side,
            color=color,
            progress=lambda done, of: progress.update(task, completed=done, total=of),
        )
    _print_report(dataset, console)
    print(dataset.save(data_root(data)))


@app.command()
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="data set ID (see `dmlviz data list`)")],
    data: DataFolder = None,
) -> None:
    """Remove your own data set; runs trained on it stay, without images."""
    custom_datasets.remove(data_root(data), name)


def _print_report(dataset: ImportedDataset, console: Console) -> None:
    console.print(f"{dataset.declared.title}: {dataset.declared.summary}", markup=False)
    table = Table("class", "training images", "test images", box=None, pad_edge=False)
    for row in dataset.report["classes"]:
        table.add_row(row["name"], f"{row['train']:,}", f"{row['test']:,}")
    console.print(table)
    for line in [*dataset.report["notes"], *dataset.report["warnings"]]:
        console.print(line, markup=False)
    for skipped in dataset.report["left_out"]:
        names = ", ".join(skipped["names"][:3])
        console.print(f"Skipped: {skipped['count']:,}, {skipped['reason']} ({names})", markup=False)


def _import_embeddings(path: Path, labels: Path | None, title: str, runs: Runs) -> None:
    from dmlviz.data.embedding_file import read_embeddings
    from dmlviz.runs.import_embeddings import import_embeddings

    vectors = read_embeddings(path, labels)
    limit_to_one_thread()
    run = import_embeddings(runs, vectors, title)
    n, d = vectors.embeddings.shape
    print(f"{run.title}: {n:,} embeddings, {d}-d, {len(vectors.classes)} classes, imported as a run without a model")
    print(run.path)
