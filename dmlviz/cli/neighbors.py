"""`dmlviz neighbors`: who is near whom."""

from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import RunsFolder, single_command_app
from dmlviz.errors import UserError
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command()
def neighbors(
    run: Annotated[str, typer.Argument(metavar="RUN", help="the run's 16 digits, as `dmlviz runs` lists them")],
    item: Annotated[int, typer.Argument(metavar="IMAGE", min=0, help="a test image, counted from 0")],
    k: Annotated[int, typer.Option("-k", min=1, help="how many")] = 10,
    metric: Annotated[Literal["euclidean", "cosine"], typer.Option(help="by which distance")] = "euclidean",
    runs: RunsFolder = None,
) -> None:
    """Name the test images nearest to one of them in a run's embedding, the image itself left out."""
    chosen = Runs(runs_folder(runs)).get(run)
    found = chosen.neighbors(item, k, metric=metric)
    classes, labels = DATASETS[chosen.config.dataset].classes, chosen.labels
    if labels is None:
        raise UserError(f"{chosen.title} has no embeddings yet.")
    own = classes[int(labels[item])]
    console = Console(highlight=False)
    console.print(f"{chosen.title}: nearest to test image {item}, class {own}, by {metric} distance", soft_wrap=True)
    table = Table("image", "class", "distance", "", box=None, pad_edge=False)
    for neighbor in found:
        name = classes[neighbor.label]
        table.add_row(str(neighbor.item), name, f"{neighbor.distance:.4f}", "" if name == own else "another class")
    console.print(table)
