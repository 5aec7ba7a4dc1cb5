"""Nearest test image of every test image, for tooltips, for coloring errors, and for the agreement of two runs.

Those of very many images are found by an index, in a worker, and kept in the folder of the run.
"""

import asyncio
from base64 import b64encode
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from starlette.requests import Request

from dmlviz.errors import UserError
from dmlviz.runs.neighbor_table import FILE, by_index, nearest_bytes, stored_table
from dmlviz.runs.run import Run
from dmlviz_app.answers.cached_file import CHEAP, computed_file
from dmlviz_app.answers.protocol import Agreement
from dmlviz_app.server.answers import UnderWayError
from dmlviz_app.server.services import COMPUTED, services

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
        return _nearest(str(run.path), _stamp(run, EMBEDDINGS))
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
def _nearest(path: str, stamp: tuple[int, ...]) -> bytes:
    """Return the neighbors; `stamp` distinguishes a run that was trained again from the one before."""
    return nearest_bytes(Run(Path(path)))


async def asked_nearest(request: Request, run: Run) -> bytes:
    """Return `nearest_neighbor_bytes`; those of many images are computed by a worker, once."""
    n = 0 if run.embeddings is None else len(run.embeddings)
    if n <= CHEAP or by_index(run):
        return await asyncio.to_thread(nearest_neighbor_bytes, run)
    return await computed_file(request, computed_name(run, "nearest"), "nearest", run.id, run=str(run.path.resolve()))


def computed_name(run: Run, what: str) -> str:
    """Return the name of a file of the cache that is computed from the embeddings of a run."""
    return f"{COMPUTED}/{run.id}/{what}-{_stamp(run, EMBEDDINGS)[0]:x}"


async def asked_agreement(request: Request, a: Run, b: Run) -> Agreement:
    """Return `agreement_table`; the neighbors of many images are computed by a worker, once.

    Raise UserError as it does, for two data sets, before an end, and while those of very many are being computed.
    """
    if a.config.dataset != b.config.dataset:
        raise UserError("The runs use different data sets. Choose two runs of the same data set.")
    contents = []
    for run in (a, b):
        try:
            contents.append(await asked_nearest(request, run))
        except UnderWayError:
            raise UserError(
                f"The nearest neighbors of {run.title} are being computed: open this page again in a minute."
            ) from None
    return agreement_table(a, b, *contents)


def agreement_table(a: Run, b: Run, nearest_a: bytes, nearest_b: bytes) -> Agreement:
    """Return the test images of each cell: {name: {"count", "bits"}}, bits as in frontend/src/lib/base64.ts.

    Raise UserError where the two are not of the same images.
    """
    first, second = _is_correct(a, nearest_a), _is_correct(b, nearest_b)
    if len(first) != len(second):
        raise UserError("The two runs do not have the same test images; choose two that were trained on the same data.")
    cells: Agreement = {}
    known = a.known_labels >= 0
    for name, (first_correct, second_correct) in AGREEMENT_CELLS.items():
        mask = known & (first == first_correct) & (second == second_correct)
        bits = np.packbits(mask, bitorder="little").tobytes()
        cells[name] = {"count": int(mask.sum()), "bits": b64encode(bits).decode()}
    return cells


def _is_correct(run: Run, content: bytes) -> np.ndarray:
    """Return whether the nearest test image of each is of its own class (n, bool)."""
    assert run.labels is not None  # there are neighbors
    labels = np.asarray(run.labels)
    correct: np.ndarray = labels[np.frombuffer(content, "<i4", count=len(labels))] == labels
    return correct
