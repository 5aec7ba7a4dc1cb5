"""What a page of a lab shows and keeps of a study, as a worker writes it."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import available_datasets, load, sprite_sheet
from dmlviz.errors import UserError
from dmlviz.labs import printed
from dmlviz.labs.lab import LinkedPlanes
from dmlviz.labs.lab_study import as_csv, as_page, study_rows
from dmlviz.labs.registry import LABS
from dmlviz.storage.files import write_json
from dmlviz.studies.study import Study
from dmlviz_app.labs.picture import lab_picture
from dmlviz_app.labs.protocol import LabPlanes

if TYPE_CHECKING:
    from dmlviz.workers.answers import Target


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


def lab_file(target: "Target", name: str, study: str, kind: str, figure: str = "", dark: bool = False) -> str:
    """Write a picture, the images of the maps, the rows, or a figure of a study; `name` is that by which it is kept.

    Of no study: the page of all printed numbers.
    """
    if kind == "printed":
        target.file.write_text(printed.page({}, {}), encoding="utf-8")
        return name
    source = Study(Path(study))
    data = target.data_root
    assert data is not None  # a server has one
    if kind == "picture":
        write_json(target.file, lab_picture(source, data))
    elif kind == "planes":
        target.file.write_bytes(plane_sheet(source, data))
    elif kind == "numbers":
        target.file.write_text(as_csv(study_rows(source)))
    else:
        figures = LABS[source.info["lab"]].figures
        spec = next((one for one in figures if not figure or one.name == figure), None)
        if spec is None:
            raise UserError(f"The figures of this lab are {', '.join(one.name for one in figures)}.")
        target.file.write_text(as_page(spec, study_rows(source), dark))
    return name
