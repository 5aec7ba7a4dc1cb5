"""`dmlviz place`: new images over the map of a run, with a test whether they come from the same cloud."""

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
from dmlviz.runs.gallery import read_named
from dmlviz.runs.new_batch import SHOWN, NewBatch, images_of, place, sentences
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command("place")
def command(
    run: RunId,
    what: Annotated[
        list[str],
        typer.Argument(metavar="FILE|DATASET…", help="pictures, zips or folders of NAME/FILE, or names of data sets"),
    ],
    view: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="projection (method or ID, drawn if need be; default: the run's own view)"),
    ] = None,
    json_file: JsonFile = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Lay new images over the map of a run, which stays, and compare them with its test images.

    A second data set, camera or year, today's pictures: a nearest-neighbor two-sample test for all and for each class,
    those that drifted first, and the images that nothing is near to. Exits with 1 if a file could not be read.
    """
    root = data_root(data)
    DATASETS.add_search_path(root)
    store = Runs(runs_folder(runs))
    source = store.find(run)
    images, names, titles, failures = _read(source, what, root)
    if not images:
        raise UserError("\n".join(failures) or "There is no picture in what was given.")
    batch = place(source, np.stack(images), names, finished_projection(source, view, store))
    write_results(json_file, _as_json(source, batch, titles))
    _print(source, batch, titles, console_beside(json_file))
    for failure in failures:
        Console(stderr=True, highlight=False).print(failure, soft_wrap=True, markup=False)
    if failures:
        raise typer.Exit(1)


def _read(run: Run, what: list[str], root: Path) -> tuple[list[np.ndarray], list[str], list[str], list[str]]:
    """Return images, class names, what each is called, and why others could not be read."""
    images, names, titles, failures = list[np.ndarray](), list[str](), list[str](), list[str]()
    for given in what:
        word = given if Path(given).exists() else DATASETS.find(given)
        if word in DATASETS:
            own_images, own_names = images_of(run, word, root)
            images += [*own_images]
            names += own_names
            titles += [f"{word} {number}" for number in range(len(own_images))]
        elif not Path(word).exists():
            failures.append(f"{word}: There is no such file, and no data set of this name.")
        else:
            pictures = [*read_named(run, Path(word))]
            if not pictures:
                failures.append(f"{word}: There is no picture in it.")
            for path, name, image in pictures:
                if isinstance(image, UserError):
                    failures.append(f"{path}: {image}")
                    continue
                images.append(image)
                names.append(name)
                titles.append(path)
    return images, names, titles, failures


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
        table = Table("class", "new", "test", "own side", "p", "p (Holm)", box=None, pad_edge=False)
        for one in batch.classes:
            n, m = one.test.sizes
            cells = f"{m:,}", f"{n:,}", f"{one.test.share:.1%}", f"{one.test.p:.2g}", f"{one.p:.2g}"
            table.add_row(classes[one.label], *cells)
        console.print(table, markup=False)
