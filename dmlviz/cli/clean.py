"""`dmlviz clean`: find possible faults in training data or own vectors, and correct them in an overlay."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cleaning.decisions import correct
from dmlviz.cleaning.findings import Finding, Findings
from dmlviz.cli import DataFolder, JsonFile, RunId, RunsFolder, console_beside, single_command_app, write_results
from dmlviz.data import data_root, load
from dmlviz.data.corrections import Correction, Corrections, load_corrections
from dmlviz.errors import UserError
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()
KINDS = {
    "suspect": "suspect labels",
    "ambiguous": "ambiguous over the training",
    "duplicate": "near duplicates",
    "leak": "leaks between training and test images",
    "outlier": "outliers",
    "decided": "decided about, in none of these lists",
}


@app.command()
def clean(
    run: RunId,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="rows to list of each kind")] = 20,
    everything: Annotated[
        bool, typer.Option("--all", help="list images that were decided about, too, with the decision")
    ] = False,
    table: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="write all rows to a file")] = None,
    relabel: Annotated[
        list[str] | None,
        typer.Option(metavar="IMAGE=CLASS", help="give a training image another label; repeatable"),
    ] = None,
    exclude: Annotated[list[int] | None, typer.Option(metavar="IMAGE", help="leave it out; repeatable")] = None,
    confirm: Annotated[list[int] | None, typer.Option(metavar="IMAGE", help="its label is right; repeatable")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="IMAGE=WORD", help="remember it by a word; repeatable")
    ] = None,
    undo: Annotated[list[int] | None, typer.Option(metavar="IMAGE", help="take a decision back; repeatable")] = None,
    json_file: JsonFile = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """List the training images of a run that a person should look at, or decide about some.

    Of own vectors (an imported table, a recording) the rows are listed, by their neighbors; then IMAGE is the number of
    a row. Decisions are kept beside the data, in the folder `corrections` of the data folder; the data stay as they
    are. Train with them by `dmlviz train --corrections latest`. The page Clean of the app shows the pictures.
    """
    root = data_root(data)
    DATASETS.add_search_path(root)
    source, console = Runs(runs_folder(runs)).find(run), console_beside(json_file, soft_wrap=True)
    dataset = source.config.dataset
    if relabel or exclude or confirm or tag or undo:
        corrections = correct(
            source,
            relabel=_pairs("--relabel", "CLASS", DATASETS[dataset].classes[0], relabel),
            exclude=exclude or (),
            confirm=confirm or (),
            tag=_pairs("--tag", "WORD", "torn", tag),
            undo=undo or (),
            data=root,
        )
        console.print(_summary(corrections, DATASETS[dataset].trainable), markup=False)
        if table is None and json_file is None:
            return
    _look(source, root, console, top, everything, table, json_file)


def _pairs(option: str, value: str, example: str, texts: Sequence[str] | None) -> dict[int, str]:
    """Read IMAGE=VALUE of an option that may be repeated, each image once."""
    pairs: dict[int, str] = {}
    for text in texts or ():
        image, _, word = text.partition("=")
        if not image.isdecimal() or not word.strip():
            raise UserError(f"{option} takes IMAGE={value}, e.g. {option} 17={example}; got {text[:60]!r}.")
        if pairs.setdefault(int(image), word) != word:
            raise UserError(f"{option} takes each image once; got {word[:40]!r} and {pairs[int(image)][:40]!r}.")
    return pairs


def _look(
    run: Run, root: Path, console: Console, top: int, everything: bool, table: Path | None, json_file: Path | None
) -> None:
    from dmlviz.cleaning.search import find

    limit_to_one_thread()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("", total=1)
        findings = find(run, root, lambda words, share: progress.update(bar, description=words, completed=share))
    corrections = load_corrections(root, run.config.dataset)
    own, said = findings.of_vectors, DATASETS[findings.dataset].said
    if everything:
        labels = run.known_labels if own else load(run.config.dataset, root).train.labels
        view = findings.with_decided(corrections, labels)
    else:
        view = findings.undecided(corrections)
    console.print("\n".join([f"{run.title}: {findings.about}", *findings.notes]), markup=False)
    if findings.recall < 1:
        console.print(
            f"Neighbors by an index: at least {int(100 * findings.recall)}% of them are the nearest"
            + ("" if own else ", by any of the nets")
        )
    if findings.uncompared:
        few = f"In classes of 1 or 2 images, {findings.uncompared:,} labels were not compared with neighbors"
        console.print(said(few))
    if left_out := len(findings.rows) - len(view.rows):
        console.print(f"Rows left out, already decided: {left_out:,}; --all lists them too")
    if json_file is not None:
        write_results(json_file, view.table(corrections).to_pylist())
    if table is not None:
        view.to_csv(table, corrections)
        console.print(f"{len(view.rows):,} rows written to {table}", markup=False)
        return
    absent = ("decided", "leak") if own else ("decided",)
    for kind, title in KINDS.items():
        rows = [row for row in view.rows if row.kind == kind]
        if rows or kind not in absent:
            console.print(said(f"\n{title}: {len(rows)}"))
        if rows:
            console.print(_sheet(view, rows[:top], corrections))


def _sheet(findings: Findings, rows: Sequence[Finding], corrections: Corrections) -> Table:
    classes = DATASETS[findings.dataset].classes
    sheet = Table(DATASETS[findings.dataset].noun, "label", "perhaps", "", "", box=None, pad_edge=False)
    for row in rows:
        suggestion = "" if row.suggestion is None else classes[row.suggestion]
        decision = _decision(corrections.images.get(row.image), classes)
        sheet.add_row(*(Text(cell) for cell in (str(row.image), classes[row.label], suggestion, row.reason, decision)))
    return sheet


def _decision(decision: Correction | None, classes: tuple[str, ...]) -> str:
    """Return what was decided in words, as the page Clean says it."""
    if decision is None:
        return ""
    words = {"confirm": "label confirmed", "exclude": "excluded", "tag": ""}.get(decision.action)
    words = f"is {classes[decision.label or 0]}" if words is None else words
    return " · ".join(part for part in (words, f"“{decision.tag}”" if decision.tag else "") if part)


def _summary(corrections: Corrections, trainable: bool) -> str:
    actions: list[str] = [correction.action for correction in corrections.images.values()]
    counts = {"relabeled": "relabel", "excluded": "exclude", "confirmed": "confirm"}
    parts = [f"{actions.count(action)} {name}" for name, action in counts.items()]
    parts += [f"{sum(bool(one.tag) for one in corrections.images.values())} tagged"]
    further = "Train with them by --corrections latest." if trainable else "Write them to a file by --all --csv FILE."
    return f"{corrections.dataset}: {', '.join(parts)}. {further}"
