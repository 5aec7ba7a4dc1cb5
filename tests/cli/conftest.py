"""The command line as a person meets it."""

from contextlib import redirect_stdout
from io import StringIO

import pytest

from dmlviz.cli.main import main


@pytest.fixture(scope="session")
def quick():
    """The words for a training that is soon over."""
    return [
        "train",
        "--dataset",
        "digits",
        "--steps",
        "12",
        "--num-snapshots",
        "3",
        "--eval-subset-size",
        "100",
        "--net",
        "mlp",
    ]


@pytest.fixture
def called(capsys):
    """`called(*words)` calls the command line: its exit code, what it wrote to standard output and to error."""

    def call(*words):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        written = capsys.readouterr()
        return ended.value.code or 0, written.out, written.err

    return call


@pytest.fixture(scope="session")
def trained(tmp_path_factory, quick):
    """A folder with one small run, and what the command that made it said."""
    folder = tmp_path_factory.mktemp("trained")
    with redirect_stdout(StringIO()) as said, pytest.raises(SystemExit) as ended:
        main([*quick, "--seed", "7", "--title", "Small [one]", "--runs", str(folder)])
    assert not ended.value.code
    return folder, said.getvalue()
