"""Queries and a gallery from files: embeddings with labels, and with cameras where same-camera matches don't count."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dmlviz.data.class_names import MAX_NAME, UNLABELED, label_text, natural_order, short_names
from dmlviz.data.embedding_file import EmbeddingTable, read_table
from dmlviz.errors import UserError


@dataclass(frozen=True)
class SearchFile:
    """Embeddings (n × d) of queries or a gallery, their class IDs (n, NaN for none), and camera IDs (n) if asked."""

    embeddings: np.ndarray
    labels: np.ndarray
    cameras: np.ndarray | None

    def of_rows(self, rows: np.ndarray) -> "SearchFile":
        """Return some of them."""
        cameras = None if self.cameras is None else self.cameras[rows]
        return SearchFile(self.embeddings[rows], self.labels[rows], cameras)


@dataclass(frozen=True)
class SearchFiles:
    """Queries, the gallery that they search (None for themselves), class names by ID, and notes on the reading."""

    queries: SearchFile
    gallery: SearchFile | None
    classes: tuple[str, ...]
    notes: tuple[str, ...]


def read_search_files(query: Path, gallery: Path | None = None, camera: str | None = None) -> SearchFiles:
    """Read queries, and a gallery; labels that read the same in both files are one class.

    Args:
        query: File of the queries: npz, csv, tsv or parquet with labels, as `dmlviz data add` reads it.
        gallery: File of the gallery; the queries search themselves if None.
        camera: Name of the column or array of cameras, in both files.

    Raises:
        UserError: For files that can't be read, or that have no labels.
    """
    tables = [_read(path, camera) for path in (query, gallery) if path is not None]
    classes, labels = _common_ids([table.labels for table in tables if table.labels is not None])
    _, cameras = _common_ids([table.cameras for table in tables if table.cameras is not None])
    files = [
        SearchFile(np.asarray(table.vectors), labels[i], cameras[i] if cameras else None)
        for i, table in enumerate(tables)
    ]
    notes = tuple(note for table in tables for note in (table.summary(), *table.notes))
    return SearchFiles(files[0], files[1] if gallery is not None else None, classes, notes)


def _read(path: Path, camera: str | None) -> EmbeddingTable:
    if not path.is_file():
        raise UserError(f"There is no file {path}: check the path.")
    table = read_table(path, camera)
    if table.labels is None:
        raise UserError(
            f"Every vector needs a label; {path.name} has none: save an npz file with vectors and labels, or a table "
            "with a column called label."
        )
    for values, what in ((table.labels, "labels"), (table.cameras, "cameras")):
        if values is not None and values.shape != (len(table.vectors),):
            raise UserError(
                f"Each vector has one label and one camera; {path.name} has {values.size:,} {what} for "
                f"{len(table.vectors):,} vectors: make them equally long."
            )
    if table.vectors.dtype.kind == "f" and not np.isfinite(table.vectors).all():
        raise UserError(f"Vectors are finite numbers; {path.name} holds NaN, infinity or nothing: remove those rows.")
    return table


def _common_ids(parts: list[np.ndarray]) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """Return the names that occur in the parts, in order, and each part as indices into them."""
    texts = [[label_text(value) for value in part.tolist()] for part in parts]
    names = natural_order({name for part in texts for name in part} - {UNLABELED})
    ids: dict[str, float] = {name: number for number, name in enumerate(names)} | {UNLABELED: np.nan}
    return short_names(tuple(names), MAX_NAME), [np.array([ids[name] for name in part]) for part in texts]
