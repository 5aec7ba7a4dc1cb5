"""Default folders: what a person keeps, and what can be made or downloaded again."""

import os
import sys
from pathlib import Path

from platformdirs import user_cache_path, user_data_path


def data_root(root: str | Path | None = None) -> Path:
    """Return the folder of the data sets.

    Args:
        root: This folder; by default $DMLVIZ_DATA, else `kept_folder("data")`.

    Examples:
        >>> str(data_root("my data"))
        'my data'
    """
    named = root if root is not None else os.environ.get("DMLVIZ_DATA")
    return Path(named).expanduser() if named else kept_folder("data")


def kept_folder(name: str) -> Path:
    """Return a folder of the system's data folder for dmlviz, which no cleaner of caches empties.

    Early versions had it in the cache folder: what is there is moved once, and that is said.
    """
    folder, old = user_data_path("dmlviz", appauthor=False) / name, cache_dir() / name
    if folder.exists() or not old.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        old.rename(folder)
    except OSError as error:
        if folder.exists():  # another process was faster
            return folder
        print(f"{old} lies in a cache, which may be emptied: move it to {folder} ({error.strerror}).", file=sys.stderr)
        return old
    print(f"Moved {old} to {folder}: a cache may be emptied.", file=sys.stderr)
    return folder


def cache_dir() -> Path:
    """Return the system's cache folder for dmlviz: files that can be made or downloaded again.

    Examples:
        >>> cache_dir().name
        'dmlviz'
    """
    return user_cache_path("dmlviz", appauthor=False)
