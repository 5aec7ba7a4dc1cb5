"""`dmlviz place`: new images over the map of a run, with a test whether they come from the same cloud."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import DataFolder, JsonFile, RunId, RunsFolder, console_beside, single_command_app, write_results
from dmlviz.cli.export import finished_projection
from dmlviz.data import data_root
from dmlviz.data.class_names import short_names
from dmlviz.errors import UserError
from dmlviz.runs.new_batch import SHOWN, NewBatch, images_of, of_file, place, place_embeddings, sentences
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command("place")
def command(
    run: RunId,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|DATASET…",
            help="pictures, arrays of them, zips or folders of NAME/FILE, data sets; tables over a table",
        ),
    ],
    view: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="projection (method or ID, drawn if need be; default: the run's own view)"),
    ] = None,
    json_file: JsonFile = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Lay new images, or rows of a table over those of another, on a run's map, which stays, and compare the two.

    A second data set, camera or year, today's pictures: a nearest-neighbor two-sample test for all and for each class,
    those that drifted first, and the images that nothing is near to. Exits with 1 if a file could not be read.
    """
    root = data_root(data)
    DATASETS.add_search_path(root)
    store = Runs(runs_folder(runs))
    source = store.find(run)
    found, names, titles, said, failures = _read(source, what, root)
    _note(said)
    if not found:
        raise UserError("\n".join(failures))
    over = place if DATASETS[source.config.dataset].trainable else place_embeddings
    batch = over(source, np.stack(found), names, finished_projection(source, view, store))
    write_results(json_file, _as_json(source, batch, titles))
    _print(source, batch, titles, console_beside(json_file))
    _note(failures)
    if failures:
        raise typer.Exit(1)


def _read(run: Run, what: list[str], root: Path) -> tuple[list[Any], ...]:
    every: tuple[list[Any], ...] = [], [], [], [], []
    for given in what:
        word = given if Path(given).exists() else DATASETS.find(given)
        try:
            if word in DATASETS:
                images, names = images_of(run, word, root)
                titles = [f"{word} {number}" for number in range(len(images))]
                new: tuple[list[Any], ...] = [*images], names, titles, [], []
            elif Path(word).exists():
                new = of_file(run, Path(word))
            else:
                raise UserError(f"{word}: There is no such file, and no data set of this name.")
        except UserError as error:
            every[-1].append(str(error))
            continue
        for part, more in zip(every, new, strict=True):
            part.extend(more)
    return every


def _note(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        Console(stderr=True, highlight=False).print(sentence, soft_wrap=True, markup=False)


def _as_json(run: Run, batch: NewBatch, titles: list[str]) -> dict[str, Any]:
    classes = DATASETS[run.config.dataset].classes
    every = zip(titles, batch.labels, batch.places, batch.nearest, batch.distances, strict=True)
    return {
        "run": run.id,
        "overall": None if batch.overall is None else vars(batch.overall),
        "classes": [{"class": classes[one.label], **vars(one.test), "p_holm": one.p} for one in batch.classes],
        "labels": "given" if batch.labeled else "of the nearest test images",
        "far": {"limit": batch.limit, "images": [titles[row] for row in batch.far]},
        "images": [
            {
                "image": title,
                "class": classes[label] if label >= 0 else None,
                "place": place.tolist(),
                "nearest": int(nearest),
                "distance": float(distance),
            }
            for title, label, place, nearest, distance in every
        ],
    }


def _print(run: Run, batch: NewBatch, titles: list[str], console: Console) -> None:
    classes = short_names(DATASETS[run.config.dataset].classes)
    for sentence in sentences(run, batch):
        console.print(sentence, soft_wrap=True, markup=False)
    for row in batch.far[:SHOWN]:
        console.print(f"  {titles[row]}: {batch.distances[row]:.3g}", soft_wrap=True, markup=False)
    if len(batch.far) > SHOWN:
        console.print(f"  and {len(batch.far) - SHOWN:,} more: --json lists all.")
    if batch.classes:
        table = Table("class", "new", "map", "own side", "p", "p (Holm)", box=None, pad_edge=False)
        for one in batch.classes:
            n, m = one.test.sizes
            cells = f"{m:,}", f"{n:,}", f"{one.test.share:.1%}", f"{one.test.p:.2g}", f"{one.p:.2g}"
            table.add_row(classes[one.label], *cells)
        console.print(table, markup=False)
