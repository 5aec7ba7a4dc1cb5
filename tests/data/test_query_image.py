"""A query image is prepared as the data set was, or refused with one clear sentence."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import available_datasets, load
from dmlviz.data.image_folder import import_image_folder
from dmlviz.data.query_file import decode
from dmlviz.data.query_image import prepare
from dmlviz.errors import UserError
from tests.data.pictures import file_of, stroke


def test_a_picture_and_its_negative_give_the_same_query():
    light, dark = prepare(255 - stroke(), "mnist"), prepare(stroke(), "mnist")
    assert np.array_equal(light.image, dark.image)
    assert any("inverted" in step.caption for step in light.steps)
    assert not any("inverted" in step.caption for step in dark.steps)


def test_the_ink_fills_a_box_of_20_and_its_mass_lies_in_the_middle():
    image = prepare(stroke(), "mnist").image
    assert image.shape == (28, 28)
    assert image.dtype == np.uint8
    rows = np.flatnonzero(image.any(axis=1))
    assert rows[-1] - rows[0] + 1 == 20
    weight = image / image.sum()
    assert abs(weight.sum(axis=1) @ np.arange(28) - 14) <= 0.5
    assert abs(weight.sum(axis=0) @ np.arange(28) - 14) <= 0.5


def centers(images: np.ndarray) -> np.ndarray:
    """The mean pixel index of each image (n × s × s), weighted by ink: row and column (n × 2)."""
    index, images = np.arange(images.shape[1]), images.astype(float)
    return np.stack([images.sum(axis=2) @ index, images.sum(axis=1) @ index], axis=1) / images.sum(axis=(1, 2))[:, None]


def test_the_center_of_mass_lies_at_pixel_14_as_in_mnist():
    rng = np.random.default_rng(0)
    blots = np.zeros((300, 200, 150), np.uint8)
    for blot in blots:
        for _ in range(4):
            top, left = rng.integers(0, (140, 90))
            blot[top : top + rng.integers(10, 60), left : left + rng.integers(10, 60)] = 255
    found = centers(np.stack([prepare(blot, "mnist").image for blot in blots]))
    assert np.abs(found.mean(axis=0) - 14).max() < 0.06
    assert np.mean(np.abs(found - 14) < 0.52) > 0.98, "all but those that would leave the square"


def test_a_symmetric_drawing_stays_in_the_middle_of_the_square():
    drawing = np.zeros((100, 100), np.uint8)
    drawing[10:90, 38:62] = 255
    image = prepare(drawing, "mnist").image
    assert np.array_equal(image, image[::-1, ::-1])


@pytest.mark.parametrize(("height", "width", "top", "left"), [(280, 230, 0, 3), (250, 280, 2, 0), (170, 280, 6, 0)])
def test_the_odd_pixel_beside_a_garment_is_on_the_left_or_above(height, width, top, left):
    garment = np.zeros((400, 400), np.uint8)
    garment[50 : 50 + height, 70 : 70 + width] = 200
    image = prepare(garment, "fashion_mnist").image
    assert (np.flatnonzero(image.any(axis=1))[0], np.flatnonzero(image.any(axis=0))[0]) == (top, left)


def test_a_photographed_garment_keeps_its_levels_and_ink_is_made_dark():
    pale = np.full((280, 280), 255, np.uint8)
    pale[:, 70:210] = 155
    assert prepare(pale, "fashion_mnist").image.max() == 100
    assert prepare(pale, "mnist").image.max() == 255


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "least"), [("mnist", 0.97), ("fashion_mnist", 0.9), ("digits", 0.8)])
def test_a_test_image_that_is_enlarged_and_prepared_is_its_own_nearest(dataset, least):
    if dataset not in available_datasets():
        pytest.skip(f"{dataset} is not on this machine")
    images = load(dataset).test.images
    chosen = np.linspace(0, len(images) - 1, min(len(images), 300)).astype(int)
    prepared = [prepare(np.kron(images[item], np.ones((10, 10), np.uint8)), dataset).image for item in chosen]
    base, asked = (np.reshape(some, (len(some), -1)).astype(np.float32) for some in (images, prepared))
    nearest = ((base**2).sum(axis=1) - 2 * asked @ base.T).argmin(axis=1)
    assert np.mean(nearest == chosen) >= least


@pytest.mark.parametrize("format", ["PNG", "WEBP"])
@pytest.mark.parametrize("dataset", ["mnist", "fashion_mnist", "digits", "numbers"])
def test_a_test_image_is_taken_as_it_is(dataset, format):
    if dataset not in available_datasets():
        pytest.skip(f"{dataset} is not on this machine")
    for image in load(dataset).test.images[:100]:
        query = prepare(decode(file_of(image, format, lossless=True), dataset), dataset)
        assert np.array_equal(query.image, image)
        assert [step.caption for step in query.steps] == [f"{len(image)} × {len(image)}: as it is"]


def test_a_picture_for_the_color_data_of_a_plugin_keeps_its_colors_and_is_taken_as_it_is():
    spec = replace(OWN, name="plugged_in", channels=3)
    DATASETS.add(spec, lambda root: None)
    try:
        picture = np.random.default_rng(0).integers(0, 256, (20, 20, 3)).astype(np.uint8)
        assert np.array_equal(prepare(decode(file_of(picture), spec.name), spec.name).image, picture)
    finally:
        DATASETS.remove(spec.name)


def test_other_pictures_of_the_same_size_are_prepared():
    digit = np.zeros((28, 28), np.uint8)
    digit[6:26, 9:13] = 255
    digit[6:9, 9:19] = 255
    taken = prepare(digit, "mnist")
    assert np.array_equal(taken.image, digit)
    for other in (255 - digit, np.maximum(digit, 40), np.pad(digit, 1)):  # on white, on gray, of another size
        query = prepare(other, "mnist")
        assert query.steps[-1].caption == "centered by mass"
        assert query.image[0, 0] == 0
    drawing = prepare(digit, own_data(9, size=28))  # what is gray was drawn, where images are somebody's own
    assert drawing.steps[-1].caption == "centered by outline"


@pytest.mark.parametrize(("dataset", "size"), [("mnist", 28), ("fashion_mnist", 28), ("digits", 8)])
def test_the_query_has_the_size_of_the_data_set_and_the_last_step_is_it(dataset, size):
    query = prepare(stroke(), dataset)
    assert query.image.shape == (size, size)
    assert query.image.max() == 255
    assert query.steps[-1].image is query.image


def test_position_and_brightness_of_the_stroke_do_not_matter():
    moved = np.zeros((200, 200), np.uint8)
    moved[100:190, 40:100] = stroke() // 3
    assert np.array_equal(prepare(moved, "mnist").image > 40, prepare(stroke(), "mnist").image > 40)


def test_noise_on_gray_paper_is_removed():
    rng = np.random.default_rng(0)
    photo = np.clip(200 - stroke(90, 90) * 0.6 + rng.normal(0, 3, (90, 90)), 0, 255).astype(np.uint8)
    image = prepare(photo, "mnist").image
    assert (image[0] == 0).all()
    assert (image > 128).sum() > 20


@pytest.mark.parametrize("value", [0, 90, 255])
def test_a_blank_picture_is_refused_with_a_sentence(value):
    with pytest.raises(UserError, match="blank"):
        prepare(np.full((40, 40), value, np.uint8), "mnist")


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1)])
def test_a_one_pixel_line_is_blank_or_framed(shape):
    picture = np.zeros(shape, np.uint8)
    picture.flat[0] = 255
    if shape == (1, 1):
        with pytest.raises(UserError, match="blank"):
            prepare(picture, "mnist")
    else:
        assert prepare(picture, "mnist").image.shape == (28, 28)


def test_a_single_dot_is_framed():
    picture = np.zeros((50, 50), np.uint8)
    picture[25, 25] = 255
    assert prepare(picture, "mnist").image.sum() > 0


OWN = DatasetSpec(
    name="custom-00000000cafe0001", title="Mine", summary="", classes=("a", "b"), size=20, mean=0.5, std=0.2
)


def own_data(number: int, **facts: object) -> str:
    """The name of somebody's own data that are like this."""
    declared = replace(OWN, name=f"custom-00000000cafe{number:04x}", **facts)
    DATASETS.register(declared.to_dict())
    return declared.name


def test_a_query_of_a_custom_data_set_is_letterboxed_like_its_images():
    name = own_data(1, channels=3)
    picture = np.full((30, 60, 3), (200, 100, 50), np.uint8)
    picture[:, 20:40] = (0, 0, 255)
    query = prepare(picture, name)
    assert query.image.shape == (20, 20, 3)
    assert (query.image[0, 0] == (200, 100, 50)).all(), "on the color of its border"
    assert (query.image[10, 10] == (0, 0, 255)).all()
    assert np.array_equal(query.steps[-1].image, query.image)


def test_a_query_of_a_gray_custom_data_set_becomes_gray():
    query = prepare(np.full((20, 20, 3), (255, 0, 0), np.uint8), own_data(2))
    assert query.image.shape == (20, 20)
    assert (query.image == 76).all()


def test_a_drawing_takes_the_background_of_the_data_set():
    dark = prepare(stroke(), own_data(3))
    light = prepare(stroke(), own_data(4, dark_on_light=True))
    assert np.array_equal(light.image, 255 - dark.image)
    assert dark.image[0, 0] == 0


def test_an_invalid_query_of_a_custom_data_set_is_one_sentence():
    with pytest.raises(UserError, match="A drawing is gray; Mine is in color"):
        prepare(stroke(), own_data(5, channels=3))
    with pytest.raises(UserError, match="embeddings without one"):
        prepare(stroke(), own_data(6, size=0))


def test_an_upload_to_a_color_data_set_keeps_its_colors():
    picture = np.zeros((9, 9, 3), np.uint8)
    picture[..., 1] = 255
    assert decode(file_of(picture), own_data(7)).shape == (9, 9, 3)
    assert decode(file_of(picture), "mnist").ndim == 2


def test_a_data_set_of_embeddings_reads_no_image():
    with pytest.raises(UserError, match="embeddings without one"):
        decode(file_of(stroke(), "JPEG"), own_data(8, size=0))


def noise(height: int, width: int, seed: int, channels: int = 3) -> Image.Image:
    """A picture with detail of every size."""
    rng = np.random.default_rng(seed)
    sum_of_sizes = sum(
        np.asarray(Image.fromarray(rng.integers(0, 60, (side, side, 3)).astype(np.uint8)).resize((width, height)))
        for side in (3, 9, 40, 200)
    )
    return Image.fromarray(sum_of_sizes if channels == 3 else sum_of_sizes[..., 0])


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 3])
def test_a_custom_training_image_is_prepared_as_it_was_imported(tmp_path, channels):
    """Large and small, wide and tall, JPEG, PNG and WebP, turned by a camera, transparent, with 16 bits."""
    turned = Image.Exif()
    turned[0x0112] = 6
    see_through = noise(90, 61, 5, channels).convert("RGBA")
    see_through.putalpha(noise(90, 61, 6, 1))
    pictures = {
        "large.png": file_of(noise(700, 1100, 0, channels)),
        "large.jpg": file_of(noise(1500, 1000, 1, channels), "JPEG"),
        "turned.jpg": file_of(noise(401, 600, 2, channels), "JPEG", exif=turned.tobytes()),
        "small.webp": file_of(noise(21, 35, 3, channels), "WEBP"),
        "tiny.png": file_of(noise(9, 12, 4, channels)),
        "clear.png": file_of(see_through),
    }
    if channels == 1:
        pictures["deep.png"] = file_of(Image.fromarray(np.asarray(noise(80, 80, 7, 1)).astype(np.uint16) * 90 + 4000))
    others = {f"{seed}.png": file_of(noise(30, 31, seed, channels)) for seed in range(10, 15)}
    for folder, files in (("a", pictures), ("b", others)):
        place = tmp_path / "pictures" / folder
        place.mkdir(parents=True)
        for name, data in files.items():
            (place / name).write_bytes(data)
    understood = import_image_folder(tmp_path / "pictures")
    DATASETS.register(understood.declared.to_dict())
    name, parts = understood.declared.name, understood.parts
    assert understood.declared.channels == channels
    images = np.concatenate([parts["train_images"], parts["test_images"]])
    for file, data in pictures.items():
        query = prepare(decode(data, name), name)
        assert (images == query.image).all(axis=tuple(range(1, images.ndim))).any(), file
        assert max(query.steps[0].image.shape) <= 512
