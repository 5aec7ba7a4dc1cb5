"""The `dmlviz` command: its subcommands are those of all features, imported when they are called."""

import os
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dmlviz.errors import UserError
from dmlviz.parts import commands
from dmlviz.storage.disk_space import disk_full_of, is_disk_full

PLUGIN_HELP = (
    "Every command also takes --plugin FILE, a Python file with a loss, miner, net, metric or the like of your own. It "
    "may be given several times; the environment variable DMLVIZ_PLUGINS does the same."
)

WINDOWS = (
    "dmlviz is not tested on Windows: there, uploads are read without a limit of memory, and Stop loses what was "
    "trained since the last snapshot. In WSL it runs as on Linux."
)

OWN_OPTIONS = ("--help", "--version", "--install-completion", "--show-completion")
COMPLETION = "_DMLVIZ_COMPLETE"  # in the environment where a shell asks what the word may be


class _Program(TyperGroup):
    """The commands: `--help` shows their summaries, and the one that is called is imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # For --help, and for the error on an unknown command: `resolve_command` finds what is called.
        self.commands = {name: TyperCommand(name, help=one.summary) for name, one in commands().items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        if name is None:  # a shell asks about a word that is no command
            return name, None, rest
        command = command_named(name)
        command.epilog = PLUGIN_HELP
        if rest[:1] == ["list"] and getattr(command, "invoke_without_command", False):
            rest = rest[1:]  # what it does without a word
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            from pydantic import ValidationError

            from dmlviz.config.base import said

            if isinstance(error.__cause__, ValidationError):
                error.message = f"it {said(error.__cause__.errors()[0])}"
            raise


app = typer.Typer(cls=_Program, pretty_exceptions_enable=False, context_settings={"max_content_width": 100})


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 on success, 1 if training failed, 2 for a user error."""
    # OpenMP reads it when it is loaded. A thread that spins while it waits takes the core of one that works: on busy
    # cores `dmlviz place` took three times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    words = sys.argv[1:] if arguments is None else arguments
    if sys.platform == "win32":
        print(WINDOWS, file=sys.stderr)
    try:
        words, plugins = _split_plugins(words)
        _run(words, plugins)
    except (UserError, OSError) as error:
        if not isinstance(error, UserError):
            from dmlviz.runs.store import runs_folder
            from dmlviz.storage.paths import data_root

            if is_disk_full(error):
                error = disk_full_of(error, runs_folder(), data_root())
            elif error.filename:
                error = UserError(f"Cannot read or write {error.filename}: {error.strerror}.")
            else:
                raise
        print(error, file=sys.stderr)
        sys.exit(2)


def _run(words: list[str], plugins: list[str]) -> None:
    first = words[0] if words else "-"
    if first.startswith("-") and first.split("=")[0] not in OWN_OPTIONS and COMPLETION not in os.environ:
        words = ["serve", *words]
    if (
        {*words[:1]} & {*commands()} or plugins or _are_plugins_installed()
    ):  # else --help would load half of the library
        from dmlviz.plugins import load_plugins

        load_plugins(plugins)  # before the command is imported, whose options name all choices
    _without_flag_types(typer.main.get_command(app))(words, prog_name="dmlviz")


def _are_plugins_installed() -> bool:
    return "DMLVIZ_PLUGINS" in os.environ or any(group.startswith("dmlviz.") for group in entry_points().groups)


@cache  # typer reads the signature of each function
def command_named(name: str) -> Any:
    """Return the command of this name, as Click has it."""
    module = import_module(commands()[name].module)
    return _without_flag_types(typer.main.get_command(module.app))


def _without_flag_types(command: Any) -> Any:
    """Let --help show no value behind flags, which take none: typer shows their type, <bool>."""
    for each in (command, *getattr(command, "commands", {}).values()):
        for parameter in (*each.params, each.get_help_option(typer.Context(each))):
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
    return command


def _split_plugins(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words without `--plugin FILE` and `--plugin=FILE`, and the files."""
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


def _show_version(requested: bool) -> None:
    if requested:
        from dmlviz.version import __version__

        print(f"dmlviz {__version__}")
        raise typer.Exit


@app.callback(
    help="Train metric-learning models and watch the embedding live. Without a command, opens the app.",
    epilog=PLUGIN_HELP,
)
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Read the options of the program itself."""
