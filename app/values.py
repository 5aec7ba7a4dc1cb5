"""A number for every test image, to colour the map by: how true the picture is there, how far its class's centre is."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.errors import MISSING, DamagedFileError, UserError
from dmlviz.record import Drawing, Run

MEASURES = ("faithfulness", "centre")
NEIGHBOURS = 10


def values(run: Run, drawing: Drawing | None, measure: str) -> bytes:
    """n little-endian float32, one for each test image, NaN where it is not known; UserError before the end.

    "faithfulness": the share of the 10 nearest in the embedding that are among the 10 nearest on the map; "centre":
    the distance to the mean of the image's class in the embedding. Both at the epoch that is drawn.
    """
    if measure not in MEASURES or not measurable(run, drawing):
        raise UserError(f"{run.title} has no {measure[:20]} to colour by yet.")
    stamp = (run.info["created"], None if drawing is None else drawing.id)
    found = _values(str(run.path), None if drawing is None else str(drawing.path), measure, stamp)
    return found.astype("<f4").tobytes()


def measurable(run: Run, drawing: Drawing | None) -> bool:
    """Whether there are numbers: at the end of the run, for one epoch, when its map is finished."""
    try:
        if not run.embedded or run.basis is None:
            return False
        return drawing is None or (not drawing.config.film and drawing.coordinates is not None)
    except DamagedFileError:
        return False


@lru_cache(maxsize=32)
def _values(run_path: str, drawing_path: str | None, measure: str, stamp: object) -> np.ndarray:
    """`stamp` tells a run that was trained again from the one before."""
    run, drawing = Run(Path(run_path)), None if drawing_path is None else Drawing(Path(drawing_path))
    step = None if drawing is None else drawing.config.step
    embeddings, labels = run.epoch(step)
    if measure == "centre":
        known = distances_to_centres(embeddings, labels)
    else:
        known = _kept(run, embeddings) if drawing is None else _measured(drawing)
    if step is None:
        return known
    every = np.full(len(run.labels if run.labels is not None else ()), np.nan, np.float32)
    every[run.watched] = known
    return every


def _measured(drawing: Drawing) -> np.ndarray:
    found = drawing.faithfulness.get("neighbours_kept")
    if found is None:
        raise DamagedFileError(drawing.path / "faithfulness.npz", MISSING)
    return found


def distances_to_centres(embeddings: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """How far each embedding (n × d) is from the mean of its class."""
    _, index = np.unique(labels, return_inverse=True)
    sums = np.zeros((index.max() + 1, embeddings.shape[1]))
    np.add.at(sums, index, embeddings)
    centres = sums / np.bincount(index)[:, None]
    return np.linalg.norm(embeddings - centres[index], axis=1).astype(np.float32)


def _kept(run: Run, embeddings: np.ndarray) -> np.ndarray:
    from dmlviz.projection.neighbours import nearest, prepared

    assert run.basis is not None  # it is measurable
    k = min(NEIGHBOURS, len(embeddings) - 1)
    there, here = (
        nearest(prepared(np.asarray(space, np.float32), "euclidean"), k)[1]
        for space in (embeddings, run.basis.project(embeddings))
    )
    return (there[:, :, None] == here[:, None, :]).any(axis=2).mean(axis=1)
