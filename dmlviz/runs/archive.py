"""Export and import of runs as zip files. Imported archives are fully validated; nothing in them is executed."""

import json
import lzma
import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pydantic import TypeAdapter

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data.columns import FILE
from dmlviz.data.zip_directory import entries_in
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.damage import check
from dmlviz.runs.run import EventLogDir, Run
from dmlviz.runs.store import Runs, run_id
from dmlviz.storage.archives import CHUNK, unpack_entry
from dmlviz.storage.disk_space import disk_full, is_disk_full, new_folder
from dmlviz.storage.files import ensure_dir, write_json
from dmlviz.storage.regular_file import open_regular
from dmlviz.storage.run_schema.descriptions import METRICS, PROJECTION, RUN
from dmlviz.storage.run_schema.events import frames_of
from dmlviz.storage.run_schema.validation import OBJECT, read
from dmlviz.storage.text import one_line

MAX_FILES = 20_000
MAX_BYTES = 1_500_000_000  # unpacked; 10,000 images in 256 dimensions with 60 snapshots of 2,000 are 150 million
MAX_FILE_BYTES = 400_000_000  # per file, unpacked
# An archive of a few bytes unpacks to no more than this; what training writes is packed to two thirds.
FREE_BYTES, MAX_RATIO = 60_000_000, 10
MAX_LOG_BYTES = 4_000_000  # of a run's events.jsonl; that of 1,500 points of a curve and 60 snapshots has 0.3 million
MAX_LOGS_BYTES = 8_000_000  # of those of the run and of its projections
MAX_LINES = 20_000  # of one of them
MAX_JSON_BYTES = 4_000_000  # of any other JSON file
STAGED_REQUEST = "request.json"  # beside an archive that a process of its own unpacks
TOO_MUCH = "Not a valid dmlviz export: checking it takes too much time or memory."

_ID, _STEP = "[0-9a-f]{16}", "(?:0|[1-9][0-9]{0,8})"
_NAME = re.compile(
    r"(?:run|metrics)\.json|columns\.parquet|events\.jsonl|(?:labels|tracked|scored|embeddings)\.npy|basis\.npz|(?:weights|loss)\.safetensors"
    rf"|snapshots/{_STEP}\.npy|nets/{_STEP}\.safetensors|batches/{_STEP}\.npz|frames/{_ID}\.i16"
    rf"|projections/{_ID}/(?:projection\.json|events\.jsonl|coordinates\.npy|faithfulness\.npz|frames/{_ID}\.i16)"
)


def export_run(run: Run, file: IO[bytes], compress: bool = True) -> None:
    """Write a run as a zip file; raise UserError while it trains."""
    if run.state == "running":
        raise UserError(f"{run.title} is still training; stop it or wait until training ends.")
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method, compresslevel=1) as archive:
        for path in sorted(run.path.rglob("*")):
            name = path.relative_to(run.path).as_posix()
            if name == "run.json":
                with archive.open(name, "w") as part:  # not writestr: equal runs make equal archives, without a date
                    part.write(json.dumps(run.info, indent=1).encode())  # with the title that its exporter gave it
            elif is_run_file(name) and not path.is_dir():
                with open_regular(path) as stored, archive.open(name, "w") as part:
                    shutil.copyfileobj(stored, part, CHUNK)


def is_run_file(name: str) -> bool:
    """Return whether a file of this name, with / between its parts, belongs to a run; none leads out of its folder."""
    return _NAME.fullmatch(name) is not None


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
    staged = folder / "run"
    try:
        staged.mkdir()
        if entries_in(file, 2 * MAX_FILES) > 2 * MAX_FILES:  # folders have entries, too
            raise _invalid(f"a run has at most {MAX_FILES:,} files; got more than {2 * MAX_FILES:,}")
        packed = file.seek(0, os.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            _extract(archive, staged, min(room, MAX_BYTES, FREE_BYTES + MAX_RATIO * packed))
    except UserError:  # a ValueError too
        raise
    except _NO_ZIP as error:
        if is_disk_full(error):
            raise
        reason = one_line(str(error), 80) or type(error).__name__
        raise _invalid(f"it is no readable zip file ({reason})") from None
    try:
        return _validate(staged, holder).name
    except DamagedFileError as error:
        raise _invalid(f"{error.file}: {error.reason}") from None


_NO_ZIP = (
    *(zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ValueError),
    *(KeyError, IndexError, TypeError, OverflowError, zlib.error, lzma.LZMAError, struct.error),
)


def _invalid(reason: str) -> UserError:
    return UserError(f"Not a valid dmlviz export: {reason}.")


def _title(folder: Path) -> str:
    try:
        return Run(folder).title
    except UserError:
        return folder.name


def _extract(archive: zipfile.ZipFile, folder: Path, most: int) -> None:
    """Unpack every file, at most `most` bytes in all: what the archive declares is checked first, and not believed."""
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MAX_FILES:
        raise _invalid(f"a run has at most {MAX_FILES:,} files; got {len(entries):,}")
    seen, left = set(), {"": most, "events.jsonl": MAX_LOGS_BYTES}  # bytes, of all files and of all logs
    declared = sum(entry.file_size for entry in entries)
    if declared > most:
        raise _too_large(most, declared)
    if declared > shutil.disk_usage(folder).free:
        raise disk_full(folder, declared)
    for entry in entries:
        name = entry.filename
        if not is_run_file(name) or stat.S_ISLNK(entry.external_attr >> 16):
            raise _invalid(f"unexpected file {name[:60]!r}")
        if name in seen:
            raise _invalid(f"duplicate file {name}")
        seen.add(name)
        kind = name.rpartition("/")[2]
        limit = min(_max_size(name), left.get(kind, most))
        size = unpack_entry(archive, entry, folder / name, min(limit, left[""]))
        if size is None:
            raise (
                _too_large(most)
                if left[""] < limit
                else _invalid(f"{name} is too large: it may have {limit / 1e6:g} MB")
            )
        for part in ("", kind):
            if part in left:
                left[part] -= size


def _max_size(name: str) -> int:
    if name.endswith("events.jsonl"):
        return MAX_LOG_BYTES
    return MAX_JSON_BYTES if name.endswith(".json") else MAX_FILE_BYTES


def _too_large(most: int, declared: int = 0) -> UserError:
    got = f"; got {declared / 1e6:,.1f} MB" if declared else ""
    return _invalid(f"it is too large: unpacked, it may take {most / 1e6:,.1f} MB here{got}")


def _validate(folder: Path, holder: str) -> Path:
    """Check every file and return the folder, renamed to the ID that follows from the settings (and the holder)."""
    if not (folder / "run.json").is_file():
        raise _invalid("run.json is missing")
    _check_version(folder / "run.json")
    _check_texts(folder / "run.json", read(OBJECT, folder / "run.json"))
    info = _validate_config(folder / "run.json", RUN)
    config = TrainConfig(**info["config"])
    # The ID follows from the settings, not from the file: equal settings are one run.
    new_id = run_id(config, info.get("recording", ""), holder)
    tags = [one_line(tag, 30) for tag in info.get("tags", [])]
    overrides = {
        "id": new_id,
        "title": one_line(info["title"]) or "Run",
        "pinned": False,
        "tags": [*filter(None, tags)],
    }
    write_json(folder / "run.json", info | overrides | {"config": config.model_dump(mode="json")})
    renamed = folder.with_name(new_id)
    folder.rename(renamed)
    run = Run(renamed)
    for described in sorted(renamed.glob("projections/*")):
        _check_projection(described)
    for record in run.records():
        _rewrite(record)
    if (renamed / "metrics.json").is_file():
        write_json(renamed / "metrics.json", read(METRICS, renamed / "metrics.json"))
    if run.embeddings is not None and (run.labels is None or run.tracked_indices is None):
        raise _invalid("embeddings without labels")
    for damage in check(run, thorough=True):
        raise damage
    _check_columns(run)
    _check_frames(run)
    return renamed


_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_ESCAPED = re.compile(rb"\\u|\x7f|\xef\xbf[\xbe\xbf]")  # what a line of JSON with such a character holds


def _check_texts(path: Path, value: object) -> None:
    """Raise DamagedFileError for a text that XML or a browser cannot hold, anywhere in a JSON document."""
    if isinstance(value, str):
        if unfit := _UNFIT.search(value):
            raise DamagedFileError(path, f"a text holds the character U+{ord(unfit[0]):04X}, which no page can show")
    elif isinstance(value, dict):
        for name, inner in value.items():
            _check_texts(path, name)
            _check_texts(path, inner)
    elif isinstance(value, list):
        for inner in value:
            _check_texts(path, inner)


def _check_columns(run: Run) -> None:
    """Raise DamagedFileError for such a text in a table of columns."""
    import pyarrow
    from pyarrow import compute

    table, path = run.columns, run.path / FILE
    if table is None:
        return
    try:
        table.validate(full=True)
    except pyarrow.ArrowInvalid:
        raise DamagedFileError(path, "a text is not in UTF-8") from None
    _check_texts(path, table.column_names)
    for column in table.columns:
        values = column
        if pyarrow.types.is_dictionary(column.type):
            values = pyarrow.chunked_array([chunk.dictionary for chunk in column.chunks] or [[]])
        if pyarrow.types.is_string(values.type) or pyarrow.types.is_large_string(values.type):
            unfit = values.filter(compute.match_substring_regex(values, _UNFIT_IN_COLUMNS))
            _check_texts(path, unfit.slice(0, 1).to_pylist())


_UNFIT_IN_COLUMNS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x{fffe}\x{ffff}]"


def _check_version(path: Path) -> None:
    info = read(OBJECT, path)
    if info.get("version") != 1:
        raise _invalid("it was created by an incompatible version of dmlviz; export the run again with this version")


def _validate_config(path: Path, schema: TypeAdapter[Any]) -> dict[str, Any]:
    """Read run.json or projection.json, and register the custom data set that a run describes."""
    info: dict[str, Any] = read(schema, path)
    dataset = info.get("dataset")
    if dataset is None:
        return info
    if dataset["name"] != info["config"].get("dataset"):
        raise DamagedFileError(path, "it describes a different data set than the config names")
    DATASETS.register(dataset)
    known = DATASETS[dataset["name"]]
    if [*known.classes] != dataset["classes"] or (known.size, known.channels) != (dataset["size"], dataset["channels"]):
        raise _invalid(f"its description of {known.title} differs from the data set on this machine")
    return info


def _check_projection(folder: Path) -> None:
    if not (folder / "projection.json").is_file():
        raise _invalid("a projection without projection.json")
    info = _validate_config(folder / "projection.json", PROJECTION)
    config = ProjectionConfig(**info["config"])
    if config.id != folder.name:
        raise _invalid("the folder of a projection does not match its settings")
    write_json(folder / "projection.json", info | {"id": config.id, "config": config.model_dump(mode="json")})


def _rewrite(record: EventLogDir) -> None:
    """Rewrite the log with complete lines and known fields only."""
    path = record.log.path
    if not path.is_file():
        raise _invalid("events.jsonl is missing")
    lines: list[bytes] = []
    stored = record.log.lines()
    if len(stored) > MAX_LINES:
        raise DamagedFileError(path, f"it has {len(stored):,} lines, and may have {MAX_LINES:,}")
    for line in stored:
        event = record.log.event(line, len(lines))
        content = json.loads(line)
        if _ESCAPED.search(line):
            _check_texts(path, content)
        unchanged = content == event
        lines.append(line if unchanged else json.dumps(event, separators=(",", ":"), allow_nan=False).encode())
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def _check_frames(run: Run) -> None:
    """Check that every frame has the number of items and the hash that it claims."""
    labels, tracked = run.labels, run.tracked_indices
    counts = {"all": 0 if labels is None else len(labels), "tracked": 0 if tracked is None else len(tracked)}
    for record in run.records():
        for event in record.events():
            for frame in frames_of(event):
                if frame["n"] != counts[frame["items"]]:
                    raise DamagedFileError(record.log.path, f"a frame has {frame['n']:,} of {counts[frame['items']]:,}")
        for path in (record.path / "frames").glob("*.i16"):
            record.frame(path.stem)
