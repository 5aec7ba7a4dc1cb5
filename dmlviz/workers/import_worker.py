"""Reads uploaded files in a process of its own, for a preview: `python -m dmlviz.workers.import_worker FOLDER`.

The folder holds `request.json`. `progress.json` is written while files are read, and `preview.json` at the end.
"""

import sys
import time
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from typing_extensions import TypedDict

from dmlviz.data.import_report import ImportedClass, ImportReport
from dmlviz.errors import DiskFullError, UserError
from dmlviz.process_setup import limit_resources, lower_priority
from dmlviz.storage.disk_space import is_disk_full
from dmlviz.storage.files import read_json, write_json

if TYPE_CHECKING:
    from dmlviz.data.embedding_file import LabeledEmbeddings
    from dmlviz.data.image_folder import Color
    from dmlviz.data.import_report import ImportedDataset

MAX_SECONDS = 900  # of processor time
MAX_MEMORY = 6 * 1024**3
DISK_FULL_STATUS = 28  # that this process ends with, as there is no room for a preview
PROGRESS_INTERVAL_S = 0.2  # seconds between two words on the progress
TILES, MOST_TILES = 8, 240  # of a class, and in all


class ImportedTiles(TypedDict):
    """The first pictures of each class on one sheet."""

    url: str
    columns: int
    counts: list[int]


class ImportPreview(ImportReport):
    """The content of `preview.json`; `name` is that of the data set of pictures, or the ID of the run of vectors."""

    kind: Literal["pictures", "vectors"]
    name: str
    title: str
    summary: str
    side: int | None
    tiles: ImportedTiles | None


class ImportFailure(TypedDict):
    """The content of `preview.json` after an error."""

    kind: Literal["failure"]
    error: str


class ImportRequest(TypedDict):
    """The content of `request.json`; `file` and `labels` are paths."""

    file: str
    labels: str | None
    title: str
    side: int | None
    color: "Color"
    folder_level: int | None


def main() -> None:
    """Read the files that the folder's request names, and write the preview."""
    folder = Path(sys.argv[1])
    lower_priority()
    limit_resources(MAX_SECONDS, MAX_MEMORY)
    request: ImportRequest = read_json(folder / "request.json")
    preview: ImportPreview | ImportFailure
    try:
        preview = _import(folder, request)
    except Exception as error:
        if isinstance(error, OSError) and is_disk_full(error):  # a DiskFullError, too: there is no room to say so
            sys.exit(DISK_FULL_STATUS)
        preview = ImportFailure(kind="failure", error=_reason(error))
    try:
        write_json(folder / "preview.json", preview)
    except DiskFullError:
        sys.exit(DISK_FULL_STATUS)


def _reason(error: Exception) -> str:
    """Return why an import failed, in a sentence for the person."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError):
        return "There was not enough memory to read this: upload fewer pictures at a time."
    return f"This could not be read ({type(error).__name__}): check the files, or leave some out."


def _import(folder: Path, request: ImportRequest) -> ImportPreview:
    from dmlviz.data.embedding_file import LabeledEmbeddings
    from dmlviz.data.import_path import import_path
    from dmlviz.data.table_file import Choice

    last_write_s = 0.0

    def progress(done: int, of: int) -> None:
        nonlocal last_write_s
        if time.monotonic() - last_write_s > PROGRESS_INTERVAL_S:
            last_write_s = time.monotonic()
            write_json(folder / "progress.json", {"done": done, "of": of})

    result = import_path(
        Path(request["file"]),
        title=request["title"],
        labels=Path(request["labels"]) if request["labels"] else None,
        side=request["side"],
        color=request["color"],
        choice=Choice(folder_level=request["folder_level"]),
        progress=progress,
        follow_paths=False,
    )
    if isinstance(result, LabeledEmbeddings):
        return _save_embeddings(folder, request, result)
    return _save_images(folder, result)


def _save_images(folder: Path, dataset: "ImportedDataset") -> ImportPreview:
    dataset.save(folder)
    return ImportPreview(
        **dataset.report,
        kind="pictures",
        name=dataset.declared.name,
        title=dataset.declared.title,
        summary=dataset.declared.summary,
        side=dataset.declared.size,
        tiles=_preview_tiles(dataset.parts, len(dataset.declared.classes)),
    )


def _preview_tiles(parts: dict[str, np.ndarray], classes: int) -> ImportedTiles:
    """Return the first pictures of each class, a row for each class, as one PNG."""
    from PIL import Image

    from dmlviz.data.sprite_sheet import small_images, tile_side

    images, labels = parts["train_images"], parts["train_labels"]
    classes = min(classes, MOST_TILES)
    columns = int(np.clip(MOST_TILES // classes, 1, TILES))
    side = tile_side(images)
    sheet = np.zeros((classes * side, columns * side, *images.shape[3:]), np.uint8)
    counts = []
    for label in range(classes):
        members = np.flatnonzero(labels == label)[:columns]
        counts.append(len(members))
        for column, member in enumerate(members):
            sheet[label * side : (label + 1) * side, column * side : (column + 1) * side] = small_images(
                images[member][None]
            )[0]
    file = BytesIO()
    Image.fromarray(sheet).save(file, "PNG")
    png = b64encode(file.getvalue()).decode()
    return ImportedTiles(url=f"data:image/png;base64,{png}", columns=columns, counts=counts)


def _save_embeddings(folder: Path, request: ImportRequest, embeddings: "LabeledEmbeddings") -> ImportPreview:
    from dmlviz.runs.import_embeddings import dataset_spec, import_embeddings, import_notes
    from dmlviz.runs.store import Runs

    run = import_embeddings(Runs(folder / "runs", folder / "none"), embeddings, request["title"], folder)
    counts = np.bincount(embeddings.labels, minlength=len(embeddings.classes))
    score = run.score("precision_at_1")
    return ImportPreview(
        kind="vectors",
        name=run.id,
        title=request["title"],
        summary=dataset_spec(embeddings, request["title"]).summary,
        side=None,
        tiles=None,
        files=1,
        taken=1,
        classes=[
            ImportedClass(name=name, test=int(count)) for name, count in zip(embeddings.classes, counts, strict=True)
        ],
        notes=[
            "There is nothing to train: the vectors are shown as they are, as a finished run without a net.",
            *([] if score is None else [f"P@1 among all of them is {score:.3f}, by Euclidean distance."]),
            *import_notes(embeddings),
        ],
        warnings=[],
        left_out=[],
    )


if __name__ == "__main__":
    main()
