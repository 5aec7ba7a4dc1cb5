"""Nearest test image of every test image, for tooltips, for coloring errors, and for the agreement of two runs.

Those of very many images are found by an index, in a worker, and kept in the folder of the run.
"""

from base64 import b64encode
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.errors import UserError
from dmlviz.runs.neighbor_table import FILE, by_index, stored_table
from dmlviz.runs.run import Run
from dmlviz_app.answers.protocol import Agreement
from dmlviz_app.server.answers import UnderWayError
from dmlviz_app.server.services import services

if TYPE_CHECKING:
    from dmlviz.ops.neighbor_index import NeighborTable

EMBEDDINGS = "embeddings.npy"
OWNER = "neighbors"  # whose turn it is: one run at a time
# Whether the nearest image is of the same class in the first run, and in the second.
AGREEMENT_CELLS = {"both": (True, True), "first": (True, False), "second": (False, True), "neither": (False, False)}


def nearest_neighbor_bytes(run: Run) -> bytes:
    """Return the nearest other test image of each: n little-endian int32 indices, then n float32 distances.

    If an index found them, two float32 follow: the share of the 10 nearest that are right, and the number of images
    on which that was measured.

    Raises:
        UnderWayError: While they are being computed; the first call begins.
        UserError: Before the run's end, or if they cannot be computed.
    """
    if run.embeddings is None:
        raise UserError(f"{run.title} has no embeddings of all test images yet.")
    if not by_index(run):
        return _nearest(str(run.path), run.info["created"])
    table = table_by_index(run)
    accuracy = np.array([table.recall, table.measured], "<f4")
    parts = table.indices[:, 0].astype("<i4"), table.distances[:, 0].astype("<f4"), accuracy
    return b"".join(part.tobytes() for part in parts)


def table_by_index(run: Run) -> "NeighborTable":
    """Return the neighbors found by an index.

    Raises:
        UnderWayError: While they are computed, of one run at a time; the first call begins.
        UserError: If they cannot be computed.
    """
    table = _read_table(run.path, _stamp(run, FILE, EMBEDDINGS))
    if table is None:
        answers, stamp = services().answers, _stamp(run, EMBEDDINGS)[0]
        order = answers.order("neighbors", run.id, run=str(run.path.resolve()), stamp=stamp)
        answers.begin_and_wait(order, OWNER)
    return table


def _stamp(run: Run, *names: str) -> tuple[int, ...]:
    """Return a stamp that changes when the files are written anew."""
    files = [run.path / name for name in names]
    return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files)


@lru_cache(maxsize=4)
def _read_table(path: Path, stamp: tuple[int, ...]) -> "NeighborTable | None":
    return stored_table(Run(path)) if stamp[0] else None


@lru_cache(maxsize=16)
def _nearest(path: str, created: str) -> bytes:
    """Return the neighbors; `created` distinguishes a run that was trained again from the one before."""
    from dmlviz.ops.nearest_neighbors import NearestNeighbors

    run = Run(Path(path))
    embeddings = run.embeddings
    if embeddings is None or run.labels is None or len(embeddings) < 2:
        raise UserError(f"{run.title} has no two test images with classes, so that none has a neighbor.")
    distances, items = NearestNeighbors(embeddings).others(1)
    content: bytes = items.astype("<i4").tobytes() + distances.astype("<f4").tobytes()
    return content


def agreement_table(a: Run, b: Run) -> Agreement:
    """Return the test images of each cell: {name: {"count", "bits"}}, bits as in frontend/src/lib/bitmask.ts.

    Raise UserError where the two are not of the same images, or have not come to their end.
    """
    if a.config.dataset != b.config.dataset:
        raise UserError("The runs use different data sets. Choose two runs of the same data set.")
    first, second = is_correct(a), is_correct(b)
    if len(first) != len(second):
        raise UserError("The two runs do not have the same test images; choose two that were trained on the same data.")
    cells: Agreement = {}
    known = a.known_labels >= 0
    for name, (first_correct, second_correct) in AGREEMENT_CELLS.items():
        mask = known & (first == first_correct) & (second == second_correct)
        bits = np.packbits(mask, bitorder="little").tobytes()
        cells[name] = {"count": int(mask.sum()), "bits": b64encode(bits).decode()}
    return cells


def is_correct(run: Run) -> np.ndarray:
    """Return whether the nearest test image of each is of its own class (n, bool).

    Raise UserError before the end, and while the neighbors of very many images are being computed.
    """
    try:
        content, labels = nearest_neighbor_bytes(run), run.labels
    except UnderWayError:
        raise UserError(
            f"The nearest neighbors of {run.title} are being computed: open this page again in a minute."
        ) from None
    assert labels is not None  # there are embeddings
    items = np.frombuffer(content, "<i4", count=len(labels))
    labels = np.asarray(labels)
    correct: np.ndarray = labels[items] == labels
    return correct
