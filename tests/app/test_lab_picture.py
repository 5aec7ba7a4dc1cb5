"""The picture of a lab on which one clicks."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import TypeAdapter

from app.payloads.lab_picture import has_picture, lab_picture, named_study
from app.payloads.protocol.labs import LabPicture
from dmlviz.data import load
from dmlviz.data.made.patches import PATCH, PLACES, make_scene_pair
from dmlviz.data.made.town import TILES, build_town
from dmlviz.data.made.warp import affine_matrices, sample
from dmlviz.errors import UserError
from dmlviz.labs.registry import LABS
from dmlviz.studies.study import Study, create_study
from dmlviz.studies.trial import TrialResult


def study_of(lab: str, folder: Path, kept: dict[str, np.ndarray]) -> Study:
    """A study of digits with one trial, which kept these arrays."""
    study = create_study(folder, lab, "quick", "digits")
    trial = LABS[lab].plan("quick", "digits", [])[0]
    if kept:
        study.trial_folder(trial.name).mkdir(parents=True)
        np.savez(study.trial_folder(trial.name) / "playground.npz", **kept)
    study.append(TrialResult(trial=trial, values={}))
    return study


def test_the_town_is_shown_with_its_embeddings(tmp_path: Path) -> None:
    embeddings = np.random.default_rng(0).integers(-127, 128, (TILES**2, 4), np.int8)
    study = study_of("terrapattern", tmp_path / "study", {"embeddings": embeddings})
    assert has_picture(study)
    picture = TypeAdapter(LabPicture).validate_python(lab_picture(study, tmp_path))
    town = build_town(load("digits", tmp_path))
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(picture["left"].partition(",")[2]))))
    assert image.shape == (picture["side"], picture["side"])
    assert np.array_equal(image[28:56, 56:84], town.tiles[TILES + 2])  # second row, third column
    assert picture["kinds"] == town.labels.tolist()
    (method,) = picture["methods"]
    assert base64.b64decode(str(method["embeddings"])) == embeddings.tobytes()
    assert method["dimensions"] == 4


def test_the_second_view_of_a_scene_shows_a_place_where_the_truth_says(tmp_path: Path) -> None:
    pair = make_scene_pair(load("digits", tmp_path))
    inside = ((pair.truth > PATCH) & (pair.truth < pair.right.shape[0] - PATCH)).all(1)
    assert inside.sum() > 100
    back = np.linalg.inv(affine_matrices(np.array([12.0]), np.array([1 / 1.1])))
    n = int(inside.sum())
    seen = sample(pair.right[None], np.zeros(n, int), pair.truth[inside], np.repeat(back, n, 0), PATCH)
    left = pair.cut(pair.left)[inside].astype(float)
    for a, b in zip(left, seen, strict=True):
        assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > 0.9


def test_a_scene_is_shown_twice_with_the_scores_of_all_places(tmp_path: Path) -> None:
    scores = np.arange(PLACES**4, dtype=np.uint32).astype(np.uint8).reshape(PLACES**2, PLACES**2)
    picture = lab_picture(study_of("patches", tmp_path / "study", {"scores": scores}), tmp_path)
    assert picture["right"]
    assert picture["truth"] is not None
    assert len(picture["truth"]) == PLACES**2
    assert base64.b64decode(str(picture["methods"][0]["scores"])) == scores.tobytes()


def test_a_study_that_kept_nothing_has_no_picture(tmp_path: Path) -> None:
    study = study_of("terrapattern", tmp_path / "study", {})
    assert not has_picture(study)
    with pytest.raises(UserError, match="nothing to click yet: run the lab first"):
        lab_picture(study, tmp_path)
    with pytest.raises(UserError, match="no such study: run the lab first"):
        named_study("terrapattern", lambda: None, is_ready_made=False)


def test_a_click_downloads_nothing(tmp_path: Path) -> None:
    study = study_of("terrapattern", tmp_path / "study", {"embeddings": np.zeros((TILES**2, 4), np.int8)})
    study.update(dataset="fashion_mnist")
    with pytest.raises(UserError, match="Fashion-MNIST, which is not on disk: train on it once"):
        lab_picture(study, tmp_path)
