"""Where data sets lie."""

import os
import sys
from pathlib import Path


def data_root(root: str | Path | None = None) -> Path:
    """Where data sets lie: `root`, else the environment's DMLVIZ_DATA, else the user's cache folder."""
    if root is not None:
        return Path(root).expanduser()
    if os.environ.get("DMLVIZ_DATA"):
        return Path(os.environ["DMLVIZ_DATA"]).expanduser()
    return cache_folder() / "data"


def cache_folder() -> Path:
    """Where the program keeps what it can make or fetch again, by the custom of the system."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dmlviz"
