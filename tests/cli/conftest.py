"""Fixtures that call the command line."""

from contextlib import redirect_stdout
from io import StringIO

import pytest

from dmlviz.cli.main import main


@pytest.fixture(scope="session")
def quick():
    """Arguments for a training that takes a second."""
    return "train --dataset digits --steps 12 --num-snapshots 3 --eval-subset-size 100 --net mlp".split()


@pytest.fixture
def run_cli(capsys):
    """`run_cli(*arguments)` calls the command line and returns exit code, stdout and stderr."""

    def call(*arguments):
        with pytest.raises(SystemExit) as exit_info:
            main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return exit_info.value.code or 0, output.out, output.err

    return call


@pytest.fixture(scope="session")
def trained(tmp_path_factory, quick):
    """A runs folder with one small run, and the output of the command that made it."""
    folder = tmp_path_factory.mktemp("trained")
    with redirect_stdout(StringIO()) as output, pytest.raises(SystemExit) as exit_info:
        main([*quick, "--seed", "7", "--title", "Small [one]", "--runs", str(folder)])
    assert not exit_info.value.code
    return folder, output.getvalue()
