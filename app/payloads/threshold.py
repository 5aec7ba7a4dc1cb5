"""A threshold to move in the lab *Same or not*: histograms of each net, and some pairs with their distances."""

import io
from base64 import b64encode
from collections.abc import Collection, Mapping

import numpy as np
from PIL import Image

from app.payloads.protocol.labs import ThresholdNet, ThresholdPair, ThresholdProps
from dmlviz.storage.arrays import read_arrays
from dmlviz.studies.trial import TrialResult

KEPT = "guessed.npz"  # the pairs that a trial kept, with its distances
SHOWN = 8  # pairs of each kind
PIXELS = "raw pixels"


def threshold_props(
    nets: Mapping[str, TrialResult],
    images: np.ndarray | None,
    hidden: Collection[int] = (),
    you: tuple[float, float] | None = None,
) -> ThresholdProps:
    """Return what the page needs to move a threshold.

    Args:
        nets: A result with kept pairs for each net, by its title.
        images: The test images (uint8, n × h × w); None where they are not on disk: then no pairs are shown.
        hidden: Numbers of the pairs that the visitor is being asked about.
        you: The visitor's own false positive rate and recall.
    """
    kept = {title: _kept(result) for title, result in nets.items()}
    first = next(iter(kept.values()))
    rows = np.zeros(0, np.int64)
    if images is not None:
        free = ~np.isin(np.arange(len(first["same"])), list(hidden))
        rows = np.concatenate([np.flatnonzero(free & (first["same"] == kind))[:SHOWN] for kind in (True, False)])
    pixels = kept[PIXELS]["distance"] if PIXELS in kept else None
    pairs: list[ThresholdPair] = [
        {
            "images": [] if images is None else [_png(images[first[side][row]]) for side in ("first", "second")],
            "same": bool(first["same"][row]),
            "pixels": None if pixels is None else round(float(pixels[row]), 2),
        }
        for row in rows
    ]
    return {
        "best": max(nets, key=lambda title: float(nets[title].values["accuracy_10_fold"])),
        "nets": [_net(title, result, kept[title]["distance"][rows]) for title, result in nets.items()],
        "pairs": pairs,
        "you": None if you is None else list(you),
    }


def _kept(result: TrialResult) -> dict[str, np.ndarray]:
    assert result.folder is not None
    return dict(read_arrays(result.folder / KEPT))


def _net(title: str, result: TrialResult, distances: np.ndarray) -> ThresholdNet:
    values = result.values
    return {
        "title": title,
        "edges": values["histogram"]["edges"],
        "same": values["histogram"]["same"],
        "different": values["histogram"]["different"],
        "threshold": values["threshold"],
        "folds": values["folds"],
        "distances": [round(float(distance), 4) for distance in distances],
    }


def _png(image: np.ndarray) -> str:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
