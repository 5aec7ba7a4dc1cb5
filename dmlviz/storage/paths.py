"""Default folders for data sets and for cached files."""

import os
from pathlib import Path

from platformdirs import user_cache_path


def data_root(root: str | Path | None = None) -> Path:
    """Return the folder of the data sets: `root`, else $DMLVIZ_DATA, else a folder in the user's cache."""
    if root is not None:
        return Path(root).expanduser()
    if os.environ.get("DMLVIZ_DATA"):
        return Path(os.environ["DMLVIZ_DATA"]).expanduser()
    return cache_dir() / "data"


def cache_dir() -> Path:
    """Return the system's cache folder for dmlviz: files that can be made or downloaded again."""
    return user_cache_path("dmlviz", appauthor=False)
