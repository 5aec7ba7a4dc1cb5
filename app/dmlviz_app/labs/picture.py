"""The clickable picture of a lab: made from the data set, with the arrays that trials kept."""

import base64
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import available_datasets, load
from dmlviz.errors import UserError
from dmlviz.labs.kept_arrays import PLAYGROUND, kept_arrays
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.patches import NETS
from dmlviz.studies.study import Study
from dmlviz.studies.trial import TrialResult
from dmlviz_app.labs.protocol import LabPicture, PlaceScores
from dmlviz_app.widgets.architectures import address

MOST_ALIKE = 50


def lab_picture(study: Study, data: Path) -> LabPicture:
    """Return the picture of a study.

    Args:
        study: A study of a lab that has one.
        data: The data folder.

    Raises:
        UserError: If no trial that has ended kept what the picture needs, or the data set is not on disk.
    """
    info = study.info
    methods = [scores for result in study.results() for scores in _methods(result)]
    if not methods:
        raise UserError("There is nothing to click yet: run the lab first.")
    dataset = info["dataset"]
    if dataset not in available_datasets(data):  # a click is no reason to download it
        raise UserError(
            f"The picture is made of the images of {DATASETS[dataset].title}, which is not on disk: train on it once "
            "to download it, or run this lab with another data set."
        )
    make = _scene if methods[0]["embeddings"] is None else _town
    return make(dataset, data, methods)


def has_picture(study: Study) -> bool:
    """Return whether a trial has kept what the picture needs."""
    return any(kept_arrays(result, PLAYGROUND) for result in study.results())


def named_study(lab: str, find: Callable[[], Study | None], is_ready_made: bool) -> Study:
    """Return the ready-made study of a lab, or the one that `find` finds; raise UserError where there is none."""
    study = ready_made(lab) if is_ready_made else find()
    if study is None:
        raise UserError("There is no such study: run the lab first.")
    return study


def _methods(result: TrialResult) -> list[PlaceScores]:
    arrays = kept_arrays(result, PLAYGROUND)
    settings = result.trial.settings
    if not arrays or settings["seed"]:
        return []
    text = {name: _base64(np.ascontiguousarray(values).tobytes()) for name, values in arrays.items()}
    embeddings = arrays.get("embeddings")
    title = str(settings.get("net") or settings.get("method"))
    return [
        {
            "title": title,
            "embeddings": text.get("embeddings"),
            "scores": text.get("scores"),
            "dimensions": 0 if embeddings is None else int(embeddings.shape[1]),
            "net": address("patches", title) if title in NETS[1:] else "",
        }
    ]


def _town(dataset: str, data: Path, methods: Sequence[PlaceScores]) -> LabPicture:
    from dmlviz.data.made.town import TILES, build_town  # brings scipy, which few pages need

    source = load(dataset, data)
    town = build_town(source)
    cell = town.tiles.shape[1]
    sheet = town.tiles.reshape(TILES, TILES, cell, cell).swapaxes(1, 2).reshape(TILES * cell, TILES * cell)
    return {
        "left": _png(sheet),
        "right": None,
        "side": TILES * cell,
        "columns": TILES,
        "first": cell / 2,
        "step": cell,
        "cell": cell,
        "most": MOST_ALIKE,
        "methods": list(reversed(methods)),  # what was trained comes first
        "truth": None,
        "kinds": town.labels.tolist(),
        "names": list(source.classes),
    }


def _scene(dataset: str, data: Path, methods: Sequence[PlaceScores]) -> LabPicture:
    from dmlviz.data.made.patches import PATCH, PLACES, SIDE, make_scene_pair

    pair = make_scene_pair(load(dataset, data))
    return {
        "left": _png(pair.left),
        "right": _png(pair.right),
        "side": SIDE,
        "columns": PLACES,
        "first": float(pair.places[0, 0]),
        "step": float(pair.places[PLACES, 0] - pair.places[0, 0]),
        "cell": PATCH,
        "most": 1,
        "methods": list(methods),
        "truth": pair.truth[:, ::-1].round(1).tolist(),
        "kinds": None,
        "names": [],
    }


def _png(image: np.ndarray) -> str:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return f"data:image/png;base64,{_base64(file.getvalue())}"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
