"""Where data sets lie, and what the program keeps for itself."""

import os
from pathlib import Path

from platformdirs import user_cache_path


def data_root(root: str | Path | None = None) -> Path:
    """Where data sets lie: `root`, else the environment's DMLVIZ_DATA, else the user's cache folder."""
    if root is not None:
        return Path(root).expanduser()
    if os.environ.get("DMLVIZ_DATA"):
        return Path(os.environ["DMLVIZ_DATA"]).expanduser()
    return cache_dir() / "data"


def cache_dir() -> Path:
    """Where the program keeps what it can make or download again, by the custom of the system."""
    return user_cache_path("dmlviz", appauthor=False)
