"""`dmlviz clean`: find what may be wrong with the training data of a run, and correct it in an overlay."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import DataFolder, RunId, RunsFolder, single_command_app
from dmlviz.data import data_root
from dmlviz.data.corrections import Corrections, load_corrections
from dmlviz.errors import UserError
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()
KINDS = {
    "suspect": "suspect labels",
    "duplicate": "near duplicates",
    "leak": "leaks between training and test images",
    "outlier": "outliers",
}


@app.command()
def clean(
    run: RunId,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="rows to list of each kind")] = 20,
    relabel: Annotated[
        list[str] | None,
        typer.Option(metavar="IMAGE=CLASS", help="give a training image another label; repeatable"),
    ] = None,
    exclude: Annotated[list[int] | None, typer.Option(metavar="IMAGE", help="leave it out; repeatable")] = None,
    confirm: Annotated[list[int] | None, typer.Option(metavar="IMAGE", help="its label is right; repeatable")] = None,
    undo: Annotated[list[int] | None, typer.Option(metavar="IMAGE", help="take a decision back; repeatable")] = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """List the training images of a run that a person should look at, or decide about some.

    Decisions are kept beside the data, in the folder `corrections` of the data folder; the data stay as they are. Train
    with them by `dmlviz train --corrections latest`. The page Clean of the app shows the pictures.
    """
    root = data_root(data)
    DATASETS.add_search_path(root)
    selected, console = Runs(runs_folder(runs)).find(run), Console(highlight=False, soft_wrap=True)
    decisions: list[tuple[int, str, int | None]] = [(image, "exclude", None) for image in exclude or []]
    decisions += [(image, "confirm", None) for image in confirm or []]
    decisions += [(image, "undo", None) for image in undo or []]
    decisions += [_read(text, DATASETS[selected.config.dataset].classes) for text in relabel or []]
    if not decisions:
        _list(selected, top, console, root)
        return
    corrections = load_corrections(root, selected.config.dataset)
    classes = len(DATASETS[selected.config.dataset].classes)
    for image, action, label in decisions:
        corrections = corrections.decide(image, action, classes, label)
    corrections.save(root)
    console.print(_summary(corrections))


def _read(text: str, classes: tuple[str, ...]) -> tuple[int, str, int | None]:
    image, _, name = text.partition("=")
    if not image.isdigit() or name not in classes:
        raise UserError(f"--relabel takes IMAGE=CLASS, e.g. --relabel 17={classes[0]}; got {text[:60]!r}.")
    return int(image), "relabel", classes.index(name)


def _list(run: Run, top: int, console: Console, root: Path) -> None:
    from dmlviz.cleaning.findings import find

    limit_to_one_thread()
    findings = find(run, root, lambda stage: console.print(f"{stage} …"))
    classes = DATASETS[run.config.dataset].classes
    nets = f"{len(findings.steps)} nets, of steps {', '.join(map(str, findings.steps))}"
    console.print(f"{run.title}: {findings.images:,} training images, embedded by {nets}")
    if findings.uncompared:
        console.print(f"In classes of 1 or 2 images, {findings.uncompared:,} labels were not compared with neighbors")
    for kind, title in KINDS.items():
        rows = [row for row in findings.rows if row.kind == kind]
        console.print(f"\n{title}: {len(rows)}")
        table = Table("image", "label", "perhaps", "", box=None, pad_edge=False)
        for row in rows[:top]:
            suggestion = "" if row.suggestion is None else classes[row.suggestion]
            table.add_row(str(row.image), classes[row.label], suggestion, row.reason)
        if rows:
            console.print(table)


def _summary(corrections: Corrections) -> str:
    actions = [correction.action for correction in corrections.images.values()]
    relabeled, excluded = actions.count("relabel"), actions.count("exclude")
    return (
        f"{corrections.dataset}: {relabeled} relabeled, {excluded} excluded, {actions.count('confirm')} confirmed. "
        "Train with them by --corrections latest."
    )
