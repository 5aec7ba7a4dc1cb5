"""The nearest neighbors of all test images of a run at once, kept in its folder where they take long."""

from typing import TYPE_CHECKING

import numpy as np

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.arrays import read_arrays, take
from dmlviz.storage.files import atomic_write

if TYPE_CHECKING:
    from dmlviz.ops.linear_projection import LinearProjection
    from dmlviz.ops.neighbor_index import NeighborTable
    from dmlviz.runs.run import Run

NEIGHBORS = 10  # of each image
MAX_EXACT = 50_000  # images; the neighbors of more are found by an index
FILE = "neighbors.npz"  # in the folder of the run; what can be computed again is not exported with it
_KINDS = {"indices": "i", "distances": "f", "recall": "f", "measured": "i"}
_KEPT = "kept"  # in this file: the share of each image's neighbors that are neighbors on the run's own map


def by_index(run: "Run") -> bool:
    """Return whether the run has so many test images that an index finds the neighbors of all."""
    labels = run.labels
    return labels is not None and len(labels) > MAX_EXACT


def nearest_bytes(run: "Run") -> bytes:
    """Return the nearest other test image of each: n little-endian int32 indices, then n float32 distances."""
    from dmlviz.ops.nearest_neighbors import NearestNeighbors

    embeddings = run.embeddings
    if embeddings is None or run.labels is None or len(embeddings) < 2:
        raise UserError(f"{run.title} has no two test images with classes, so that none has a neighbor.")
    distances, items = NearestNeighbors(embeddings).others(1)
    content: bytes = items.astype("<i4").tobytes() + distances.astype("<f4").tobytes()
    return content


def stored_table(run: "Run") -> "NeighborTable | None":
    """Return the neighbors that the run keeps; None where they are to be computed (again)."""
    from dmlviz.ops.neighbor_index import NeighborTable

    arrays = _read_arrays(run, _KINDS)
    if arrays is None:
        return None
    indices, distances, recall, queries = arrays
    n = len(indices)
    if (
        indices.shape != (n, NEIGHBORS)
        or distances.shape != indices.shape
        or not 0 <= indices.min() <= indices.max() < n
    ):
        return None
    return NeighborTable(indices, distances, float(recall), int(queries))


def stored_map_recall(run: "Run") -> np.ndarray | None:
    """Return the share of each image's neighbors that are neighbors on the run's own map, too (n); None as above."""
    arrays = _read_arrays(run, {_KEPT: "f"})
    return None if arrays is None else arrays[0]


def _read_arrays(run: "Run", kinds: dict[str, str]) -> list[np.ndarray] | None:
    """Read arrays of the file, of which the first has a row for each test image; None as above."""
    path, labels = run.path / FILE, run.labels
    try:
        if labels is None or path.stat().st_mtime_ns < (run.path / "embeddings.npy").stat().st_mtime_ns:
            return None
        file = read_arrays(path, names=tuple(kinds))
        arrays = [take(path, file, name, kind) for name, kind in kinds.items()]
    except (OSError, DamagedFileError):
        return None
    return arrays if arrays[0].shape[:1] == (len(labels),) else None


def compute_table(run: "Run") -> "NeighborTable":
    """Find the neighbors of all test images: exactly, or where there are very many by an index, which is kept.

    Raises:
        UserError: Before the run's end, or for fewer than two test images.
    """
    from dmlviz.ops.neighbor_index import exact_table

    if by_index(run):
        return index_table(run)
    points, _ = _points(run)
    return exact_table(points, min(NEIGHBORS, len(points) - 1))


def index_table(run: "Run") -> "NeighborTable":
    """Find the neighbors of all test images by an index, and keep them in the folder of the run; raise as above."""
    from dmlviz.ops.neighbor_index import indexed_table

    points, projection = _points(run)
    table = indexed_table(points, min(NEIGHBORS, len(points) - 1))
    recall = map_recall(table.indices, projection.project(points))
    with atomic_write(run.path / FILE) as file:
        np.savez(
            file,
            indices=table.indices,
            distances=table.distances,
            recall=np.float64(table.recall),
            measured=np.int64(table.measured),
            kept=recall,
        )
    return table


def _points(run: "Run") -> "tuple[np.ndarray, LinearProjection]":
    embeddings, projection = run.embeddings, run.linear_projection
    if embeddings is None or projection is None or len(embeddings) < 2:
        raise run.lacks("embeddings of two test images or more")
    return embeddings, projection


def map_recall(indices: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return the share of neighbors that are among the k nearest on a map, too (n, float32).

    Args:
        indices: The neighbors in the embedding, n × k.
        positions: On the map, n × 2 or 3; they are searched exactly.
    """
    from scipy.spatial import KDTree

    k = indices.shape[1]
    neighbors = KDTree(positions).query(positions, k + 1)[1]
    is_self = neighbors == np.arange(len(neighbors))[:, None]
    is_self[~is_self.any(axis=1), -1] = True  # among more than k at one place the point itself may be missing
    near = neighbors[~is_self].reshape(len(neighbors), k)
    shares: np.ndarray = (indices[:, :, None] == near[:, None, :]).any(axis=2).mean(axis=1).astype(np.float32)
    return shares
