"""`dmlviz place`: new images over the map of a run, with a test whether they come from the same cloud."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import DataFolder, RunId, RunsFolder, single_command_app
from dmlviz.cli.export import finished_projection
from dmlviz.data import data_root, load
from dmlviz.data.class_names import short_names
from dmlviz.errors import UserError
from dmlviz.metrics.two_sample import TwoSampleTest
from dmlviz.runs.gallery import read_named
from dmlviz.runs.new_batch import FAR, NewBatch, place
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder
from dmlviz.storage.files import atomic_write
from dmlviz.storage.text import counted

app = single_command_app()
SHOWN = 10  # far images
SURE, ALIKE, LITTLE = 0.05, 0.99, 0.55  # p-values; share of neighbors of one's own side


@app.command("place")
def command(
    run: RunId,
    what: Annotated[
        list[str],
        typer.Argument(metavar="FILE|DATASET…", help="pictures, zips or folders of NAME/FILE, or names of data sets"),
    ],
    view: Annotated[
        str | None, typer.Option(metavar="NAME", help="projection (method or ID; default: the run's own view)")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write all results here")] = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Lay new images over the map of a run, which stays, and compare them with its test images.

    A second data set, camera or year, today's pictures: a nearest-neighbor two-sample test for all and for each class,
    those that drifted first, and the images that nothing is near to. Exits with 1 if a file could not be read.
    """
    root = data_root(data)
    DATASETS.add_search_path(root)
    source = Runs(runs_folder(runs)).find(run)
    images, names, titles, failures = _read(source, what, root)
    if not images:
        raise UserError("\n".join(failures) or "There is no picture in what was given.")
    batch = place(source, np.stack(images), names, finished_projection(source, view))
    if json_file is not None:
        with atomic_write(json_file) as file:
            file.write(json.dumps(_as_json(source, batch, titles), indent=1, ensure_ascii=False).encode())
    _print(source, batch, titles)
    for failure in failures:
        Console(stderr=True, highlight=False).print(failure, soft_wrap=True, markup=False)
    if failures:
        raise typer.Exit(1)


def _read(run: Run, what: list[str], root: Path) -> tuple[list[np.ndarray], list[str], list[str], list[str]]:
    """Return images, class names, what each is called, and why others could not be read."""
    images, names, titles, failures = list[np.ndarray](), list[str](), list[str](), list[str]()
    own = DATASETS[run.config.dataset]
    for word in what:
        if word in DATASETS:
            spec = DATASETS[word]
            if word == own.name:
                raise UserError(f"{spec.title} is what the map shows: give another data set, or files.")
            if (spec.size, spec.channels) != (own.size, own.channels):
                raise UserError(
                    f"{run.title} takes images of {_shape(own)}; those of {spec.title} have {_shape(spec)}: give them "
                    "as files, which are prepared."
                )
            part = load(word, root).test
            images += [*part.images]
            names += [spec.classes[label] if label >= 0 else "" for label in part.labels]
            titles += [f"{word} {number}" for number in range(len(part.images))]
        elif not Path(word).exists():
            failures.append(f"{word}: There is no such file, and no data set of this name.")
        else:
            for path, name, image in read_named(run, Path(word)):
                if isinstance(image, UserError):
                    failures.append(f"{path}: {image}")
                    continue
                images.append(image)
                names.append(name)
                titles.append(path)
    return images, names, titles, failures


def _shape(spec: Any) -> str:
    return f"{spec.size} × {spec.size} pixels in {'color' if spec.channels == 3 else 'gray'}"


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


def _verdict(test: TwoSampleTest) -> str:
    if test.p > ALIKE:
        verdict = "They are nearer to the test images than chance allows: perhaps these once more, changed"
    elif test.p > SURE:
        verdict = "Nothing says that they are of another cloud"
    else:
        is_little = test.share < LITTLE and min(test.sizes) > 0.2 * max(
            test.sizes
        )  # few among many are hardly neighbors
        verdict = "They are of another cloud" + (", by very little" if is_little else "")
    own = f"{test.share:.1%} of the nearest neighbors are of one's own side, 50 % for one cloud"
    return f"{verdict}: {own} (p {test.p:.2g})."


def _print(run: Run, batch: NewBatch, titles: list[str]) -> None:
    console, classes = Console(highlight=False), short_names(DATASETS[run.config.dataset].classes)
    old = 0 if run.labels is None else len(run.labels)
    lines = [f"{counted(len(titles), 'new image')} over the {old:,} test images of {run.title}."]
    if batch.overall is None:
        lines.append("Too few images for a test: it needs five.")
    else:
        lines.append(_verdict(batch.overall))
    for line in lines:
        console.print(line, soft_wrap=True, markup=False)
    if batch.classes:
        table = Table("class", "new", "test", "own side", "p", "p (Holm)", box=None, pad_edge=False)
        for one in batch.classes:
            n, m = one.test.sizes
            cells = f"{m:,}", f"{n:,}", f"{one.test.share:.1%}", f"{one.test.p:.2g}", f"{one.p:.2g}"
            table.add_row(classes[one.label], *cells)
        console.print(table, markup=False)
        if not batch.labeled:
            console.print("An image is counted for the class of the test images nearest to it.", soft_wrap=True)
    if batch.unknown:
        console.print(f"{counted(batch.unknown, 'image')} without a class of the run.", soft_wrap=True)
    console.print(
        f"{counted(len(batch.far), 'image')} farther than {batch.limit:.3g} from all test images, as 1 % of these are "
        f"from each other: {(1 - FAR) * len(titles):.3g} would be usual.",
        soft_wrap=True,
    )
    for row in batch.far[:SHOWN]:
        console.print(f"  {titles[row]}: {batch.distances[row]:.3g}", soft_wrap=True, markup=False)
    if len(batch.far) > SHOWN:
        console.print(f"  and {len(batch.far) - SHOWN:,} more: --json lists all.")
