"""The command line: `dmlviz` opens the app; each command is a module of `dmlviz.cli`, loaded when it is called."""

import sys
from importlib import import_module
from typing import Annotated

import typer

from dmlviz.errors import UserError

COMMANDS = {
    "serve": "Open the app in the browser; what dmlviz does without a command.",
    "train": "Train and keep the run; the app shows it.",
    "runs": "List the runs.",
    "data": "List the data sets, or add pictures and vectors of your own.",
    "evaluate": "Score a run's embeddings of the test images in every way.",
    "neighbors": "Name the nearest neighbors of a test image.",
    "export": "Keep a run outside the program: a page that plays it, tables, weights, the script.",
    "project": "Draw a run's embeddings in two or three dimensions: PCA, t-SNE, UMAP.",
}

PLUGIN_HELP = (
    "Every command also takes --plugin FILE, a Python file with a loss, miner, net, data set or metric of your own. It "
    "may be given several times; the environment variable DMLVIZ_PLUGINS does the same."
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, context_settings={"max_content_width": 100})


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0, 1 for a training that failed, 2 for what a person can put right."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        words, plugins = _split_plugins(words)
        _run(words, plugins)
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def _run(words: list[str], plugins: list[str]) -> None:
    if not words or (words[0].startswith("-") and words[0] not in ("--help", "--version")):
        words = ["serve", *words]
    if words[0] not in COMMANDS:
        app(words, prog_name="dmlviz")
        return
    from dmlviz.plugins import load_plugins

    load_plugins(plugins)  # before the command is imported, whose options name all choices
    command = typer.main.get_command(import_module(f"dmlviz.cli.{words[0]}").app)
    command.epilog = PLUGIN_HELP
    command(words[1:], prog_name=f"dmlviz {words[0]}")


def _split_plugins(words: list[str]) -> tuple[list[str], list[str]]:
    """The words without `--plugin FILE` and `--plugin=FILE`, wherever they stand, and the files."""
    rest: list[str] = []
    files: list[str] = []
    remaining = iter(words)
    for word in remaining:
        option, equals, value = word.partition("=")
        if word == "--":
            return [*rest, word, *remaining], files
        if option != "--plugin":
            rest.append(word)
            continue
        file = value if equals else next(remaining, "")
        if not file or file.startswith("-"):
            raise UserError(f"--plugin takes a Python file, as in --plugin my_loss.py; got {file or 'nothing'}.")
        files.append(file)
    return rest, files


def _version(wanted: bool) -> None:
    if wanted:
        from dmlviz import __version__

        print(f"dmlviz {__version__}")
        raise typer.Exit


@app.callback(
    help="Watch a metric being learned. Without a command: open the app in the browser (as `dmlviz serve`).",
    epilog=PLUGIN_HELP,
)
def _top(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")] = False,
) -> None:
    """Hold the options that belong to no command."""


def _listed(name: str, summary: str) -> None:
    # Only for the list that --help shows, and for words that are no command: `main` calls the commands themselves.
    @app.command(name, help=summary)
    def never() -> None: ...


for _name, _summary in COMMANDS.items():
    _listed(_name, _summary)
