"""Curves of raw pixels and of the untrained net, to draw beside those of a run; only the latter needs torch."""

from collections.abc import Callable
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any, get_origin

import numpy as np

from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.metrics import curves
from dmlviz.runs.run import Run
from dmlviz.storage.arrays import read_arrays
from dmlviz.storage.files import atomic_write

MEASURES: dict[str, tuple[Callable[[Any, Any], Any], type]] = {
    "recall_at_k": (curves.recall_at_k, curves.RecallAtK),
    "roc": (curves.roc, curves.Roc),
    "precision_recall": (curves.precision_recall, curves.PrecisionRecall),
}


@dataclass(frozen=True)
class Baseline:
    """Curves of a baseline by the name of their figure."""

    name: str
    curves: dict[str, Any]


def measure(name: str, run: Run, tracked: bool, data_root: Path | None = None) -> Baseline:
    """Measure the curves of a baseline on the test images of a run.

    Args:
        name: A key of `BASELINES`.
        run: The run; its net need not be saved, since the untrained one is made again from the seed.
        tracked: The images of the snapshots only; all test images otherwise.
        data_root: Folder of the data sets.

    Raises:
        UserError: Before the run has started.
    """
    labels, items = run.labels, run.tracked_indices
    if labels is None or items is None:
        raise UserError(f"{run.title} has not begun, so it has no images to compare yet.")
    images = load(run.config.dataset, data_root).test.images
    if tracked:
        images, labels = images[items], labels[items]
    embeddings = _flat(images) if name == "raw pixels" else _embed_untrained(run, images)
    return Baseline(name, {figure: measure(embeddings, labels) for figure, (measure, _) in MEASURES.items()})


def save(baseline: Baseline, path: Path) -> None:
    """Write the curves as an npz file."""
    arrays = {
        f"{figure}.{field.name}": np.asarray(getattr(curve, field.name))
        for figure, curve in baseline.curves.items()
        for field in fields(curve)
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def read(name: str, path: Path) -> Baseline:
    """Read the curves of a baseline that `save` wrote; raise DamagedFileError for another file."""
    arrays = read_arrays(path)
    return Baseline(
        name,
        {
            figure: kind(**{field.name: _value(field, arrays[f"{figure}.{field.name}"]) for field in fields(kind)})
            for figure, (_, kind) in MEASURES.items()
        },
    )


def _value(field: Field[Any], array: np.ndarray) -> Any:
    """Return an array as the type that its field has: a number, a pair of numbers, or an array."""
    if array.ndim == 0:
        return array.item()
    return tuple(array.tolist()) if get_origin(field.type) is tuple else array


def _flat(images: np.ndarray) -> np.ndarray:
    flat: np.ndarray = images.reshape(len(images), -1).astype(np.float32) / 255
    return flat


def _embed_untrained(run: Run, images: np.ndarray) -> np.ndarray:
    from dmlviz.process_setup import limit_to_one_thread
    from dmlviz.runs.embed import embed_untrained

    limit_to_one_thread()
    return embed_untrained(run, images)
