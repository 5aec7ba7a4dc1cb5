"""What the README shows works."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dmlviz.cli import COMMANDS

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = dict(enumerate(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)))


@pytest.mark.parametrize("block", BLOCKS)
def test_its_python_runs(block, tmp_path):
    environment = os.environ | {"PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKS[block]], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_its_commands_exist():
    shown = set(re.findall(r"^dmlviz ([a-z]+)", TEXT, re.MULTILINE))
    assert shown
    assert shown <= set(COMMANDS)


def test_its_options_exist():
    for command in COMMANDS:
        lines = re.findall(rf"^dmlviz {command} (.*)$", TEXT, re.MULTILINE)
        options = {option for line in lines for option in re.findall(r"--[a-z-]+", line.split("  #")[0])}
        shown = subprocess.run(
            [sys.executable, "-m", "dmlviz", command, "--help"], capture_output=True, text=True
        ).stdout
        assert all(f"{option} " in shown for option in options), (command, options)


def test_the_files_it_names_are_there():
    for name in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        if name != "assets/screenshot.png":
            assert (ROOT / name).exists(), name
    for name in ("start", "test"):
        assert os.access(ROOT / name, os.X_OK)
