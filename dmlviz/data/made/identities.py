"""`identities`: every source image is an identity, seen in 8 views by 4 cameras, as in re-identification."""

import numpy as np
from scipy import ndimage

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.dataset import Dataset, Split
from dmlviz.data.made.pixels import enlarge, noise, to_bytes

CAMERAS = DATASETS["identities"].roles["camera"]
SEED = 0
TRAIN_IDENTITIES = 750  # those of Market-1501
TEST_IDENTITIES = 751
VIEWS = 8

# The effect of a camera on an image: share of the contrast that is left, gray level of the ground, blur in pixels.
CONTRAST = (1.0, 0.75, 0.6, 0.85)
GROUND = (0.0, 40.0, 90.0, 15.0)
BLUR = (0.0, 0.6, 0.4, 0.9)

TURN = 10.0  # degrees, either way
SCALE = 0.07  # either way
SHIFT = 1.5  # pixels, either way
NOISE = 14.0  # gray levels
OCCLUDED = 0.2  # share of the views with something in front
BLOCK = 10  # side of what stands in front, in pixels


def build(source: Dataset) -> tuple[Split, Split]:
    """Show 750 images of the training part and 751 of the test part as each camera sees them, twice."""
    rng = np.random.default_rng(SEED)
    train, test = enlarge(source)
    if len(train) < TRAIN_IDENTITIES or len(test) < TEST_IDENTITIES:  # one pool, divided
        images, labels = np.concatenate([train.images, test.images]), np.concatenate([train.labels, test.labels])
        pool = Split(images, labels)
        train, test = pool.first(TRAIN_IDENTITIES), pool.select(slice(TRAIN_IDENTITIES, None))
    return _views(train, 0, TRAIN_IDENTITIES, rng), _views(test, TRAIN_IDENTITIES, TEST_IDENTITIES, rng)


def _views(people: Split, first: int, count: int, rng: np.random.Generator) -> Split:
    rows = rng.permutation(len(people))[:count]
    identity = np.repeat(np.arange(count), VIEWS)
    camera = np.tile(np.arange(VIEWS) % len(CAMERAS), count)
    clear = people.images[rows].astype(np.float64)
    images = np.empty((count * VIEWS, *people.images.shape[1:]), np.uint8)
    for number, (who, where) in enumerate(zip(identity, camera, strict=True)):
        images[number] = _view(clear[who], int(where), rng)
    roles = {
        "camera": camera,
        "model": people.labels[rows][identity],
        "query": (camera == 0).astype(np.int64),
    }
    return Split(images, identity + first, roles)


def _view(image: np.ndarray, camera: int, rng: np.random.Generator) -> np.ndarray:
    """Return one picture of an identity: turned, scaled, shifted, as the camera shows it."""
    turn, scale, down, right, front, top, left, level = rng.random(8) * 2 - 1
    angle, scale = np.deg2rad(TURN * turn), 1 + SCALE * scale
    matrix = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) / scale
    middle = (np.array(image.shape) - 1) / 2
    offset = middle - matrix @ (middle + SHIFT * np.array([down, right]))
    view = ndimage.affine_transform(image, matrix, offset, order=1)
    if (front + 1) / 2 < OCCLUDED:
        row, column = (int((place + 1) / 2 * (len(view) - BLOCK + 1)) for place in (top, left))
        view[row : row + BLOCK, column : column + BLOCK] = 127 * (level + 1)
    if BLUR[camera]:
        view = ndimage.gaussian_filter(view, BLUR[camera], truncate=3)
    ground = GROUND[camera]
    pixels = ground + CONTRAST[camera] * (1 - ground / 255) * view
    return to_bytes(pixels + noise(image.shape, NOISE, rng))
