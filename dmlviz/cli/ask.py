"""`dmlviz ask`: what a run's net says of pictures."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from dmlviz.cli import DataFolder, JsonFile, RunId, RunsFolder, console_beside, single_command_app, write_results
from dmlviz.data import data_root
from dmlviz.data.query_file import MAX_BYTES
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()
VERDICTS = {"sure": "known", "unsure": "unsure", "unlike": "unknown"}


@app.command()
def ask(
    run: RunId,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="pictures: PNG, JPEG, WebP, HEIC, …")],
    far: Annotated[
        float | None,
        typer.Option(
            metavar="RATE",
            help="false-accept rate of the threshold, as 0.001 for .1% (default: what is kept with the run, or 0.01)",
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="number of neighbors")] = 5,
    json_file: JsonFile = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Name each picture by the test images and kept pictures nearest to it, or say that it is unknown.

    Known: it is no farther from the nearest image than the threshold, and usual among the validation images. Unknown:
    it is farther, or stranger than 99% of them. Unsure: between the two. Exits with 1 if a file could not be read.
    """
    from dmlviz.runs.thresholds import RATE, kept_threshold, threshold
    from dmlviz.search_api.service import SearchService

    root = data_root(data)
    service = SearchService(Runs(runs_folder(runs)).find(run), None, root)
    console, kept = console_beside(json_file), None
    if far is None:
        try:
            kept = kept_threshold(service.run)
        except DamagedFileError as error:
            console.print(f"The kept threshold is left out: {error}", soft_wrap=True, markup=False)
    limit = kept
    try:
        limit = kept or threshold(service.run, RATE if far is None else far, root)
        said = (
            f"the same up to a distance of {limit.value:.3g} ({limit.interval[0]:.3g} to {limit.interval[1]:.3g}), at "
            f"which {limit.false_accept_rate:.2%} of {limit.pairs:,} pairs of different classes are accepted and "
            f"{limit.false_reject_rate:.1%} of pairs of one class rejected ({limit.basis})."
            f"{' It ' * bool(limit.doubt)}{limit.doubt}"
        )
    except UserError as error:
        if far is not None:
            raise
        said = f"No threshold, so the test images alone say what is unknown. {error}"
    answers: list[dict[str, Any]] = []
    for file in files:
        try:
            answers.append({"file": str(file), **_answer(service, file, k, limit)})
        except UserError as error:
            answers.append({"file": str(file), "error": str(error)})
    write_results(json_file, answers)
    console.print(f"{service.run.title}: {said}", soft_wrap=True, markup=False)
    if service.whose:
        console.print(service.whose)
    table = Table("file", "verdict", "name", "distance", "", box=None, pad_edge=False)
    for answer in answers:
        if "error" not in answer:
            name = answer["name"] or "–"
            table.add_row(answer["file"], answer["verdict"], name, f"{answer['distance']:.3g}", answer["reason"])
    if table.row_count:
        console.print(table, markup=False)
    failures = [answer for answer in answers if "error" in answer]
    for answer in failures:
        Console(stderr=True, highlight=False).print(
            f"{answer['file']}: {answer['error']}", soft_wrap=True, markup=False
        )
    if failures:
        raise typer.Exit(1)


def _answer(service: Any, file: Path, k: int, limit: Any) -> dict[str, Any]:
    try:
        with file.open("rb") as content:
            picture = content.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"The file cannot be read: {error.strerror}.") from None
    found = service.answer(picture, k, limit)
    confidence, name = found["confidence"], found["name"]
    verdict = VERDICTS[confidence["level"]] if name is None else "known"
    reason = confidence["sentence"] if name is None else "Near to a picture in the gallery."
    near = sorted([*found["gallery"], *found["neighbors"]], key=lambda one: one["distance"])[:k]
    return {
        "verdict": verdict,
        "name": None if verdict == "unknown" else name or found["class"],
        "distance": near[0]["distance"],
        "threshold": limit and limit.value,
        "reason": " ".join([*([reason] if reason else []), *found["notes"]]),
        "neighbors": near,
    }
