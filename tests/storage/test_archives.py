"""What comes with the program is unpacked once and whole; a value read from files is kept until they change."""

import errno
import os
import shutil
import tempfile
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest

from dmlviz.errors import UserError
from dmlviz.storage.archives import UNUSED_S, unpacked
from dmlviz.storage.disk_space import disk_full_of
from dmlviz.storage.file_cache import kept_while_unchanged

unpack = unpacked.__wrapped__  # as another process does it


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dmlviz" / "unpacked"


@pytest.fixture
def archive(tmp_path):
    return packed(tmp_path / "results.zip", "first")


def packed(path, content):
    with ZipFile(path, "w") as opened:
        opened.writestr(ZipInfo("study.json"), content)
        opened.writestr(ZipInfo("trials/a/kept.npy"), b"\x00" * 3_000_000)
    return path


def test_each_archive_becomes_a_folder_of_its_name_and_none_is_unpacked_twice(cache, archive, tmp_path):
    folder = unpack(archive, packed(tmp_path / "other.zip", "second"))
    assert [(folder / name / "study.json").read_text() for name in ("results", "other")] == ["first", "second"]
    assert (folder / "results" / "trials" / "a" / "kept.npy").stat().st_size == 3_000_000
    (folder / "results" / "study.json").write_text("only read")
    assert unpack(archive, tmp_path / "other.zip") == folder
    assert (folder / "results" / "study.json").read_text() == "only read"
    assert [*cache.iterdir()] == [folder]


def test_another_version_makes_its_own_and_removes_what_nobody_uses_any_more(cache, archive):
    unused = unpack(archive)
    in_use = unpack(packed(archive, "second"))
    for folder in (unused, in_use):
        os.utime(folder, (0, time.time() - UNUSED_S - 10))
    assert unpack(archive) == in_use
    newest = unpack(packed(archive, "third"))
    assert (newest / "results" / "study.json").read_text() == "third"
    assert {*cache.iterdir()} == {in_use, newest}


def test_processes_that_unpack_at_once_do_not_disturb_each_other(cache, archive):
    with ThreadPoolExecutor(8) as pool:
        found = {*pool.map(unpack, [archive] * 8)}
    assert found == {*cache.iterdir()}
    (folder,) = found
    assert (folder / "results" / "study.json").read_text() == "first"


def test_a_temporary_folder_stands_in_for_a_cache_that_cannot_be_written(cache, archive, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = unpack(archive)
    assert folder.is_relative_to(tmp_path)
    assert (folder / "results" / "study.json").read_text() == "first"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))
    with pytest.raises(UserError, match=r"neither in .+unpacked nor in a temporary folder \(Not a directory\): make"):
        unpack(archive)


def test_a_damaged_archive_is_said_and_leaves_nothing(cache, archive):
    content = archive.read_bytes()
    archive.write_bytes(content.replace(b"first", b"worst"))
    with pytest.raises(UserError, match=r"damaged .*study\.json.*install dmlviz again"):
        unpack(archive)
    assert [*cache.iterdir()] == []


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
