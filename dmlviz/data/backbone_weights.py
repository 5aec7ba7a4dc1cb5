"""The weights of backbones in the data folder: one file for each content, kept with the data sets that need it."""

import time
from pathlib import Path

from dmlviz.catalog import custom_datasets
from dmlviz.storage.files import is_run_id

FOLDER = "backbones"  # of the data folder: weights, and features that are being computed
SUFFIX = ".safetensors"
MIN_AGE_S = 3600.0  # seconds for which weights without a data set stay: it may be written next


def weights_file(root: Path, backbone: str, digest: str) -> Path:
    """Return where the weights of a backbone lie, by the digits that name their content."""
    return root / FOLDER / f"{backbone}-{digest}{SUFFIX}"


def kept_weights(root: Path, backbone: str) -> list[str]:
    """Return the digits of the weights of a backbone that are in a data folder, the newest first."""
    files = (root / FOLDER).glob(f"{backbone}-*{SUFFIX}")
    newest = sorted(files, key=lambda path: (-path.stat().st_mtime_ns, path))
    digests = (path.stem.removeprefix(f"{backbone}-") for path in newest)
    return [digest for digest in digests if is_run_id(digest)]


def weights_of(root: Path, dataset: str) -> Path | None:
    """Return the file of the weights with which a data set of features was computed; None for any other data set."""
    features = (custom_datasets.load_description(root, dataset) or {}).get("features")
    return None if not features else weights_file(root, features["backbone"], features["weights"])


def remove_unused(root: Path) -> None:
    """Delete the weights that no data set of a data folder needs any more."""
    needed = {weights_of(root, name) for name in custom_datasets.list_names(root)}
    for path in (root / FOLDER).glob(f"*{SUFFIX}"):
        if path not in needed and time.time() - path.stat().st_mtime > MIN_AGE_S:
            path.unlink(missing_ok=True)
