"""Below the curves: the templates of a net that is one matrix of the pixels."""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import streamlit as st
from safetensors import SafetensorError
from safetensors.numpy import load_file

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import DamagedFileError
from dmlviz.runs.run import LOSS_WEIGHTS, Run
from dmlviz.storage.regular_file import regular_path
from dmlviz_app.run_views.current_view import RunView
from dmlviz_app.widgets.pictures import picture
from dmlviz_app.widgets.url_state import note_event

_SIDE = 84  # pixels, about
_NEGATIVE, _ZERO, _POSITIVE = (np.array(color, float) for color in ((33, 102, 214), (246, 246, 246), (214, 69, 33)))
WIDTH = 84  # pixels of a picture
MOST = 40  # pictures of a kind


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
    return _templates(run.path, run.config.dataset, path.stat().st_mtime_ns, 0 if run.config.second_labels else stamp)


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
        with regular_path(path) as name:
            return dict(load_file(name))
    except (SafetensorError, OSError, DamagedFileError):  # the page says elsewhere that the file is damaged
        return {}


def color(template: np.ndarray) -> np.ndarray:
    """Return a template (h × w × channels) as a picture (uint8, RGB): red above 0, blue below, white at 0."""
    values = template.mean(axis=2)
    values = values / max(1e-12, float(np.abs(values).max()))
    strength = np.abs(values)[..., None]
    picture = (1 - strength) * _ZERO + strength * np.where(values[..., None] > 0, _POSITIVE, _NEGATIVE)
    times = max(1, _SIDE // len(picture))
    pixels: np.ndarray = np.kron(picture, np.ones((times, times, 1))).round().astype(np.uint8)
    return pixels


def templates_panel(run_view: RunView) -> None:
    """Render an expander with the templates; nothing for a run whose net has none."""
    pictures = templates(run_view.run) if run_view.complete else None
    if pictures is None:
        return
    expander = st.expander("Templates", key="templates", on_change=note_event)
    if not expander.open:
        return
    config = run_view.run.config
    names = DATASETS[config.dataset].classes
    with expander:
        if pictures.classes is not None:
            per_class = max(1, len(pictures.classes) // len(config.train_classes))
            captions = [names[config.train_classes[row // per_class]] for row in range(len(pictures.classes))]
            st.markdown("**Classes.** The score of a class is the sum of its template times the image (and a bias).")
            _pictures(pictures.classes, captions)
        st.markdown("**Rows of W.** Each is what one dimension of the embedding looks for.")
        _pictures(pictures.rows, [str(row + 1) for row in range(len(pictures.rows))])
        st.caption("Red: ink there raises the value. Blue: ink there lowers it. Each picture has its own scale.")


def _pictures(pictures: np.ndarray, captions: list[str]) -> None:
    with st.container(horizontal=True, gap="xsmall"):
        for values, caption in zip(pictures[:MOST], captions, strict=False):
            picture(color(values), alt=f"template {caption}", width=WIDTH, caption=caption)
    if len(pictures) > MOST:
        st.caption(f"The first {MOST} of {len(pictures)}.")
