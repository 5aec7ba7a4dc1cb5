"""The weights of backbones in the data folder: one file for each content, kept with the data sets that need it."""

import contextlib
import shutil
import time
from pathlib import Path

from dmlviz.catalog import custom_datasets
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.files import is_run_id

FOLDER = "backbones"  # of the data folder: weights, and features that are being computed
SUFFIX = ".safetensors"
LOCK_SUFFIX = ".lock"  # after the name of a folder of features that are being computed
MIN_AGE_S = 3600.0  # seconds for which weights without a data set stay: it may be written next
UNFINISHED_RETENTION_S = 7 * 24 * 3600.0  # seconds for which features of an unfinished computation stay


def weights_file(root: Path, backbone: str, digest: str) -> Path:
    """Return where the weights of a backbone lie, by the digits that name their content."""
    return root / FOLDER / f"{_stem(backbone)}-{digest}{SUFFIX}"


def _stem(backbone: str) -> str:
    return backbone.replace(":", "-")  # which Windows takes in no file's name


def kept_weights(root: Path, backbone: str) -> list[str]:
    """Return the digits of the weights of a backbone that are in a data folder, the newest first."""
    files = (root / FOLDER).glob(f"{_stem(backbone)}-*{SUFFIX}")
    aged = sorted((_age(path), path) for path in files)  # one may go meanwhile
    newest = [path for age, path in aged if age]
    digests = (path.stem.removeprefix(f"{_stem(backbone)}-") for path in newest)
    return [digest for digest in digests if is_run_id(digest)]


def weights_of(root: Path, dataset: str) -> Path | None:
    """Return the file of the weights with which a data set of features was computed; None for any other data set."""
    features = (custom_datasets.load_description(root, dataset) or {}).get("features")
    return None if not features else weights_file(root, features["backbone"], features["weights"])


def remove_dataset(root: Path, name: str) -> None:
    """Delete an imported data set, and the weights that were kept for it alone.

    Raises:
        UserError: If it is not in the data folder.
    """
    weights = weights_of(root, name)
    custom_datasets.remove(root, name)
    if weights is not None and weights not in _in_use(root):
        weights.unlink(missing_ok=True)


def remove_unused(root: Path) -> None:
    """Delete the weights that no data set of a data folder needs any more, and abandoned partial computations.

    Partial computations of the app are kept: the person who began one discards it.
    """
    folder = root / FOLDER
    aged = [path for path in folder.glob(f"*{SUFFIX}") if _age(path) > MIN_AGE_S]
    in_use = _in_use(root) if aged else set()
    for path in aged:
        if path not in in_use:
            with contextlib.suppress(OSError):  # the folder may be one to read only
                path.unlink(missing_ok=True)
    for blocks in folder.glob(f".{custom_datasets.PREFIX}*"):
        if blocks.suffix != LOCK_SUFFIX and _age(blocks) > UNFINISHED_RETENTION_S:
            with contextlib.suppress(OSError):
                _remove_blocks(blocks)


def _remove_blocks(blocks: Path) -> None:
    """Delete the features of an unfinished computation, unless a process is at it."""
    lock = FileLock(lock_of(blocks))
    if lock.acquire(0.0):
        shutil.rmtree(blocks, ignore_errors=True)
        lock.path.unlink(missing_ok=True)
        lock.release()


def _age(path: Path) -> float:
    """Return for how many seconds a file has not changed; 0 for one that is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def lock_of(blocks: Path) -> Path:
    """Return the file that a process locks while it computes the blocks of features in a folder."""
    return blocks.with_name(blocks.name + LOCK_SUFFIX)


def _in_use(root: Path) -> set[Path | None]:
    return {weights_of(root, name) for name in custom_datasets.list_names(root)}
