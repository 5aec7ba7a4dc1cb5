"""Disks and folders that fail are told in a sentence. The faults are made by `disk.py`."""

import subprocess

import pytest
from disk import can_mount, small_disk
from kill import SHORT

from dmlviz.errors import UserError
from dmlviz.runs.store import Runs


def test_a_folder_that_can_only_be_read_is_told_in_a_sentence(tmp_path):
    if not can_mount():
        pytest.skip("only root can mount a disk")
    with small_disk(tmp_path / "disk", 4) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(UserError, match="The folder of runs cannot be written to"):
            Runs(disk).create(SHORT)
