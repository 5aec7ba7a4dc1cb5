"""Export and import of runs as zip files. Imported archives are fully validated; nothing in them is executed."""

import json
import lzma
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data.file_source import entries_in
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.archive_checks import check_unpacked, invalid_export
from dmlviz.runs.files import file_named
from dmlviz.runs.gallery import Gallery, packed
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.storage.archives import CHUNK, unpack_entry
from dmlviz.storage.disk_space import disk_full, is_disk_full, new_folder
from dmlviz.storage.files import ensure_dir
from dmlviz.storage.regular_file import open_regular
from dmlviz.storage.text import one_line

MAX_FILES = 20_000
MAX_BYTES = 1_500_000_000  # unpacked; 10,000 images in 256 dimensions with 60 snapshots of 2,000 are 150 million
MAX_FILE_BYTES = 400_000_000  # per file, unpacked
# An archive of a few bytes unpacks to no more than this; what training writes is packed to two thirds.
FREE_BYTES, MAX_RATIO = 60_000_000, 10
MAX_LOG_BYTES = 4_000_000  # of a run's events.jsonl; that of 1,500 points of a curve and 60 snapshots has 0.3 million
MAX_LOGS_BYTES = 8_000_000  # of those of the run and of its projections
MAX_JSON_BYTES = 4_000_000  # of any other JSON file
TOO_MUCH = "Not a valid dmlviz export: checking it takes too much time or memory."


def export_run(run: Run, file: IO[bytes], compress: bool = True) -> None:
    """Write a run as a zip file; raise UserError while it trains."""
    if run.state == "running":
        raise UserError(f"{run.title} is still training; stop it or wait until training ends.")
    kept = []
    with suppress(DamagedFileError):
        kept = Gallery(run).pictures([""])
    shared = {picture.id for picture in kept}
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method, compresslevel=1) as archive:
        for path in sorted(run.path.rglob("*")):
            name = path.relative_to(run.path).as_posix()
            if name == "run.json":
                with archive.open(name, "w") as part:  # not writestr: equal runs make equal archives, without a date
                    part.write(json.dumps(run.info, indent=1).encode())  # with the title that its exporter gave it
            elif name == "gallery/index.json" and kept:
                with archive.open(name, "w") as part:
                    part.write(packed(kept))
            elif name.startswith("gallery/") and path.stem not in shared:
                continue  # what somebody else keeps with the run stays there
            elif file_named(name) is not None and not path.is_dir():
                with open_regular(path) as source, archive.open(name, "w") as part:
                    shutil.copyfileobj(source, part, CHUNK)


Unpack = Callable[[IO[bytes], Path, str, int], str]


def import_run(
    file: IO[bytes],
    runs: Runs,
    holder: str = "",
    allow: Callable[[TrainConfig], object] = lambda config: None,
    room: int = MAX_BYTES,
    unpack: "Unpack | None" = None,
) -> Run:
    """Import a run from a zip file.

    Args:
        file: The zip file.
        runs: The runs to which it is added.
        holder: ID of the person whose run it is to be. It gets an ID of its own then, since others who train with the
            same settings must not be given what this person's file claims.
        allow: Called with the settings before the run is kept; raises UserError to refuse it.
        room: Bytes that the run may take.
        unpack: Function that unpacks and checks it; by default `unpack_run`.

    Returns:
        The run.

    Raises:
        UserError: If the archive is not a valid run, or the run exists already; nothing is left on disk or in memory
            then.
        DiskFullError: If there is no room for it.
    """
    with unpacked_run(file, ensure_dir(runs.folder), holder, room, unpack) as run:
        allow(run.config)
        target = runs.folder / run.id
        if target.exists():
            raise UserError(f"This run is already imported as {_title(target)!r}; delete it first.")
        run.path.rename(target)
    accepted = Run(target)
    _ = accepted.config  # only now is known what it says of its data set
    return accepted


@contextmanager
def unpacked_run(
    file: IO[bytes], folder: Path, holder: str = "", room: int = MAX_BYTES, unpack: "Unpack | None" = None
) -> Iterator[Run]:
    """Unpack a run into a temporary folder inside `folder`, validated, for as long as the block lasts.

    Its description of the data set is known inside the block only.

    Raises:
        UserError: If the archive is not a valid run.
    """
    with new_folder(folder) as temporary, DATASETS.apart():
        yield Run(temporary / (unpack or unpack_run)(file, temporary, holder, room))


def unpack_run(file: IO[bytes], folder: Path, holder: str = "", room: int = MAX_BYTES) -> str:
    """Unpack a run into a folder of its own inside `folder` and check all of it.

    Args:
        file: The zip file.
        folder: An empty folder.
        holder: See `import_run`.
        room: Bytes that it may take.

    Returns:
        The ID that follows from its settings and the holder, which is the name of its folder.

    Raises:
        UserError: If the archive is not a valid run.
        DiskFullError: If there is no room for it.
    """
    run_folder = folder / "run"
    try:
        run_folder.mkdir()
        if entries_in(file, 2 * MAX_FILES) > 2 * MAX_FILES:  # folders have entries, too
            raise invalid_export(f"a run has at most {MAX_FILES:,} files; got more than {2 * MAX_FILES:,}")
        packed_size = file.seek(0, os.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            _extract(archive, run_folder, min(room, MAX_BYTES, FREE_BYTES + MAX_RATIO * packed_size))
    except UserError:  # a ValueError too
        raise
    except _NO_ZIP as error:
        if is_disk_full(error):
            raise
        reason = one_line(str(error), 80) or type(error).__name__
        raise invalid_export(f"it is no readable zip file ({reason})") from None
    try:
        return check_unpacked(run_folder, holder).name
    except DamagedFileError as error:
        raise invalid_export(f"{error.file}: {error.reason}") from None


_NO_ZIP = (
    *(zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ValueError),
    *(KeyError, IndexError, TypeError, OverflowError, zlib.error, lzma.LZMAError, struct.error),
)


def _title(folder: Path) -> str:
    try:
        return Run(folder).title
    except UserError:
        return folder.name


def _extract(archive: zipfile.ZipFile, folder: Path, most: int) -> None:
    """Unpack every file, at most `most` bytes in all: what the archive declares is checked first, and not believed."""
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MAX_FILES:
        raise invalid_export(f"a run has at most {MAX_FILES:,} files; got {len(entries):,}")
    names, left = set(), {"": most, "events.jsonl": MAX_LOGS_BYTES}  # bytes, of all files and of all logs
    total = sum(entry.file_size for entry in entries)
    if total > most:
        raise _too_large(most, total)
    if total > shutil.disk_usage(folder).free:
        raise disk_full(folder, total)
    for entry in entries:
        name = entry.filename
        if file_named(name) is None or stat.S_ISLNK(entry.external_attr >> 16):
            raise invalid_export(f"unexpected file {name[:60]!r}")
        if name in names:
            raise invalid_export(f"duplicate file {name}")
        names.add(name)
        kind = name.rpartition("/")[2]
        limit = min(_max_size(name), left.get(kind, most))
        size = unpack_entry(archive, entry, folder / name, min(limit, left[""]))
        if size is None:
            raise (
                _too_large(most)
                if left[""] < limit
                else invalid_export(f"{name} is too large: it may have {limit / 1e6:g} MB")
            )
        for part in ("", kind):
            if part in left:
                left[part] -= size


def _max_size(name: str) -> int:
    if name.endswith("events.jsonl"):
        return MAX_LOG_BYTES
    return MAX_JSON_BYTES if name.endswith(".json") else MAX_FILE_BYTES


def _too_large(most: int, size: int = 0) -> UserError:
    got = f"; got {size / 1e6:,.1f} MB" if size else ""
    return invalid_export(f"it is too large: unpacked, it may take {most / 1e6:,.1f} MB here{got}")
