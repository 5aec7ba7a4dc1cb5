"""`dmlviz neighbors`: nearest test images."""

from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import RunId, RunsFolder, single_command_app
from dmlviz.errors import UserError
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command()
def neighbors(
    run: RunId,
    item: Annotated[int, typer.Argument(metavar="IMAGE", min=0, help="test image index, from 0")],
    k: Annotated[int, typer.Option("-k", min=1, help="number of neighbors")] = 10,
    metric: Annotated[Literal["euclidean", "cosine"], typer.Option(help="distance metric")] = "euclidean",
    runs: RunsFolder = None,
) -> None:
    """List the nearest neighbors of a test image in a run's embedding, excluding the image itself."""
    selected = Runs(runs_folder(runs)).find(run)
    nearest = selected.neighbors(item, k, metric=metric)
    classes, labels = DATASETS[selected.config.dataset].classes, selected.labels
    if labels is None:
        raise UserError(f"{selected.title} has no embeddings yet.")
    query_class = classes[int(labels[item])]
    console = Console(highlight=False)
    console.print(
        f"{selected.title}: nearest to test image {item}, class {query_class}, by {metric} distance", soft_wrap=True
    )
    table = Table("image", "class", "distance", "", box=None, pad_edge=False)
    for neighbor in nearest:
        name = classes[neighbor.label]
        note = "" if name == query_class else "another class"
        table.add_row(str(neighbor.item), name, f"{neighbor.distance:.4f}", note)
    console.print(table)
