"""A run as one file, to pass on and to take in again. What comes in is believed in nothing that was not checked."""

import json
import re
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import numpy as np

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import UserError
from dmlviz.files import make_folder, write_json
from dmlviz.record import Run
from dmlviz.runs import Runs

MOST_FILES = 20_000
MOST_BYTES = 1_500_000_000  # unpacked; 10,000 images in 256 dimensions with 60 snapshots of 2,000 are 150 million
LARGEST = 400_000_000  # of one file in it
CHUNK = 1 << 20

# No name that is not ours leads anywhere: no dots but the one before the ending, no way up.
_NAME = re.compile(r"(?:projections/[0-9a-f]{16}/)?(?:[a-z_]+/)?[A-Za-z0-9_-]+\.(json|jsonl|i16|npy|npz|safetensors)")
_LEFT_OUT = ("lock", "error.txt")


def pack(run: Run, file: IO[bytes]) -> None:
    """Write a run as a zip; raise UserError while it trains."""
    if run.state == "running":
        raise UserError(f"{run.title} is still training; wait for its end, or stop it.")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(run.path.rglob("*")):
            name = path.relative_to(run.path).as_posix()
            if path.is_file() and path.name not in _LEFT_OUT and _NAME.fullmatch(name):
                archive.write(path, name)


def unpack(file: IO[bytes], runs: Runs) -> Run:
    """Take a run in from a zip; raise UserError, and leave nothing behind, for anything but a whole run."""
    folder = Path(tempfile.mkdtemp(prefix=".new-", dir=make_folder(runs.folder)))
    folder.chmod(0o755)
    try:
        try:
            with zipfile.ZipFile(file) as archive:
                _extract(archive, folder)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
            raise UserError(f"That is no readable zip file ({error}); take one that Export wrote.") from None
        config = _checked(folder)
        place = runs.folder / config.id
        if place.exists():
            title = runs.get(config.id).title if (place / "run.json").is_file() else config.id
            raise UserError(f"This run is here already, as {title!r}; delete that one first to take this one in.")
        folder.rename(place)
        return Run(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _extract(archive: zipfile.ZipFile, folder: Path) -> None:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MOST_FILES:
        raise UserError(f"A run has at most {MOST_FILES:,} files; got {len(entries):,}.")
    left, seen = MOST_BYTES, set()
    for entry in entries:
        name = entry.filename
        if not _NAME.fullmatch(name) or stat.S_ISLNK(entry.external_attr >> 16):
            raise UserError(f"A run has no file {name[:60]!r}; take a zip that Export wrote.")
        if name in seen:
            raise UserError(f"The zip holds {name} twice; take one that Export wrote.")
        seen.add(name)
        left -= _copy(archive, entry, folder / name, min(left, LARGEST))


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


def _checked(folder: Path) -> TrainConfig:
    """Whether a folder is a whole run, each file what its name says; gives its config."""
    arrays: dict[str, tuple[tuple[int, ...], np.dtype]] = {}
    for path in sorted(folder.rglob("*.*")):
        name = path.relative_to(folder).as_posix()
        try:
            arrays |= _READERS[path.suffix](path, name)
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"{name} cannot be read ({type(error).__name__}); take a zip that Export wrote.") from None
    config = _described(folder)
    for described in folder.glob("projections/*/projection.json"):
        projection = ProjectionConfig(**_object(described)["config"])
        if projection.id != described.parent.name:
            raise UserError("A projection in the zip is not what its name says; take one that Export wrote.")
    for logged in (folder, *folder.glob("projections/*")):
        if not (logged / "events.jsonl").is_file():
            raise UserError("The zip holds no log of its run; take one that Export wrote.")
        _check_frames(logged)
    _check_arrays(arrays, config)
    return config


def _described(folder: Path) -> TrainConfig:
    path = folder / "run.json"
    if not path.is_file():
        raise UserError("The zip holds no run (no run.json); take one that Export wrote.")
    info = _object(path)
    title, created = info.get("title"), info.get("created")
    if info.get("version") != 1 or not isinstance(title, str) or not isinstance(info.get("config"), dict):
        raise UserError("The zip holds a run of another version of dmlviz; export it anew with that of today.")
    try:
        moment = datetime.fromisoformat(str(created))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise UserError(f"A run says when it was made; got {str(created)[:40]!r}.")
    config = TrainConfig(**info["config"])
    tags = info.get("tags")
    # The identity follows from the settings, whatever the file says: the same request is the same run.
    told = {"id": config.id, "title": " ".join(title.split())[:80] or "Run", "pinned": False}
    write_json(
        path, info | told | {"tags": [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []}
    )
    return config


def _check_arrays(arrays: dict[str, tuple[tuple[int, ...], np.dtype]], config: TrainConfig) -> None:
    labels = arrays.get("labels.npy")
    watched = arrays.get("watched.npy")
    for name, (shape, dtype) in arrays.items():
        folder, _, file = name.rpartition("/")
        if dtype.kind not in "fiubU":
            raise UserError(f"{name} holds {dtype}, and a run holds numbers and names; take a zip that Export wrote.")
        wanted: tuple[int, ...] | None = None
        if labels and name == "embeddings.npy":
            wanted = (labels[0][0], config.embedding_dim)
        elif watched and folder == "snapshots":
            wanted = (watched[0][0], config.embedding_dim)
        elif labels and file == "coordinates.npy":
            wanted = (labels[0][0], shape[-1])
        elif file in ("labels.npy", "watched.npy"):
            wanted = (shape[0],) if shape else (0,)
        if wanted is not None and shape != wanted:
            raise UserError(f"{name} should be {' × '.join(map(str, wanted))}; got {' × '.join(map(str, shape))}.")
    if "embeddings.npy" in arrays and not (labels and watched):
        raise UserError("The zip holds embeddings without their classes; take one that Export wrote.")


def _check_frames(folder: Path) -> None:
    """Whether every frame that the log names is there."""
    for frame in _frames((folder / "events.jsonl").read_bytes()):
        if not (folder / "frames" / f"{frame}.i16").is_file():
            raise UserError("The log of the run names a frame that is not in the zip; take one that Export wrote.")


def _frames(text: bytes) -> Iterator[str]:
    for line in text.splitlines():
        event = json.loads(line)
        for entry in event.get("frames") or [event]:
            frame = entry.get("frame", entry)
            if isinstance(frame, dict) and isinstance(frame.get("id"), str):
                yield frame["id"]


def _json(path: Path, name: str) -> dict[str, Any]:
    json.loads(path.read_bytes())
    return {}


def _lines(path: Path, name: str) -> dict[str, Any]:
    text = path.read_bytes()
    if text and not text.endswith(b"\n"):
        path.write_bytes(text[: text.rfind(b"\n") + 1])  # the torn last line of a run that was cut off
    for line in path.read_bytes().splitlines():
        if not isinstance(json.loads(line).get("event"), str):
            raise ValueError("no event")
    return {}


def _frame(path: Path, name: str) -> dict[str, Any]:
    if sha256(path.read_bytes()).hexdigest()[:16] != path.stem:
        raise UserError(f"{name} is not what its name says; take a zip that Export wrote.")
    return {}


def _array(path: Path, name: str) -> dict[str, Any]:
    found = np.load(path, mmap_mode="r", allow_pickle=False)
    return {name: (found.shape, found.dtype)}


def _arrays(path: Path, name: str) -> dict[str, Any]:
    with zipfile.ZipFile(path) as stored:
        if sum(entry.file_size for entry in stored.infolist()) > LARGEST:
            raise UserError(f"{name} is larger than any file of a run; take a zip that Export wrote.")
    with np.load(path, allow_pickle=False) as stored:
        return {f"{name}/{key}": (stored[key].shape, stored[key].dtype) for key in stored.files}


def _weights(path: Path, name: str) -> dict[str, Any]:
    from safetensors.numpy import load_file

    load_file(path)
    return {}


_READERS = {".json": _json, ".jsonl": _lines, ".i16": _frame, ".npy": _array, ".npz": _arrays, ".safetensors": _weights}


def _object(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_bytes())
    if not isinstance(found, dict) or not isinstance(found.get("config"), dict):
        raise UserError(f"{path.name} holds no settings; take a zip that Export wrote.")
    return found
