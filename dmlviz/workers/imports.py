"""Reads uploaded files for a preview."""

from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NotRequired

import numpy as np
from typing_extensions import TypedDict

from dmlviz.data.import_report import ImportedClass, ImportReport
from dmlviz.errors import UserError
from dmlviz.storage.disk_space import is_disk_full

if TYPE_CHECKING:
    from dmlviz.data.embedding_file import LabeledEmbeddings
    from dmlviz.data.image_folder import Color
    from dmlviz.data.import_report import ImportedDataset

MAX_SECONDS = 900  # of processor time
MAX_MEMORY = 6 * 1024**3
TILES, MOST_TILES = 8, 240  # of a class, and in all


class ImportedTiles(TypedDict):
    """The first pictures of each class on one sheet."""

    url: str
    columns: int
    counts: list[int]


class ImportPreview(ImportReport):
    """What was read; `name` is that of the data set of pictures, or the ID of the run of vectors.

    `plane`: the vectors are points of the plane with classes, which can be trained on, too.
    """

    kind: Literal["pictures", "vectors"]
    name: str
    title: str
    summary: str
    side: int | None
    tiles: ImportedTiles | None
    plane: NotRequired[bool]


class ImportRequest(TypedDict):
    """What to read, and how; `file` and `labels` are paths."""

    file: str
    labels: str | None
    title: str
    side: int | None
    color: "Color"
    folder_level: int | None
    points: bool


def read(folder: Path, request: ImportRequest, progress: Callable[[float], object]) -> ImportPreview:
    """Read the files that a request names, and keep what they hold in a folder.

    Args:
        folder: Gets the data set, in `own`, or the run, in `runs`.
        request: The files, and how to read them.
        progress: Called with the share of the files that is read.

    Raises:
        UserError: If they cannot be read.
    """
    try:
        return _import(folder, request, progress)
    except MemoryError:
        raise UserError("There was not enough memory to read this: upload fewer pictures at a time.") from None
    except Exception as error:
        if isinstance(error, UserError) or is_disk_full(error):
            raise
        raise UserError(
            f"This could not be read ({type(error).__name__}): check the files, or leave some out."
        ) from error


def _import(folder: Path, request: ImportRequest, progress: Callable[[float], object]) -> ImportPreview:
    from dmlviz.data.embedding_file import LabeledEmbeddings
    from dmlviz.data.import_path import import_path
    from dmlviz.data.table_file import Choice

    result = import_path(
        Path(request["file"]),
        title=request["title"],
        labels=Path(request["labels"]) if request["labels"] else None,
        side=request["side"],
        color=request["color"],
        choice=Choice(folder_level=request["folder_level"], points=request["points"]),
        progress=lambda done, of: progress(done / max(1, of)),
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
        plane=embeddings.embeddings.shape[1] == 2 and embeddings.comparable,
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
