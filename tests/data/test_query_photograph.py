"""What was photographed is found, whatever lies beside, under and over it; a frame says what is meant."""

import importlib.util
import io
import sys
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
import pytest
from PIL import Image

from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import available_datasets, load
from dmlviz.data.frame import Frame, cut
from dmlviz.data.query_file import decode
from dmlviz.data.query_image import prepare
from dmlviz.errors import UserError

KINDS = (
    *("plain", "rotated", "blackboard", "gradient", "vignette", "hand_shadow", "ruled", "squared", "table", "pencil"),
    *("two_pens", "crossed_out", "several", "creased", "flash", "motion", "light_table"),
)


def _bench() -> ModuleType:
    path = Path(__file__).parents[1] / "bench" / "bench_photographs.py"
    spec = importlib.util.spec_from_file_location("bench_photographs", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


photograph = _bench().photograph


def alike(one: np.ndarray, other: np.ndarray) -> float:
    """The correlation of two images, at the best of nine shifts by a pixel."""
    shifted = (np.roll(one, (down, across), (0, 1)) for down in (-1, 0, 1) for across in (-1, 0, 1))
    return max(float(np.corrcoef(image.ravel(), other.ravel())[0, 1]) for image in shifted)


@pytest.fixture(scope="module")
def digits() -> np.ndarray:
    """Five digits (5 × 28 × 28), the first of them a 2 or so; those of 8 × 8 enlarged where MNIST is not here."""
    if "mnist" in available_datasets():
        return load("mnist").test.images[[1, 8, 18, 7, 15]]
    small = load("digits").test.images[[2, 12, 22, 32, 42]]
    enlarged = [cv2.resize(image, (20, 20), interpolation=cv2.INTER_CUBIC) for image in small]
    return np.stack([np.pad(image, 4) for image in enlarged])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_photographed_digit_is_prepared_as_the_digit_itself(kind, digits):
    expected = prepare(np.kron(digits[0], np.ones((10, 10), np.uint8)), "mnist").image
    query = prepare(decode(photograph(kind, digits, 11, 480), "mnist"), "mnist")
    assert any("background removed" in step.caption for step in query.steps)
    assert alike(query.image, expected) > (0.55 if kind == "rotated" else 0.75)


def test_several_digits_are_all_offered_the_one_in_the_middle_first(digits):
    for seed in (1, 2):  # the others lie inside the picture
        query = prepare(decode(photograph("several", digits, seed, 640), "mnist"), "mnist")
        assert query.frame == query.frames[0]
        assert abs(query.frame.x - 0.5) < 0.15
        assert len(query.frames) >= 3


def test_a_frame_around_another_digit_asks_for_that_one(digits):
    picture = decode(photograph("several", digits, 1, 640), "mnist")
    found = prepare(picture, "mnist")
    on_the_left = min(found.frames, key=lambda frame: frame.x)
    other = prepare(picture, "mnist", on_the_left)
    assert other.frame == other.frames[0] == on_the_left
    expected = prepare(np.kron(digits[2], np.ones((10, 10), np.uint8)), "mnist").image
    assert alike(other.image, expected) > 0.7
    assert alike(other.image, expected) > alike(found.image, expected)


def test_a_turned_frame_turns_what_lies_in_it_upright():
    picture = np.full((300, 400), 255, np.uint8)
    picture[140:160, 100:300] = 0  # a lying bar, which a frame turned by a quarter makes stand
    lying = prepare(picture, "mnist").image
    standing = prepare(picture, "mnist", Frame(0.5, 0.5, 0.4, 0.8, angle=90)).image
    assert np.array_equal(lying.any(axis=1), standing.any(axis=0))
    assert standing.any(axis=1).sum() == 20


def test_a_frame_is_cut_exactly_and_clockwise():
    picture = np.arange(24, dtype=np.uint8).reshape(4, 6)
    assert np.array_equal(cut(picture, Frame(0.5, 0.5, 1, 1)), picture)
    assert np.array_equal(cut(picture, Frame(2 / 6, 0.5, 2 / 6, 0.5)), picture[1:3, 1:3])
    square = picture[:, :4].copy()
    assert np.array_equal(cut(square, Frame(0.5, 0.5, 1, 1, angle=90)), np.rot90(square))
    assert cut(picture, Frame(-2, -2, 0.5, 0.5), outside=7).min() == 7


def test_an_empty_frame_is_refused_with_a_sentence():
    picture = np.full((300, 400), 255, np.uint8)
    picture[140:160, 100:300] = 0
    for frame in (Frame(0.1, 0.1, 0.1, 0.1), Frame(3, 3, 0.2, 0.2)):
        with pytest.raises(UserError, match="frame is empty"):
            prepare(picture, "mnist", frame)


def test_an_image_that_is_taken_as_it_is_has_no_frame():
    image = np.zeros((28, 28), np.uint8)
    image[6:22, 12:16] = 255
    assert prepare(image, "mnist").frame is None
    assert prepare(image, "mnist", Frame(0.5, 0.5, 0.9, 0.9)).frame is not None


def noisy(picture: np.ndarray, seed: int = 0, deviation: float = 4) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, deviation, picture.shape)
    return np.clip(picture + noise, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("tone", [0, 20, 128, 240, 255])
@pytest.mark.parametrize("shape", [(30, 40), (300, 400), (25, 600)])
def test_a_blank_photograph_is_refused(tone, shape):
    with pytest.raises(UserError, match="blank"):
        prepare(noisy(np.full(shape, float(tone))), "mnist")


@pytest.mark.slow
def test_paper_with_nothing_but_lines_or_edges_is_refused_or_prepared():
    paper = np.full((300, 400), 220.0)
    paper[20::24] = 120
    wide = np.full((300, 400), 220.0)
    wide[100:180] = 40
    step = np.full((300, 400), 220.0)
    step[:, 200:] = 60
    speckle = np.random.default_rng(0).integers(0, 256, (300, 400)).astype(np.uint8)
    for picture in (noisy(paper), noisy(wide), noisy(step), speckle):
        for dataset in ("mnist", "fashion_mnist"):
            try:
                assert prepare(picture, dataset).image.dtype == np.uint8
            except UserError as refusal:
                assert "blank" in str(refusal)  # noqa: PT017 - refused or not, both are right


@pytest.mark.parametrize("shape", [(1, 1), (1, 700), (700, 1), (2, 2), (24, 24), (25, 26)])
@pytest.mark.parametrize("dataset", ["mnist", "fashion_mnist"])
def test_a_photograph_of_any_shape_is_prepared_or_refused(shape, dataset):
    picture = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    try:
        assert prepare(picture, dataset).image.shape == (28, 28)
    except UserError as refusal:
        assert "blank" in str(refusal)  # noqa: PT017


@pytest.mark.parametrize("ground", [235, 25])
def test_a_garment_on_a_table_lies_on_black_without_the_hook_of_its_hanger(ground):
    garment = np.full((360, 480), float(ground))
    garment += np.linspace(0, -12, 480)[None]
    level = 90.0 if ground > 127 else 150.0
    garment[80:300, 160:320] = level
    garment[30:80, 238:242] = 128
    query = prepare(noisy(garment), "fashion_mnist")
    assert "cut out" in [step.caption for step in query.steps]
    rows, columns = (np.flatnonzero((query.image > 40).any(axis=axis)) for axis in (1, 0))
    assert len(rows) in (27, 28)
    assert len(columns) == 20
    assert query.image[:, 0].max() == 0
    assert np.ptp(query.image[5:-5, 7:-7].astype(int)) < 40, "one level, as the garment"
    assert query.frame.y == pytest.approx(190 / 360, abs=0.03)


@pytest.mark.parametrize("even", [True, False])
def test_a_thing_is_laid_on_the_ground_of_its_data_set_if_that_is_one_color(even, monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    name = f"custom-00000000beef000{int(even)}"
    spec = DatasetSpec(name=name, title="Mine", summary="", classes=("a", "b"), size=40, mean=0.5, std=0.2, channels=3)
    folder = tmp_path / "own" / name
    folder.mkdir(parents=True)
    images = np.full((12, 40, 40, 3), 255, np.uint8) if even else rng.integers(0, 256, (12, 40, 40, 3)).astype(np.uint8)
    images[:, 8:32, 10:30] = rng.integers(0, 200, (12, 1, 1, 3))
    for part in ("train", "test"):
        np.save(folder / f"{part}_images.npy", images)
        np.save(folder / f"{part}_labels.npy", np.arange(12) % 2)
    DATASETS.register(spec.to_dict())
    monkeypatch.setattr(type(DATASETS), "folder", lambda self, asked: folder)
    photo = np.full((240, 320, 3), (120.0, 90, 60))
    photo[60:180, 110:210] = (200, 30, 40)
    query = prepare(noisy(photo), name)
    assert ("background removed" in [step.caption for step in query.steps]) == even
    corner = query.image[0, 0].astype(int)
    assert (corner == 255).all() if even else np.abs(corner - (120, 90, 60)).max() < 12
    if even:
        assert np.abs(query.image[20, 20].astype(int) - (200, 30, 40)).max() < 12
        rows = np.flatnonzero((query.image < 128).any(axis=(1, 2)))
        assert len(rows) == pytest.approx(24, abs=2), "as large as the things of the data set"
        assert query.frame.x == pytest.approx(0.5, abs=0.02)


def test_a_phones_file_is_decoded_small_and_turned():
    picture = np.full((3000, 4000, 3), 230, np.uint8)
    cv2.putText(picture, "7", (1500, 2200), 0, 60, (30, 30, 40), 150)
    exif = Image.Exif()
    exif[0x0112] = 6
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=95, exif=exif.tobytes())
    assert decode(file.getvalue(), "mnist").shape == (512, 384)


def test_an_iphones_file_is_read_and_without_the_library_a_sentence_says_what_to_do(monkeypatch):
    pillow_heif = pytest.importorskip("pillow_heif")
    file = io.BytesIO()
    picture = Image.fromarray(np.full((120, 160, 3), 200, np.uint8))
    pillow_heif.from_pillow(picture).save(file)
    assert decode(file.getvalue(), "mnist").shape == (120, 160)
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(UserError, match="send a JPEG"):
        decode(file.getvalue(), "mnist")


def test_50_megapixels_are_read_and_more_are_refused():
    file = io.BytesIO()
    Image.effect_noise((1024, 768), 40).resize((8160, 6120)).save(file, "JPEG", quality=60)
    assert decode(file.getvalue(), "mnist").shape == (384, 512)
    larger = io.BytesIO()
    Image.new("L", (8200, 6400)).save(larger, "JPEG")
    with pytest.raises(UserError, match="50 megapixels"):
        decode(larger.getvalue(), "mnist")
