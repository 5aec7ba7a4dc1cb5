"""Export and import of runs as zip files. Imported archives are fully validated; nothing in them is executed."""

import json
import lzma
import re
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pydantic import TypeAdapter

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.damage import check
from dmlviz.runs.run import EventLogDir, Run
from dmlviz.runs.store import Runs, run_id
from dmlviz.storage.files import ensure_dir, write_json
from dmlviz.storage.run_schema.descriptions import METRICS, PROJECTION, RUN
from dmlviz.storage.run_schema.validation import OBJECT, read
from dmlviz.storage.text import one_line

MAX_FILES = 20_000
MAX_BYTES = 1_500_000_000  # unpacked; 10,000 images in 256 dimensions with 60 snapshots of 2,000 are 150 million
MAX_FILE_BYTES = 400_000_000  # per file, unpacked
CHUNK = 1 << 20

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
                archive.writestr(name, json.dumps(run.info, indent=1))  # with the title of whoever exports it
            elif path.is_file() and is_run_file(name):
                archive.write(path, name)


def is_run_file(name: str) -> bool:
    """Return whether a file of this name, with / between its parts, belongs to a run; none leads out of its folder."""
    return _NAME.fullmatch(name) is not None


def import_run(
    file: IO[bytes], runs: Runs, holder: str = "", allow: Callable[[TrainConfig], object] = lambda config: None
) -> Run:
    """Import a run from a zip file.

    Args:
        file: the zip file.
        runs: where to import it.
        holder: ID of the person whose run it is to be. It gets an ID of its own then, since others who train with the
            same settings must not be given what this person's file claims.
        allow: called with the settings before the run is kept; raises UserError to refuse it.

    Returns:
        The run.

    Raises:
        UserError: if the archive is not a valid run, or the run exists already; nothing is left on disk then.
    """
    with unpacked_run(file, ensure_dir(runs.folder), holder) as run:
        allow(run.config)
        target = runs.folder / run.id
        if target.exists():
            raise UserError(f"This run is already imported as {_title(target)!r}; delete it first.")
        run.path.rename(target)
        return Run(target)


@contextmanager
def unpacked_run(file: IO[bytes], folder: Path, holder: str = "") -> Iterator[Run]:
    """Unpack a run into a temporary folder inside `folder`, validated, for as long as the block lasts.

    Raises:
        UserError: if the archive is not a valid run.
    """
    temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
    staged = temporary / "run"
    try:
        try:
            staged.mkdir()
            with zipfile.ZipFile(file) as archive:
                _extract(archive, staged)
        except UserError:  # a ValueError too
            raise
        except _NO_ZIP as error:
            reason = one_line(str(error), 80) or type(error).__name__
            raise _invalid(f"it is no readable zip file ({reason})") from None
        try:
            validated = _validate(staged, holder)
        except DamagedFileError as error:
            raise _invalid(f"{error.file}: {error.reason}") from None
        yield Run(validated)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


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


def _extract(archive: zipfile.ZipFile, folder: Path) -> None:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MAX_FILES:
        raise _invalid(f"a run has at most {MAX_FILES:,} files; got {len(entries):,}")
    budget, seen = MAX_BYTES, set()
    for entry in entries:
        name = entry.filename
        if not is_run_file(name) or stat.S_ISLNK(entry.external_attr >> 16):
            raise _invalid(f"unexpected file {name[:60]!r}")
        if name in seen:
            raise _invalid(f"duplicate file {name}")
        seen.add(name)
        budget -= _copy(archive, entry, folder / name, min(budget, MAX_FILE_BYTES))


def _copy(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, max_bytes: int) -> int:
    """Unpack one file, ignoring the size in its header; return the number of bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with archive.open(entry) as source, open(path, "wb") as target:
        while part := source.read(CHUNK):
            size += len(part)
            if size > max_bytes:
                raise _invalid(f"{entry.filename} is too large")
            target.write(part)
    return size


def _validate(folder: Path, holder: str) -> Path:
    """Check every file and return the folder, renamed to the ID that follows from the settings (and the holder)."""
    if not (folder / "run.json").is_file():
        raise _invalid("run.json is missing")
    _check_version(folder / "run.json")
    info = _validate_config(folder / "run.json", RUN)
    config = TrainConfig(**info["config"])
    # The ID follows from the settings, whatever the file says: equal settings are one run.
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
    for record in (run, *run.projections()):
        _rewrite(record)
    if (renamed / "metrics.json").is_file():
        write_json(renamed / "metrics.json", read(METRICS, renamed / "metrics.json"))
    if run.embeddings is not None and (run.labels is None or run.tracked_indices is None):
        raise _invalid("embeddings without labels")
    for damage in check(run, thorough=True):
        raise damage
    _check_frames(run)
    return renamed


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
    for line in record.log.lines():
        event = record.log.event(line, len(lines))
        unchanged = json.loads(line) == event
        lines.append(line if unchanged else json.dumps(event, separators=(",", ":"), allow_nan=False).encode())
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def _check_frames(run: Run) -> None:
    """Check that every frame has the number of items and the hash that it claims."""
    labels, tracked = run.labels, run.tracked_indices
    counts = {"all": 0 if labels is None else len(labels), "tracked": 0 if tracked is None else len(tracked)}
    for record in (run, *run.projections()):
        for event in record.events():
            for frame in event.get("frames") or [event.get("frame")]:
                if frame is not None and frame["n"] != counts[frame["items"]]:
                    raise DamagedFileError(record.log.path, f"a frame has {frame['n']:,} of {counts[frame['items']]:,}")
        for path in (record.path / "frames").glob("*.i16"):
            record.frame(path.stem)
