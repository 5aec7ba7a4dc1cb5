"""Checks of an unpacked run, file by file, before it is one of the runs of a server."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data.columns import FILE
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.damage import check
from dmlviz.runs.gallery import Gallery
from dmlviz.runs.run import EventLogDir, Run
from dmlviz.runs.run_info import Info
from dmlviz.runs.store import run_id
from dmlviz.storage.files import write_json
from dmlviz.storage.run_schema.descriptions import METRICS, PROJECTION, RUN
from dmlviz.storage.run_schema.events import frames_of
from dmlviz.storage.run_schema.validation import OBJECT, read
from dmlviz.storage.text import one_line

MAX_LINES = 20_000  # of an events.jsonl


def invalid_export(reason: str) -> UserError:
    """Return the error for an archive that is no run."""
    return UserError(f"Not a valid dmlviz export: {reason}.")


def check_unpacked(folder: Path, holder: str) -> Path:
    """Check every file and return the folder, renamed to the ID that follows from the settings (and the holder).

    Raises:
        UserError: If it is not a valid run.
    """
    if not (folder / "run.json").is_file():
        raise invalid_export("run.json is missing")
    info = _validate_config(folder / "run.json", RUN)
    config = TrainConfig(**info["config"])
    # The ID follows from the settings, not from the file: equal settings are one run.
    new_id = run_id(config, info.get("recording", ""), holder, info.get("plugins", {}))
    tags = [one_line(tag, 30) for tag in info.get("tags", [])]
    overrides = {
        "id": new_id,
        "title": one_line(info["title"]) or "Run",
        "pinned": False,
        "tags": [*filter(None, tags)],
    }
    write_json(folder / "run.json", info | overrides | {"config": config.model_dump(mode="json")})
    target = folder.with_name(new_id)
    folder.rename(target)
    run = Run(target)
    for path in sorted(target.glob("projections/*")):
        _check_projection(path)
    for record in run.records():
        _rewrite(record)
    if (target / "metrics.json").is_file():
        write_json(target / "metrics.json", read(METRICS, target / "metrics.json"))
    if run.embeddings is not None and (run.labels is None or run.tracked_indices is None):
        raise invalid_export("embeddings without labels")
    for damage in check(run, thorough=True):
        raise damage
    _check_columns(run)
    _check_frames(run)
    _check_gallery(run)
    return target


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


def _validate_config(path: Path, schema: TypeAdapter[Info]) -> Info:
    """Read run.json or projection.json, and register the custom data set that a run describes."""
    content = read(OBJECT, path)
    if content.get("version") != 1:
        raise invalid_export(
            "it was created by an incompatible version of dmlviz; export the run again with this version"
        )
    _check_texts(path, content)
    info = read(schema, path)
    described: Any = info  # a projection has no data set
    if "dataset" not in info:
        return info
    dataset = described["dataset"]
    if dataset["name"] != info["config"].get("dataset"):
        raise DamagedFileError(path, "it describes a different data set than the config names")
    DATASETS.register(dataset)
    spec: DatasetSpec = DATASETS[dataset["name"]]
    if [*spec.classes] != dataset["classes"] or (spec.size, spec.channels) != (dataset["size"], dataset["channels"]):
        raise invalid_export(f"its description of {spec.title} differs from the data set on this machine")
    return info


def _check_projection(folder: Path) -> None:
    if not (folder / "projection.json").is_file():
        raise invalid_export("a projection without projection.json")
    info = _validate_config(folder / "projection.json", PROJECTION)
    config = ProjectionConfig(**info["config"])
    if config.id != folder.name and config.method not in PROJECTIONS.code:
        raise invalid_export("the folder of a projection does not match its settings")
    write_json(folder / "projection.json", info | {"id": folder.name, "config": config.model_dump(mode="json")})


def _rewrite(record: EventLogDir) -> None:
    """Rewrite the log with complete lines and known fields only."""
    path = record.log.path
    if not path.is_file():
        raise invalid_export("events.jsonl is missing")
    lines: list[bytes] = []
    log_lines = record.log.lines()
    if len(log_lines) > MAX_LINES:
        raise DamagedFileError(path, f"it has {len(log_lines):,} lines, and may have {MAX_LINES:,}")
    for line in log_lines:
        event = record.log.event(line, len(lines))
        content = json.loads(line)
        if _ESCAPED.search(line):
            _check_texts(path, content)
        unchanged = content == event
        lines.append(line if unchanged else json.dumps(event, separators=(",", ":"), allow_nan=False).encode())
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def _check_gallery(run: Run) -> None:
    """Read every picture, and keep them anew: their IDs and names follow from what they are."""
    gallery = Gallery(run)
    pictures = gallery.pictures()
    images = [gallery.image(picture.id) for picture in pictures]
    shutil.rmtree(gallery.folder, ignore_errors=True)
    if pictures:
        gallery.add(images, [picture.name for picture in pictures])


def _check_frames(run: Run) -> None:
    """Check that every frame has the number of items and the hash that it claims."""
    labels, indices = run.labels, run.tracked_indices
    counts = {"all": 0 if labels is None else len(labels), "tracked": 0 if indices is None else len(indices)}
    for record in run.records():
        for event in record.events():
            for frame in frames_of(event):
                if frame["n"] != counts[frame["items"]]:
                    raise DamagedFileError(record.log.path, f"a frame has {frame['n']:,} of {counts[frame['items']]:,}")
        for path in (record.path / "frames").glob("*.i16"):
            record.frame(path.stem)
