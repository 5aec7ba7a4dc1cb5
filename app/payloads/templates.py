"""What a net of one matrix looks for, as pictures: the rows of the matrix, and the template of each class."""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from dmlviz.catalog.datasets import DATASETS
from dmlviz.runs.run import LOSS_WEIGHTS, Run

_SIDE = 84  # pixels, about
_NEGATIVE, _ZERO, _POSITIVE = (np.array(color, float) for color in ((33, 102, 214), (246, 246, 246), (214, 69, 33)))


class Templates(NamedTuple):
    """Arrays n × height × width (× 3 for color): the matrix's rows, and a template a class; None without a head."""

    rows: np.ndarray
    classes: np.ndarray | None


def templates(run: Run) -> Templates | None:
    """Return the templates of a run, whose net must be one matrix of the pixels; None for any other net.

    The class templates are V W, where V holds the class weights of the loss: the score of a class is the sum of its
    template times the image, plus a bias.
    """
    path, of_loss = run.path / "weights.safetensors", run.path / LOSS_WEIGHTS
    if not path.exists():
        return None
    stamp = of_loss.stat().st_mtime_ns if of_loss.exists() else 0
    return _templates(run.path, run.config.dataset, path.stat().st_mtime_ns, stamp)


@lru_cache(maxsize=16)
def _templates(folder: Path, dataset: str, _stamp: int, loss_stamp: int) -> Templates | None:
    spec = DATASETS[dataset]
    weights = list(_read(folder / "weights.safetensors").values())
    if (
        spec.features is not None
        or len(weights) != 1
        or weights[0].ndim != 2
        or weights[0].shape[1] != spec.channels * spec.size**2
    ):
        return None
    matrix = weights[0].astype(np.float64)
    of_loss = _read(folder / LOSS_WEIGHTS) if loss_stamp else {}
    heads = [value for name, value in of_loss.items() if name.rpartition(".")[2] == "weight"]
    head = next((value for value in heads if value.ndim == 2 and value.shape[1] == len(matrix)), None)

    def pictures(flat: np.ndarray) -> np.ndarray:
        return flat.reshape(len(flat), spec.channels, spec.size, spec.size).transpose(0, 2, 3, 1)

    return Templates(pictures(matrix), None if head is None else pictures(head @ matrix))


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        return dict(load_file(path))
    except (SafetensorError, OSError):  # the page says elsewhere that the file is damaged
        return {}


def colored(template: np.ndarray) -> np.ndarray:
    """Return a template (h × w × channels) as a picture (uint8, RGB): red above 0, blue below, white at 0."""
    values = template.mean(axis=2)
    values = values / max(1e-12, float(np.abs(values).max()))
    strength = np.abs(values)[..., None]
    picture = (1 - strength) * _ZERO + strength * np.where(values[..., None] > 0, _POSITIVE, _NEGATIVE)
    times = max(1, _SIDE // len(picture))
    enlarged: np.ndarray = np.kron(picture, np.ones((times, times, 1))).round().astype(np.uint8)
    return enlarged
