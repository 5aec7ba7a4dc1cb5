"""Cached reading of run.json and projection.json."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import TypeAdapter

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import Config
from dmlviz.errors import MISSING, DamagedFileError, UnknownNameError, UserError
from dmlviz.runs.event_log_dir import MissingPluginError, UnreadableRunError
from dmlviz.storage.files import is_run_id, read_json, write_json
from dmlviz.storage.run_schema.descriptions import ProjectionDescription, RunDescription
from dmlviz.storage.run_schema.validation import read
from dmlviz.storage.text import one_line

if TYPE_CHECKING:
    from dmlviz.runs.run import Run

C = TypeVar("C", bound=Config)
Info = TypeVar("Info", RunDescription, ProjectionDescription)


def read_info(path: Path, schema: TypeAdapter[Info]) -> Info:
    """Return a copy of the parsed file, cached until the file changes."""
    parse = _parse.__wrapped__ if DATASETS.is_apart else _parse
    info: Info = parse(path, schema, _stamp(path))
    return info.copy()


def update_info(run: "Run", **fields: Any) -> None:
    """Write fields into a run's run.json, where the others may be new."""
    file = run.path / "run.json"
    run.info = cast(RunDescription, (read_json(file) or run.info) | fields)
    write_json(file, run.info)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError as error:
        reason = MISSING if isinstance(error, FileNotFoundError) else str(error.strerror).lower()
        raise UnreadableRunError(path, reason) from None
    return status.st_ino, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4096)
def _parse(path: Path, schema: TypeAdapter[Info], stamp: tuple[int, int, int]) -> Info:
    try:
        info = read(schema, path)
    except FileNotFoundError:
        raise UnreadableRunError(path, MISSING) from None
    except DamagedFileError as error:
        raise UnreadableRunError(path, error.reason) from None
    if is_run_id(path.parent.name) and info["id"] != path.parent.name:
        raise UnreadableRunError(path, f"it is that of {info['id']}")
    return info


def read_config(path: Path, kind: type[C], schema: TypeAdapter[Info]) -> C:
    """Return the config in run.json or projection.json, cached until the file changes."""
    validate = _validate.__wrapped__ if DATASETS.is_apart else _validate  # nothing is kept of a run that is refused
    config: C = validate(path, kind, schema, _stamp(path))
    return config


@lru_cache(maxsize=4096)
def _validate(path: Path, kind: type[C], schema: TypeAdapter[Info], stamp: tuple[int, int, int]) -> C:
    info: Any = read_info(path, schema)  # a projection has neither data set nor title
    if "dataset" in info:
        DATASETS.register(info["dataset"])
    try:
        return kind(**info["config"])
    except UserError as error:
        reason = one_line(str(error), 300).rstrip(".")
        if isinstance(error, UnknownNameError):
            raise MissingPluginError(path, reason, one_line(info.get("title", ""), 80)) from None
        raise UnreadableRunError(path, reason) from None
