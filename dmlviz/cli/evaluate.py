"""`dmlviz evaluate`: compute all metrics of a run."""

from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import RunId, RunsFolder, single_command_app
from dmlviz.errors import UserError
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command()
def evaluate(
    run: RunId,
    runs: RunsFolder = None,
    confusion: Annotated[bool, typer.Option("--confusion", help="also print the confusion matrix")] = False,
) -> None:
    """Compute all metrics of a run on its test images: retrieval, clustering, verification, embedding geometry."""
    from dmlviz import metrics

    selected = Runs(runs_folder(runs)).get(run)
    embeddings, labels = selected.embeddings, selected.labels
    if embeddings is None or labels is None:
        raise UserError(f"{selected.title} has no embeddings yet: wait until training has finished.")
    console = Console(highlight=False)
    console.print(f"{selected.title}: {len(labels):,} test images in {embeddings.shape[1]} dimensions", soft_wrap=True)
    scores = metrics.evaluate(embeddings, labels, unseen=selected.config.held_out_classes)
    # What needs the weights of the loss was computed at the end of the training.
    console.print(_score_table(scores | {key: value for key, value in selected.metrics.items() if key not in scores}))
    if confusion:
        names, counts = metrics.confusion(embeddings, labels)
        console.print(_confusion_table([DATASETS[selected.config.dataset].classes[name] for name in names], counts))


def _score_table(scores: dict[str, float]) -> Table:
    """Return one row per metric; with held-out classes, one column each for all, seen and unseen classes."""
    groups = list(dict.fromkeys(key.split("/")[0] for key in scores if "/" in key))
    table = Table(box=None, show_header=bool(groups), pad_edge=False)
    table.add_column("")
    for name in ("all classes", *(f"{group} classes" for group in groups)):
        table.add_column(name, justify="right")
    for key in (key for key in scores if "/" not in key):
        table.add_row(
            key, *(_format_score(key, scores[name]) for name in (key, *(f"{group}/{key}" for group in groups)))
        )
    return table


def _format_score(key: str, value: float) -> str:
    return f"{value:,.0f}" if value == round(value) and "queries" in key else f"{value:.4f}"


def _confusion_table(names: list[str], counts: np.ndarray) -> Table:
    table = Table(box=None, pad_edge=False, title="rows: true class; columns: class of the nearest neighbor")
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")
    for name, row in zip(names, counts, strict=True):
        table.add_row(name, *(str(count) if count else "·" for count in row))
    return table
