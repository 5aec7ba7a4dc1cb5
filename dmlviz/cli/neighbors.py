"""`dmlviz neighbors`: nearest test images, of one or of all."""

import math
import sys
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from rich.table import Table

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import JsonFile, RunId, RunsFolder, console_beside, single_command_app, write_results
from dmlviz.data.class_names import UNLABELED
from dmlviz.errors import UserError
from dmlviz.runs.neighbor_table import NEIGHBORS
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder
from dmlviz.storage.files import atomic_write

app = single_command_app()


@app.command()
def neighbors(
    run: RunId,
    item: Annotated[
        int | None, typer.Argument(metavar="[IMAGE]", min=0, help="test image index, from 0; without it, all images")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="number of neighbors")] = NEIGHBORS,
    metric: Annotated[Literal["euclidean", "cosine"], typer.Option(help="distance metric")] = "euclidean",
    out: Annotated[
        Path | None, typer.Option(help="npz file for the 10 nearest of all: indices, distances, recall, measured")
    ] = None,
    runs: RunsFolder = None,
    json_file: JsonFile = None,
) -> None:
    """List the nearest neighbors of a test image in a run's embedding, excluding the image itself.

    Without IMAGE, find the 10 nearest of every image by Euclidean distance, above 50,000 images by an index.
    """
    source = Runs(runs_folder(runs)).find(run)
    if item is None:
        if (k, metric) != (NEIGHBORS, "euclidean"):
            raise UserError(
                f"Without IMAGE the {NEIGHBORS} nearest of each are found, by Euclidean distance: name an image."
            )
        if json_file is not None:
            raise UserError("--json is for the neighbors of one image: name it, or take --out for those of all.")
        _all_neighbors(source, out)
        return
    if out is not None:
        raise UserError("--out is for the neighbors of all images: leave out the number of the image.")
    if source.embeddings is None:
        print(source.lacks("embeddings of all test images"), file=sys.stderr)
        if not source.snapshot_steps:
            raise typer.Exit(1)
        step = source.snapshot_steps[-1]
        print(f"These are neighbors among the tracked images at step {step:,}, its last snapshot.", file=sys.stderr)
    nearest = source.neighbors(item, k, metric=metric)
    spec = DATASETS[source.config.dataset]
    classes, labels = spec.classes, source.labels
    if labels is None:
        raise UserError(f"{source.title} has no embeddings yet.")
    query_class = classes[int(labels[item])]
    console = console_beside(json_file)
    console.print(
        f"{source.title}: nearest to {spec.said('test image')} {item:,}, class {query_class}, by {metric} distance",
        soft_wrap=True,
        markup=False,
    )
    table = Table(spec.said("image"), "class", "distance", "", box=None, pad_edge=False)
    for neighbor in nearest:
        name = classes[neighbor.label]
        note = "" if name == query_class or UNLABELED in (name, query_class) else "another class"
        table.add_row(str(neighbor.item), name, f"{neighbor.distance:.4f}", note)
    console.print(table)
    write_results(json_file, [one._asdict() | {"class": classes[one.label]} for one in nearest])


def _all_neighbors(run: Run, out: Path | None) -> None:
    table, labels, said = run.all_neighbors(), run.known_labels, DATASETS[run.config.dataset].said
    n, k = table.indices.shape
    nearest = labels[table.indices[:, 0]]
    known = (labels >= 0) & (nearest >= 0)
    how = "exact search"
    if table.measured:
        right = f"{math.floor(1000 * table.recall) / 10:g}% of them are right"
        how = f"an index; {right}, measured on {table.measured:,} {said('images')}"
    print(f"{run.title}: the {k} nearest of {n:,} {said('test images')}, by {how}.")
    if known.any():
        of = "" if known.all() else f"{known.sum():,} "
        where = "" if known.all() else " that have a class, as their neighbors have"
        wrong = (nearest != labels)[known].mean()
        print(f"Nearest neighbor of another class: {wrong:.1%} of the {of}{said('images')}{where}.")
    if out is not None:
        with atomic_write(out) as file:
            np.savez(file, **table._asdict())
        print(f"Written: {out}")
