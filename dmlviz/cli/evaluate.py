"""`dmlviz evaluate`: a run in numbers."""

from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import RunsFolder, single_command_app
from dmlviz.errors import UserError
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command()
def evaluate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="the run's 16 digits, as `dmlviz runs` lists them")],
    runs: RunsFolder = None,
    confusion: Annotated[
        bool, typer.Option("--confusion", help="also whose nearest neighbor is of which class")
    ] = False,
) -> None:
    """Score a run's embeddings of all test images against each other: retrieval, clustering, verification, space."""
    from dmlviz import metrics

    chosen = Runs(runs_folder(runs)).get(run)
    embeddings, labels = chosen.embeddings, chosen.labels
    if embeddings is None or labels is None:
        raise UserError(f"{chosen.title} has no embeddings yet; they are written when its training ends.")
    console = Console(highlight=False)
    console.print(f"{chosen.title}: {len(labels):,} test images in {embeddings.shape[1]} dimensions", soft_wrap=True)
    console.print(_scores(metrics.evaluate(embeddings, labels, unseen=chosen.config.held_out_classes)))
    if confusion:
        names, counts = metrics.confusion(embeddings, labels)
        console.print(_confusion([DATASETS[chosen.config.dataset].classes[name] for name in names], counts))


def _scores(scores: dict[str, float]) -> Table:
    """A row for each metric; where classes were unseen, columns for all images, for seen and for unseen ones."""
    groups = list(dict.fromkeys(key.split("/")[0] for key in scores if "/" in key))
    table = Table(box=None, show_header=bool(groups), pad_edge=False)
    table.add_column("")
    for name in ("all classes", *(f"{group} classes" for group in groups)):
        table.add_column(name, justify="right")
    for key in (key for key in scores if "/" not in key):
        table.add_row(key, *(_number(key, scores[name]) for name in (key, *(f"{group}/{key}" for group in groups))))
    return table


def _number(key: str, value: float) -> str:
    return f"{value:,.0f}" if value == round(value) and "queries" in key else f"{value:.4f}"


def _confusion(names: list[str], counts: np.ndarray) -> Table:
    table = Table(box=None, pad_edge=False, title="class (row) of the query, class (column) of its nearest neighbor")
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")
    for name, row in zip(names, counts, strict=True):
        table.add_row(name, *(str(count) if count else "·" for count in row))
    return table
