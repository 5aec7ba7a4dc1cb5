"""`dmlviz data`: list, add and remove data sets."""

from pathlib import Path
from typing import Annotated, Self

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from dmlviz.catalog.backbones import BACKBONES
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.nets import nets_for
from dmlviz.cli import (
    NUM_PROGRESS_LINES,
    DataFolder,
    JsonFile,
    RunsFolder,
    console_beside,
    single_command_app,
    write_results,
)
from dmlviz.data import available_datasets, data_root, dataset_note, load
from dmlviz.data.backbone_weights import remove_dataset
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.data.image_folder import Color
from dmlviz.data.import_path import import_path
from dmlviz.data.import_report import ImportedDataset
from dmlviz.data.table_file import Choice, name_stem
from dmlviz.data.table_limits import check_size
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


def _complete_dataset(context: typer.Context) -> list[str]:
    return available_datasets(context.params.get("data"))


DatasetName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="name or title of a data set (see `dmlviz data list`)",
        autocompletion=_complete_dataset,
    ),
]
MAX_CLASS_ROWS = 20  # of a report
LabelColumn = Annotated[str | None, typer.Option(metavar="COLUMN", help="the class (default: a column named label)")]
ImageColumn = Annotated[str | None, typer.Option(metavar="COLUMN", help="images: bytes, or paths beside the table")]
VectorColumns = Annotated[
    str,
    typer.Option(
        metavar="COLUMNS", help="one column of lists, or one per dimension: x,y for a map; emb_* for a series"
    ),
]
MissingLabels = Annotated[str, typer.Option(metavar="WORDS", help="labels that stand for none: NA,?")]
WithImages = Annotated[bool, typer.Option("--images/--no-images", help="read the images beside vectors")]


@app.command("list")
def list_datasets(data: DataFolder = None, json_file: JsonFile = None) -> None:
    """List all data sets: those on disk or made from those, and those that are downloaded when first used."""
    root = data_root(data)
    DATASETS.add_search_path(root)
    available = available_datasets(root)
    table = Table("name", "title", "", box=None, pad_edge=False)
    names = [*available, *(name for name in DATASETS.builtin if name not in available)]
    rows = [(name, DATASETS[name].title, dataset_note(name, root)) for name in names]
    for row in rows:
        table.add_row(*row)
    console_beside(json_file).print(table)
    write_results(json_file, [dict(zip(("name", "title", "note"), row, strict=True)) for row in rows])


@app.command()
def add(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="folder or zip of images, a table (csv, json, parquet), or embeddings"),
    ],
    title: Annotated[str, typer.Option(metavar="TEXT", help="title (default: file name)")] = "",
    side: Annotated[int | None, typer.Option(metavar="N", help="image size in pixels (8 to 224)")] = None,
    color: Annotated[Color, typer.Option(help="color mode; auto = grayscale if all images are")] = "auto",
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="separate label file for embeddings")] = None,
    label: LabelColumn = None,
    image: ImageColumn = None,
    vector: VectorColumns = "",
    missing: MissingLabels = "",
    images: WithImages = True,
    folder_level: Annotated[
        int | None, typer.Option(metavar="N", help="level of folders that are the classes, from 1 (default: found)")
    ] = None,
    points: Annotated[bool, typer.Option("--points", help="train on the points of a table of x, y and label")] = False,
    data: DataFolder = None,
    runs: RunsFolder = None,
) -> None:
    """Add your own data: images as a data set to train on, or precomputed embeddings as a run.

    Images: one subfolder per class or file names that begin with it (cat_1.jpg), a table with a column of paths or
    bytes, or the folder of CUB-200-2011, Cars196, Stanford Online Products, In-Shop, Market-1501 or VeRi. Embeddings:
    npy, npz, or a table with a column of lists or one column per dimension; labels are optional. All other columns
    are kept to color and search by.
    """
    choice = Choice(split_names(vector), label, image, split_names(missing), images, folder_level, points)
    add_data(path, title, choice, labels, side, color, data, runs)


def add_data(
    path: Path,
    title: str,
    choice: Choice,
    labels: Path | None,
    side: int | None,
    color: Color,
    data: Path | None,
    runs: Path | None,
) -> Run | str:
    """Import data and print the report; return the run of embeddings, or the name of a data set of images."""
    console = Console(highlight=False, soft_wrap=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Reading", total=None)
        result = import_path(
            path,
            title=title,
            labels=labels,
            choice=choice,
            side=side,
            color=color,
            progress=lambda done, of: progress.update(task, completed=done, total=of),
        )
    if isinstance(result, LabeledEmbeddings):
        return _save_embeddings(result, title or name_stem(path), Runs(runs_folder(runs)), data_root(data))
    _print_report(result, console)
    name = result.save(data_root(data))
    DATASETS.add_search_path(data_root(data))
    if (known := DATASETS[name].title) != result.declared.title:
        console.print(f"These images are there already, as {known}: that stays its title.", markup=False)
    print(name)
    return name


@app.command()
def features(
    name: DatasetName,
    backbone: Annotated[str, typer.Option(metavar="NAME", help=f"{', '.join(BACKBONES)}, or timm:NAME")] = "resnet18",
    weights: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="its weights: safetensors or torch.save (default: they are downloaded)"),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="title (default: data set and backbone)")] = "",
    data: DataFolder = None,
) -> None:
    """Compute what a pretrained backbone makes of each image, as a data set that heads learn from in seconds.

    Ctrl-C stops; the same command goes on from there. The images stay to be seen, and a picture that a person brings
    goes through the backbone, too.
    """
    from dmlviz.nets.features import add_features

    console = Console(highlight=False, soft_wrap=True)
    with _FeaturesProgress(console) as progress:
        new_name = add_features(_find(name, data), backbone, weights=weights, title=title, data=data, progress=progress)
    spec = DATASETS[new_name]
    heads = " or ".join(f"--net {head}" for head in nets_for(spec))
    console.print(f"{spec.title}: {spec.summary}", markup=False)
    console.print(f"Train a head: dmlviz train --dataset {new_name} {heads}", markup=False)
    print(new_name)


class _FeaturesProgress:
    """Says how many images are done: a bar on a terminal, a few lines elsewhere, and a word after Ctrl-C."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("Features", total=None)
        self._done = self._of = self._lines = 0

    def __call__(self, done: int, of: int) -> None:
        self._done, self._of = done, of
        self._bar.update(self._task, completed=done, total=of)
        lines = NUM_PROGRESS_LINES * done // max(1, of)
        if lines > self._lines and not self._console.is_terminal:
            self._console.print(f"{done:,} of {of:,} images")
        self._lines = lines

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._bar.stop()
        if kind is KeyboardInterrupt:
            notice = (
                f"The features of {self._done:,} of {self._of:,} images are kept: the same command goes on from there."
            )
            self._console.print(notice if self._done else "Stopped before the first images were done.")
            raise typer.Exit(130)


@app.command()
def pixels(name: DatasetName, data: DataFolder = None, runs: RunsFolder = None) -> None:
    """Make a run of the pixels of all images of a data set, training and test images: for maps without a net."""
    import numpy as np
    import pyarrow

    root = data_root(data)
    dataset = load(_find(name, data), root)
    parts = {"training": dataset.train, "test": dataset.test}
    images = np.concatenate([split.images for split in parts.values()])
    check_size(dataset.name, len(images), images[0].size)
    vectors = LabeledEmbeddings(
        images.reshape(len(images), -1) / np.float32(255),
        np.concatenate([split.labels for split in parts.values()]),
        DATASETS[dataset.name].classes,
        pyarrow.table({"part": np.repeat([*parts], [len(split) for split in parts.values()])}),
        images,
    )
    _save_embeddings(vectors, f"Pixels of {DATASETS[dataset.name].title}", Runs(runs_folder(runs)), root)


@app.command()
def remove(
    name: DatasetName,
    data: DataFolder = None,
) -> None:
    """Remove your own data set; runs trained on it stay, without images.

    Weights of a backbone that no other data set needs go with it.
    """
    remove_dataset(data_root(data), _find(name, data))


def _find(name: str, data: Path | None) -> str:
    DATASETS.add_search_path(data_root(data))
    return DATASETS.find(name)


def _print_report(dataset: ImportedDataset, console: Console) -> None:
    console.print(f"{dataset.declared.title}: {dataset.declared.summary}", markup=False)
    said = dataset.declared.said
    table = Table("class", said("training images"), said("test images"), box=None, pad_edge=False)
    classes = dataset.report["classes"]
    for row in classes[:MAX_CLASS_ROWS]:
        table.add_row(Text(row["name"]), f"{row['train']:,}", f"{row['test']:,}")
    console.print(table)
    if len(classes) > MAX_CLASS_ROWS:
        console.print(f"… and {len(classes) - MAX_CLASS_ROWS:,} more classes")
    for line in dataset.report_lines:
        console.print(line, markup=False)


def split_names(columns: str) -> tuple[str, ...]:
    """Return the column names in a list with commas."""
    return tuple(name.strip() for name in columns.split(",") if name.strip())


def _save_embeddings(vectors: LabeledEmbeddings, title: str, runs: Runs, data: Path) -> Run:
    from dmlviz.runs.import_embeddings import import_embeddings, import_notes

    for line in import_notes(vectors):
        print(line)
    limit_to_one_thread()
    run = import_embeddings(runs, vectors, title, data)
    n, d = vectors.embeddings.shape
    classes = vectors.class_count or "no labels"
    print(f"{run.title}: {n:,} embeddings, {d}-d, {classes}, imported as a run without a model")
    print(run.path)
    return run
