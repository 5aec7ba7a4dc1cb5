"""The linked maps of a lab: the points of its nets' planes, and their images."""

import base64
from pathlib import Path

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import available_datasets, load, sprite_sheet
from dmlviz.errors import UserError
from dmlviz.labs.lab import LinkedPlanes
from dmlviz.labs.registry import LABS
from dmlviz.studies.study import Study
from dmlviz_app.labs.protocol import LabPlanes


def has_planes(study: Study) -> bool:
    """Return whether a trial has kept points to draw."""
    return _find(study) is not None


def lab_planes(study: Study) -> LabPlanes:
    """Return the maps of a study; raise UserError as long as no trial has kept any."""
    result = _find(study)
    if result is None:
        raise UserError("There is no map yet: run the lab first.")
    spec = DATASETS[study.info["dataset"]]
    return {
        "planes": [
            {
                "title": plane.title,
                "note": plane.note,
                "points": _base64(plane.points.astype("<f4")),
                "centers": None if plane.centers is None else plane.centers.round(4).tolist(),
            }
            for plane in result.planes
        ],
        "labels": _base64(result.labels.astype(np.uint8)),
        "names": [spec.classes[label] for label in result.classes],
        "tests": result.tests,
        "columns": sprite_sheet.COLUMNS,
        "tile": spec.size,
    }


def plane_sheet(study: Study, data: Path) -> bytes:
    """Return the images of the maps, in their order, as one PNG.

    Args:
        study: A study of a lab that has maps.
        data: The data folder.

    Raises:
        UserError: If the lab has no maps, or its data set is not on disk.
    """
    lab, dataset = LABS[study.info["lab"]], study.info["dataset"]
    if lab.plane_images is None:
        raise UserError(f"The lab {lab.name} has no maps.")
    if dataset not in available_datasets(data):  # to look at a map is no reason to download it
        raise UserError(f"The images of {DATASETS[dataset].title} are not on disk: train on it once to download it.")
    return sprite_sheet.encode_sheet(lab.plane_images(load(dataset, data)), 0)


def _find(study: Study) -> LinkedPlanes | None:
    lab = LABS[study.info["lab"]]
    return None if lab.planes is None else lab.planes(study.results())


def _base64(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
