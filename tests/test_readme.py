"""The README's code and commands work."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dmlviz.cli.main import COMMANDS, main

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_its_python_runs(tmp_path):
    script = (
        "import json, sys\n"
        "for block in json.load(sys.stdin):\n"
        "    exec(block, {'__name__': '__main__'})\n"
        "    print('and the next')\n"  # each in a namespace of its own, as in a new file
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        input=json.dumps(BLOCKS),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    *shown, rest = done.stdout.split("and the next\n")
    assert len(shown) == len(BLOCKS) > 0
    assert all(shown)
    assert not rest


def test_its_commands_exist():
    shown = set(re.findall(r"^dmlviz ([a-z]+)", TEXT, re.MULTILINE))
    assert shown
    assert shown <= set(COMMANDS)


def test_its_options_exist(capsys):
    for command in COMMANDS:
        lines = re.findall(rf"^dmlviz {command} (.*)$", TEXT, re.MULTILINE)
        options = {option for line in lines for option in re.findall(r"--[a-z-]+", line.split("  #")[0])}
        with pytest.raises(SystemExit):
            main([command, "--help"])
        shown = capsys.readouterr().out
        assert all(f"{option} " in shown for option in options), (command, options)


def test_the_files_it_names_are_there():
    for name in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / name).exists(), name
    for name in ("start", "test"):
        assert os.access(ROOT / name, os.X_OK)
