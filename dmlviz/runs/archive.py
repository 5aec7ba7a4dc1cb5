"""A run as one file, to pass on and to take in again. What comes in is believed in nothing that was not checked."""

import json
import lzma
import re
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

from pydantic import TypeAdapter

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.damage import check
from dmlviz.runs.run import EventLogDir, Run
from dmlviz.runs.store import Runs
from dmlviz.storage.files import ensure_dir, write_json
from dmlviz.storage.run_schema import METRICS, OBJECT, PROJECTION, RUN, one_line, read

MAX_FILES = 20_000
MAX_BYTES = 1_500_000_000  # unpacked; 10,000 images in 256 dimensions with 60 snapshots of 2,000 are 150 million
MAX_FILE_BYTES = 400_000_000  # of one file in it
CHUNK = 1 << 20

_ID, _STEP = "[0-9a-f]{16}", "(?:0|[1-9][0-9]{0,8})"
# The files of a run, and no other: no name leads out of its folder.
_NAME = re.compile(
    r"(?:run|metrics)\.json|events\.jsonl|(?:labels|tracked|embeddings)\.npy|basis\.npz|weights\.safetensors"
    rf"|snapshots/{_STEP}\.npy|nets/{_STEP}\.safetensors|batches/{_STEP}\.npz|frames/{_ID}\.i16"
    rf"|projections/{_ID}/(?:projection\.json|events\.jsonl|coordinates\.npy|faithfulness\.npz|frames/{_ID}\.i16)"
)


def export_run(run: Run, file: IO[bytes]) -> None:
    """Write a run as a zip; raise UserError while it trains."""
    if run.state == "running":
        raise UserError(f"{run.title} is still training; wait for its end, or stop it.")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(run.path.rglob("*")):
            name = path.relative_to(run.path).as_posix()
            if path.is_file() and _NAME.fullmatch(name):
                archive.write(path, name)


def import_run(file: IO[bytes], runs: Runs) -> Run:
    """Take a run in from a zip; raise UserError, and leave nothing behind, for anything but a whole run."""
    folder = Path(tempfile.mkdtemp(prefix=".new-", dir=ensure_dir(runs.folder)))
    staged = folder / "run"
    try:
        try:
            staged.mkdir()
            with zipfile.ZipFile(file) as archive:
                _extract(archive, staged)
        except _NO_ZIP as error:
            said = one_line(str(error), 80) or type(error).__name__
            raise UserError(f"That is no readable zip file ({said}); take one that Export wrote.") from None
        try:
            checked = _validate(staged)
        except DamagedFileError as error:
            raise UserError(
                f"{error.file} in the zip cannot be read: {error.why}. Take one that Export wrote."
            ) from None
        place = runs.folder / checked.name
        if place.exists():
            raise UserError(f"This run is here already, as {_title(place)!r}; delete that one to take this one in.")
        checked.rename(place)
        return Run(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_NO_ZIP = (
    *(zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ValueError),
    *(KeyError, IndexError, TypeError, OverflowError, zlib.error, lzma.LZMAError, struct.error),
)


def _title(place: Path) -> str:
    try:
        return Run(place).title
    except UserError:
        return place.name


def _extract(archive: zipfile.ZipFile, folder: Path) -> None:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MAX_FILES:
        raise UserError(f"A run has at most {MAX_FILES:,} files; got {len(entries):,}.")
    left, seen = MAX_BYTES, set()
    for entry in entries:
        name = entry.filename
        if not _NAME.fullmatch(name) or stat.S_ISLNK(entry.external_attr >> 16):
            raise UserError(f"A run has no file {name[:60]!r}; take a zip that Export wrote.")
        if name in seen:
            raise UserError(f"The zip holds {name} twice; take one that Export wrote.")
        seen.add(name)
        left -= _copy(archive, entry, folder / name, min(left, MAX_FILE_BYTES))


def _copy(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, most: int) -> int:
    """Unpack one file, believing nothing that the zip says of its size; gives the bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with archive.open(entry) as source, open(path, "wb") as target:
        while part := source.read(CHUNK):
            size += len(part)
            if size > most:
                raise UserError(f"{entry.filename} is larger than any file of a run; take a zip that Export wrote.")
            target.write(part)
    return size


def _validate(folder: Path) -> Path:
    """The folder of the run under the name that its settings give it, each file in it being what its name says."""
    if not (folder / "run.json").is_file():
        raise UserError("The zip holds no run (no run.json); take one that Export wrote.")
    _check_version(folder / "run.json")
    told = _validate_config(folder / "run.json", RUN)
    config = TrainConfig(**told["config"])
    # The identity follows from the settings, whatever the file says: the same request is the same run.
    tags = [one_line(tag, 30) for tag in told.get("tags", [])]
    ours = {"id": config.id, "title": one_line(told["title"]) or "Run", "pinned": False, "tags": [*filter(None, tags)]}
    write_json(folder / "run.json", told | ours | {"config": config.model_dump(mode="json")})
    place = folder.with_name(config.id)
    folder.rename(place)
    run = Run(place)
    for described in sorted(place.glob("projections/*")):
        _check_projection(described)
    for record in (run, *run.projections()):
        _rewrite(record)
    if (place / "metrics.json").is_file():
        write_json(place / "metrics.json", read(METRICS, place / "metrics.json"))
    if run.embeddings is not None and (run.labels is None or run.tracked_indices is None):
        raise UserError("The zip holds embeddings without their classes; take one that Export wrote.")
    for damage in check(run, thorough=True):
        raise damage
    _check_frames(run)
    return place


def _check_version(path: Path) -> None:
    told = read(OBJECT, path)
    if told.get("version") != 1:
        raise UserError("The zip holds a run of another version of dmlviz; export it anew with that of today.")


def _validate_config(path: Path, schema: TypeAdapter[Any]) -> dict[str, Any]:
    """What a run or a projection says of itself, and, in a run, of data that are not everybody's."""
    told: dict[str, Any] = read(schema, path)
    own = told.get("dataset")
    if own is None:
        return told
    if own["name"] != told["config"].get("dataset"):
        raise DamagedFileError(path, "it describes other data than it was trained on")
    DATASETS.register(own)
    known = DATASETS[own["name"]]
    if [*known.classes] != own["classes"] or (known.size, known.channels) != (own["size"], own["channels"]):
        raise UserError(f"The run says of its data what is not so: {known.title} on this machine is different.")
    return told


def _check_projection(folder: Path) -> None:
    if not (folder / "projection.json").is_file():
        raise UserError("The zip holds a projection without its settings; take one that Export wrote.")
    told = _validate_config(folder / "projection.json", PROJECTION)
    config = ProjectionConfig(**told["config"])
    if config.id != folder.name:
        raise UserError("A projection in the zip is not what its name says; take one that Export wrote.")
    write_json(folder / "projection.json", told | {"id": config.id, "config": config.model_dump(mode="json")})


def _rewrite(record: EventLogDir) -> None:
    """The log with whole lines only, and nothing in them that no event has."""
    path = record.log.path
    if not path.is_file():
        raise UserError("The zip holds no log of its run; take one that Export wrote.")
    lines: list[bytes] = []
    for line in record.log.lines():
        event = record.log.event(line, len(lines))
        same = json.loads(line) == event
        lines.append(line if same else json.dumps(event, separators=(",", ":"), allow_nan=False).encode())
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def _check_frames(run: Run) -> None:
    """Whether every frame shows the images that it says, and is that of its name."""
    labels, tracked = run.labels, run.tracked_indices
    counts = {"all": 0 if labels is None else len(labels), "tracked": 0 if tracked is None else len(tracked)}
    for record in (run, *run.projections()):
        for event in record.events():
            for frame in event.get("frames") or [event.get("frame")]:
                if frame is not None and frame["n"] != counts[frame["items"]]:
                    raise DamagedFileError(record.log.path, f"a frame has {frame['n']:,} of {counts[frame['items']]:,}")
        for path in (record.path / "frames").glob("*.i16"):
            record.frame(path.stem)
