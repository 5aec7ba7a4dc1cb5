"""`dmlviz gallery`: pictures of one's own that are kept under names with a run."""

from pathlib import Path
from typing import Annotated
from unicodedata import normalize

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dmlviz.cli import JsonFile, RunId, RunsFolder, console_beside, single_command_app, write_results
from dmlviz.errors import UserError
from dmlviz.runs.gallery import Gallery, checked_name, read_named
from dmlviz.runs.store import Runs, runs_folder
from dmlviz.storage.files import atomic_write
from dmlviz.storage.text import counted

app = single_command_app()
ACTIONS = ("list", "add", "remove", "export")


@app.command()
def gallery(
    run: RunId,
    action: Annotated[str, typer.Argument(metavar="[list|add|remove|export]")] = "list",
    what: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE|NAME…]",
            help="add: pictures, zips or folders of NAME/FILE; remove: names or IDs; export: a zip file to write",
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="add: the name of the pictures")] = "",
    json_file: JsonFile = None,
    runs: RunsFolder = None,
) -> None:
    """List the pictures that are kept with a run, add some under a name, remove or export them.

    `dmlviz ask` finds them beside the test images. Exits with 1 if a file could not be read.
    """
    if action not in ACTIONS:
        raise UserError(f"The word after the run is one of {', '.join(ACTIONS)}; got {action[:40]!r}.")
    if json_file is not None and action != "list":
        raise UserError("--json is for the list: leave it out.")
    store = Runs(runs_folder(runs))
    record, given = store.find(run), what or []
    if action != "list" and not given:
        raise UserError(f"dmlviz gallery RUN {action} needs what to {action}: see dmlviz gallery --help.")
    if action == "add":
        _add(Gallery(store.writable_copy(record)), given, name)
    elif action == "remove":
        _remove(Gallery(record), [*map(str, given)])
    elif action == "export":
        with atomic_write(given[0]) as file:
            count = Gallery(record).export(file)
        print(f"{given[0]}: {counted(count, 'picture')}")
    else:
        _print_list(Gallery(record), json_file)


def _add(kept: Gallery, files: list[Path], name: str) -> None:
    kept.check_net()
    images, names, hints, failures = [], [], [], []
    for file in files:
        if not file.exists():
            failures.append(f"{file}: There is no such file.")
            continue
        try:
            found = [*read_named(kept.run, file, name, lambda name: name and checked_name(name))]
        except UserError as error:  # a damaged zip, of which nothing is kept
            failures.append(f"{file}: {error}")
            continue
        if not found:
            failures.append(f"{file}: There is no picture in it.")
        for one in found:
            if one.refused:
                failures.append(f"{one.path}: {one.refused}")
            else:
                images.append(one.image)
                names.append(one.name)
                hints += [f"{one.path}: {hint}" for hint in one.hints]
    if images and not all(names):
        raise UserError("Pictures are kept under a name: give one with --name, or a folder of NAME/FILE.")
    pictures, twins = kept.add(images, names) if images else ([], "")
    print(f"Kept {counted(len(pictures), 'picture')}.{' ' * bool(twins)}{twins}")
    for failure in (*hints, *failures):
        Console(stderr=True, highlight=False).print(failure, soft_wrap=True, markup=False)
    if failures:
        raise typer.Exit(1)


def _remove(kept: Gallery, names: list[str]) -> None:
    there = {*kept.names(), *(picture.id for picture in kept.pictures())}
    if lacking := [name for name in names if normalize("NFC", name) not in there]:
        raise UserError(
            f"The gallery of {kept.run.title} has no {', '.join(lacking)[:80]!r}: `dmlviz gallery` lists it."
        )
    print(f"Removed {counted(kept.remove(names), 'picture')}.")


def _print_list(kept: Gallery, json_file: Path | None) -> None:
    pictures, console = kept.pictures(), console_beside(json_file)
    write_results(json_file, [{"id": picture.id, "name": picture.name} for picture in pictures])
    if not pictures:
        words = f"Nothing is kept with {kept.run.title}: dmlviz gallery RUN add FILE… --name NAME."
        console.print(words, soft_wrap=True, markup=False)
        return
    table = Table("id", "name", box=None, pad_edge=False)
    for picture in pictures:
        table.add_row(Text(picture.id), Text(picture.name))
    console.print(table)
