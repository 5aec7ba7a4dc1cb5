"""The linked maps of a lab, and the pictures of the images on them."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import TypeAdapter

from app.payloads.lab_planes import has_planes, lab_planes, plane_sheet
from app.payloads.protocol.labs import LabPlanes
from dmlviz.data import load, sprite_sheet, stratified_subset
from dmlviz.errors import UserError
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.shown_images import both_parts, some_test_images
from dmlviz.labs.specs.margins import MARGINS, SEEN_CLASSES
from dmlviz.studies.study import Study, create_study


def shown(lab: str) -> LabPlanes:
    study = ready_made(lab)
    assert study is not None
    assert has_planes(study)
    return TypeAdapter(LabPlanes).validate_python(lab_planes(study))


def points_of(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(-1, 2)


def tiles_of(png: bytes, n: int, side: int) -> np.ndarray:
    return sprite_sheet.tiles([png], side)[:n]


def test_classical_or_mined_has_four_maps_of_the_same_images() -> None:
    maps = shown("classical-or-mined")
    labels = np.frombuffer(base64.b64decode(maps["labels"]), np.uint8)
    assert [plane["title"] for plane in maps["planes"]] == [
        "Pairs, classical",
        "Pairs, mined",
        "Triplets, classical",
        "Triplets, mined",
    ]
    assert (maps["tests"], len(labels), len(maps["names"])) == (2000, 4000, 10)
    for plane in maps["planes"]:
        points = points_of(plane["points"])
        assert points.shape == (4000, 2)
        assert plane["centers"] is None
        means = np.array([points[labels == label].mean(axis=0) for label in range(10)])
        nearest = ((points[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
        assert (nearest == labels).mean() > 0.7  # labels and points are in the same order


def test_the_margin_strip_has_a_circle_for_each_loss_and_margin() -> None:
    maps = shown("margins")
    labels = np.frombuffer(base64.b64decode(maps["labels"]), np.uint8)
    assert [plane["title"] for plane in maps["planes"]] == [
        f"{loss}, m = {margin:g}" for loss in ("CosFace", "ArcFace") for margin in MARGINS
    ]
    assert maps["names"] == list("01234567")
    for plane in maps["planes"]:
        points, centers = points_of(plane["points"]), np.array(plane["centers"])
        assert centers.shape == (8, 2)
        units = points / np.linalg.norm(points, axis=1, keepdims=True)
        assert ((units @ centers.T).argmax(axis=1) == labels).mean() > 0.8
        assert np.linalg.norm(points, axis=1).std() > 0.1  # features, not directions


@pytest.mark.parametrize("lab", ["classical-or-mined", "margins"])
def test_tile_i_is_the_image_of_point_i(lab: str, tmp_path: Path) -> None:
    study = create_study(tmp_path / "study", lab, "quick", "digits")
    data = load("digits", tmp_path)
    if lab == "margins":
        chosen = np.flatnonzero(np.isin(data.test.labels, SEEN_CLASSES))
        expected = data.test.images[some_test_images(data, SEEN_CLASSES, 1500)]
        assert len(expected) == len(chosen)
    else:
        both, tests = both_parts(data, 2000)
        assert tests == len(data.test)
        expected = np.concatenate(
            [split.images[stratified_subset(split.labels, 2000)] for split in (data.test, data.train)]
        )
        assert len(both) == len(expected)
    sheet = plane_sheet(study, tmp_path)
    assert np.array_equal(tiles_of(sheet, len(expected), data.size), expected)
    assert Image.open(io.BytesIO(sheet)).width == sprite_sheet.COLUMNS * data.size


def test_without_points_or_pictures_there_is_a_sentence(tmp_path: Path) -> None:
    study = create_study(tmp_path / "study", "margins", "quick", "digits")
    assert not has_planes(study)
    with pytest.raises(UserError, match="no map yet: run the lab first"):
        lab_planes(study)
    study.update(dataset="fashion_mnist")
    with pytest.raises(UserError, match="Fashion-MNIST are not on disk"):
        plane_sheet(study, tmp_path)
    other: Study = create_study(tmp_path / "other", "scale", "quick", "digits")
    with pytest.raises(UserError, match="has no maps"):
        plane_sheet(other, tmp_path)
