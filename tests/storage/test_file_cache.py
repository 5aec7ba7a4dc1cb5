"""A value read from files is kept until they change."""

import errno
import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from dmlviz.storage.disk_space import disk_full_of
from dmlviz.storage.file_cache import kept_while_unchanged


class Folder:
    """A folder whose file is counted as it is read."""

    def __init__(self, path: Path) -> None:
        self.path, self.reads = path, 0

    @kept_while_unchanged("number.txt")
    def number(self) -> int:
        self.reads += 1
        return int((self.path / "number.txt").read_text())


def test_a_file_is_read_once_until_it_changes(tmp_path):
    file = tmp_path / "number.txt"
    file.write_text("1")
    folder = Folder(tmp_path)
    assert [folder.number(), folder.number(), folder.reads] == [1, 1, 1]
    assert Folder(tmp_path).number() == 1  # of the same folder
    before = file.stat().st_mtime_ns
    file.write_text("2")
    os.utime(file, ns=(before + 1, before + 1))
    assert [folder.number(), folder.reads] == [2, 2]


def test_another_file_of_the_same_size_and_time_is_read(tmp_path):
    file, folder = tmp_path / "number.txt", Folder(tmp_path)
    file.write_text("1")
    assert folder.number() == 1
    time = file.stat().st_mtime_ns
    (tmp_path / "next").write_text("2")
    os.utime(tmp_path / "next", ns=(time, time))
    os.replace(tmp_path / "next", file)
    assert folder.number() == 2


def test_what_is_raised_is_not_kept(tmp_path):
    (tmp_path / "number.txt").write_text("no number")
    folder = Folder(tmp_path)
    for _ in range(2):
        with pytest.raises(ValueError, match="no number"):
            folder.number()
    assert folder.reads == 2


Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(("named", "said"), [(None, "full"), ("empty", "empty"), ("full", "full")])
def test_the_sentence_names_the_disk_that_is_full(monkeypatch, tmp_path, named, said):
    folders = [tmp_path / name for name in ("empty", "full")]
    for folder in folders:
        folder.mkdir()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(9, 0, 10 if str(path).endswith("full") else 5e10))
    error = OSError(errno.ENOSPC, "No space left on device", *([str(tmp_path / named / "file")] if named else []))
    assert str(tmp_path / said) in str(disk_full_of(error, *folders))
