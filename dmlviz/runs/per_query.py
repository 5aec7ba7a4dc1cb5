"""Per-image retrieval scores."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.class_names import has_label
from dmlviz.errors import UserError
from dmlviz.metrics import evaluate_per_query
from dmlviz.runs.run import Run
from dmlviz.storage.files import atomic_write

FILE = "per_query.bin"  # in the folder of a run; what can be computed again is not exported with it
ROW_BYTES = 28  # of five int32 and two float32
FEW = 2000  # images that are compared with each other in some 40 ms; 60,000 take half a minute


def per_query_bytes(run: Run, step: int | None, near: bool = False) -> bytes:
    """Return the scores of each image among all test images at the end, or among the tracked ones after `step` batches.

    Little-endian columns of equal length, one after the other: as int32 the item, its class, its nearest neighbor,
    the rank of its first hit, the class that its neighbors vote for; as float32 R-precision and average precision at
    R. With `near` only what the 5 nearest tell, unless the rest is known: see `evaluate_per_query`. Raises UserError
    if these embeddings do not exist or are not finite.
    """
    kept = _kept(run) if step is None else None
    return _per_query(str(run.path), run.info["created"], step, near) if kept is None else kept


def is_at_hand(run: Run, step: int | None) -> bool:
    """Return whether `per_query_bytes` takes no time to speak of: for few images, or as the scores are kept."""
    images = run.labels if step is None else run.tracked_indices
    return images is None or len(images) <= FEW or (step is None and _kept(run) is not None)


def keep_per_query(run: Run) -> None:
    """Keep the scores at the end in the folder of the run, so that the first click on a score is answered at once."""
    with atomic_write(run.path / FILE) as file:
        file.write(per_query_bytes(run, None))


def _kept(run: Run) -> bytes | None:
    """Return what `keep_per_query` has kept of these embeddings; None if there is nothing."""
    path = run.path / FILE
    try:
        is_newer = path.stat().st_mtime_ns >= (run.path / "embeddings.npy").stat().st_mtime_ns
        return path.read_bytes() if is_newer and path.stat().st_size % ROW_BYTES == 0 else None
    except OSError:
        return None


@lru_cache(maxsize=32)
def _per_query(path: str, created: str, step: int | None, near: bool) -> bytes:
    """Return the scores; `created` distinguishes a run that was trained again from the one before."""
    run = Run(Path(path))
    labels, indices = run.labels, run.tracked_indices
    embeddings = run.embeddings if step is None else run.embeddings_at(step)[0]
    if embeddings is None or labels is None or indices is None:
        raise UserError(f"{run.title} has no embeddings of all test images yet.")
    items = np.arange(len(labels)) if step is None else np.asarray(indices)
    rows = has_label(labels[items], DATASETS[run.config.dataset].classes)
    if rows.any():
        items, embeddings = items[rows], embeddings[rows]
    scores = evaluate_per_query(embeddings, labels[items], near)
    columns = (
        items[scores.queries],
        labels[items][scores.queries],
        items[scores.nearest],
        scores.first_hit,
        scores.vote,
    )
    parts = [column.astype("<i4") for column in columns]
    parts += [scores.r_precision.astype("<f4"), scores.average_precision_at_r.astype("<f4")]
    return b"".join(part.tobytes() for part in parts)
