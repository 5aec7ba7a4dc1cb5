"""The folder of a run or projection that begins: made in full, then put in place of an earlier one."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dmlviz.errors import DiskFullError, UserError
from dmlviz.storage.disk_space import new_folder
from dmlviz.storage.files import ensure_dir, write_json

OLD_PREFIX = ".old-"  # of folders that hold what is replaced or deleted


def new_run_folder(path: Path, name: str, info: Mapping[str, object]) -> Path:
    """Create a folder, replacing an existing one: readers see the old or the new one, never a mixture.

    Old frames are kept: their URLs are hashes of their content, and a page may still request them. So is the gallery.

    Raises:
        UserError: If nothing can be written there.
    """
    try:
        return _replace_run_folder(path, name, info)
    except DiskFullError:
        raise
    except OSError as error:
        raise UserError(
            f"The folder of runs cannot be written to ({error.strerror}): make room on its disk, or choose another "
            "with --runs."
        ) from None


def _replace_run_folder(path: Path, name: str, info: Mapping[str, object]) -> Path:
    with new_folder(path.parent) as new:
        ensure_dir(new / "frames")
        for file in (*path.glob("frames/*.i16"), *path.glob("gallery/[!.]*")):
            with contextlib.suppress(OSError):  # another process may have been faster
                os.link(file, ensure_dir(new / file.parent.name) / file.name)
        (new / "events.jsonl").touch()
        write_json(new / name, info)
        if path.exists():
            _remove(path, replacement=new)
        else:
            new.rename(path)
    return path


def _remove(path: Path, replacement: Path | None = None) -> None:
    old = Path(tempfile.mkdtemp(prefix=OLD_PREFIX, dir=path.parent))
    path.rename(old / path.name)
    if replacement is not None:
        replacement.rename(path)
    shutil.rmtree(old, ignore_errors=True)
