"""`dmlviz study`: the studies of labs: begin, list, go on, stop, delete."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from dmlviz.cli import DataFolder, JsonFile, RunsFolder, console_beside, single_command_app, write_results
from dmlviz.cli.lab import (
    DatasetName,
    Quick,
    Slots,
    StudyFolder,
    print_study,
    size_of,
    study_runner,
    watch,
)
from dmlviz.errors import UserError
from dmlviz.labs.lab_study import check_dataset, format_seconds, study_progress
from dmlviz.labs.registry import LABS
from dmlviz.runs.store import runs_folder
from dmlviz.studies.study import FOLDER, Study, list_studies

app = single_command_app()
StudyId = Annotated[str, typer.Argument(metavar="STUDY", help="study ID (see `dmlviz study`)")]


@app.callback(invoke_without_command=True)
def list_all(context: typer.Context, runs: RunsFolder = None, json_file: JsonFile = None) -> None:
    """List the studies, newest first: the trials of labs and what came out of them."""
    if context.invoked_subcommand is not None:
        if runs is not None:
            raise UserError(
                f"Put --runs after the subcommand: dmlviz study {context.invoked_subcommand} … --runs {runs}."
            )
        return
    console = console_beside(json_file, soft_wrap=True)
    folder = runs_folder(runs) / FOLDER
    studies = list_studies(folder)
    write_results(
        json_file,
        [{"study": each.id, "state": each.state, **asdict(study_progress(each))} for each in studies],
    )
    if not studies:
        console.print(f"No studies in {folder}. Start one with `dmlviz study run LAB` or in the app, on the page Labs.")
        return
    table = Table("study", "state", "trials", "failed", "left", box=None, pad_edge=False)
    for study in studies:
        now, state = study_progress(study), study.state
        left = "" if state == "finished" else format_seconds(now.seconds_left)
        table.add_row(study.id, state, f"{now.done} of {now.total}", str(now.failed or ""), left)
    console.print(table)


@app.command()
def run(
    lab: Annotated[
        str, typer.Argument(metavar="LAB", help="name of the lab (see `dmlviz lab`)", autocompletion=lambda: [*LABS])
    ],
    quick: Quick = False,
    dataset: DatasetName = None,
    folder: StudyFolder = None,
    slots: Slots = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Run the study of a lab, or go on with it. Ctrl-C stops it and keeps what it has."""
    console = Console(highlight=False, soft_wrap=True)
    dataset = check_dataset(LABS[lab], dataset)
    with study_runner(runs, data, slots) as runner:
        study = runner.start(lab, size_of(quick), dataset, path=folder)
        watch(runner, study, console)
    console.print(str(study.path))


@app.command()
def resume(
    study: StudyId,
    folder: StudyFolder = None,
    slots: Slots = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Go on with a study that was stopped or cut off."""
    target = _study(study, folder, runs)
    info = target.info
    console = Console(highlight=False, soft_wrap=True)
    with study_runner(runs, data, slots) as runner:
        runner.start(info["lab"], info["size"], info["dataset"], path=target.path)
        watch(runner, target, console)
    console.print(str(target.path))


@app.command()
def show(study: StudyId, folder: StudyFolder = None, runs: RunsFolder = None) -> None:
    """Print the figures of a study, as far as it is."""
    print_study(_study(study, folder, runs), Console(highlight=False, soft_wrap=True))


@app.command()
def stop(study: StudyId, folder: StudyFolder = None, runs: RunsFolder = None) -> None:
    """Stop a study, whichever process runs it."""
    target = _study(study, folder, runs)
    if target.state != "running":
        raise UserError(f"The study {study} is not running: it is {target.state}.")
    target.request_stop()
    print(f"Asked {study} to stop; `dmlviz study resume {study}` goes on with it.")


@app.command()
def delete(study: StudyId, folder: StudyFolder = None, runs: RunsFolder = None) -> None:
    """Delete a study and all that its trials wrote."""
    _study(study, folder, runs).delete()
    print(f"Deleted {study}.")


def _study(name: str, folder: Path | None, runs: Path | None) -> Study:
    studies = runs_folder(runs) / FOLDER
    target = Study(folder or studies / name)
    if "/" in name or not target.exists:
        raise UserError(f"There is no study {name!r} in {folder or studies}; `dmlviz study` lists them.")
    return target
