"""Kernels that Numba compiles, kept in the user's cache.

A module of kernels (`*_kernels.py`) names the types of its functions' arguments, so that its import compiles them, in
seconds, or reads them, in milliseconds. What is kept is named by the sources, Numba's version and the processor; a file
that does not have its checksum is compiled again.
"""

import hashlib
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from dmlviz.errors import UserError
from dmlviz.storage.archives import UNUSED_S
from dmlviz.storage.disk_space import remove_stale_folders
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.files import read_json, write_json
from dmlviz.storage.paths import cache_dir

_CHECKSUMS = "checksums.json"
_PREBUILT = Path(sys.prefix) / "kernels"  # in a container, whose cache is empty at each start
_COMPILING_S = 120.0  # to wait for another process that compiles
_lock = threading.RLock()


@cache
def compiled(load: Callable[[], ModuleType]) -> ModuleType | None:
    """Return a module of kernels; None where Numba is missing or turned off, or nothing can be kept.

    Args:
        load: Imports the module.
    """
    with _lock, suppress(ImportError, OSError, UserError):
        if _is_turned_off():
            return None
        folder = _folder()
        lock = FileLock(folder.with_suffix(".lock"))
        lock.acquire(_COMPILING_S)
        try:
            _remove_damaged(folder)
            for _ in range(2):
                with suppress(Exception), _numba_keeps_in(folder):
                    module = load()
                    write_json(folder / _CHECKSUMS, _checksums(folder))
                    return module
                shutil.rmtree(folder, ignore_errors=True)  # what is kept could not be used
        finally:
            lock.release()
    return None


def are_kept() -> bool:
    """Return whether `compiled` need not compile, or never would."""
    with suppress(ImportError, OSError):
        return _is_turned_off() or (_folder() / _CHECKSUMS).exists()
    return False


def _is_turned_off() -> bool:
    from numba import config

    return bool(config.DISABLE_JIT)  # type: ignore[attr-defined]  # kernels would be loops of Python


@cache
def _folder() -> Path:
    import llvmlite.binding as llvm

    hasher = hashlib.sha256(repr((version("numba"), sys.version_info, llvm.get_host_cpu_name())).encode())
    hasher.update(llvm.get_host_cpu_features().flatten().encode())
    for path in sorted(Path(__file__).parents[1].glob("*/*kernel*.py")):
        hasher.update(str(path).encode() + path.read_bytes())
    folder = cache_dir() / "kernels" / hasher.hexdigest()[:16]
    if not folder.exists() and (_PREBUILT / folder.name).exists():
        shutil.copytree(_PREBUILT / folder.name, folder)
    folder.mkdir(parents=True, exist_ok=True)
    folder.touch()
    remove_stale_folders(folder.parent, "*", UNUSED_S)
    return folder


def _remove_damaged(folder: Path) -> None:
    if read_json(folder / _CHECKSUMS) != _checksums(folder):
        shutil.rmtree(folder, ignore_errors=True)


def _checksums(folder: Path) -> dict[str, str]:
    files = sorted(folder.glob("*/*.nb?"))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@contextmanager
def _numba_keeps_in(folder: Path) -> Iterator[None]:
    from numba import config as numba_config

    config: Any = numba_config

    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before
