"""A full disk is named by what was written there, or else the fullest of those that may have been."""

import errno
import shutil
from collections import namedtuple

import pytest

from dmlviz.storage.disk_space import disk_full_of

Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(("named", "said"), [(None, "full"), ("empty", "empty"), ("full", "full")])
def test_the_sentence_names_the_disk_that_is_full(monkeypatch, tmp_path, named, said):
    folders = [tmp_path / name for name in ("empty", "full")]
    for folder in folders:
        folder.mkdir()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(9, 0, 10 if str(path).endswith("full") else 5e10))
    error = OSError(errno.ENOSPC, "No space left on device", *([str(tmp_path / named / "file")] if named else []))
    assert str(tmp_path / said) in str(disk_full_of(error, *folders))
