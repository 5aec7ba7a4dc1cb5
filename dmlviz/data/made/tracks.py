"""`tracks`: short videos of one target among things that look alike, and pictures of the targets."""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from dmlviz.data.dataset import Dataset, Split
from dmlviz.data.made.pixels import affine_matrices, enlarge, noise, sample, to_bytes

SEED = 0
TRAIN_VIDEOS = 180
TEST_VIDEOS = 70
TRAIN_CLASSES = (0, 1, 2, 3, 4, 5)  # the test's targets are of no class of the training's
TEST_CLASSES = (6, 7, 8, 9)
FRAMES = 40
SIDE = 64  # of a frame, in pixels
DISTRACTORS = 3
NOISE = 8.0  # gray levels
PICTURE = 28  # side of a picture of a target, in pixels
EVERY = 5  # frames between two pictures of a target
CONTEXT = 1.25  # side of a picture of a target, in sides of its box


@dataclass(frozen=True, eq=False)
class Videos:
    """Videos and where their targets are.

    Attributes:
        frames: uint8, videos × frames × SIDE × SIDE.
        boxes: Middle (row, column) and side of the target's square, in pixels, videos × frames × 3.
        labels: Class of each target.
        distractors: Middle and side of the squares of the things beside it, videos × distractors × frames × 3.
    """

    frames: np.ndarray
    boxes: np.ndarray
    labels: np.ndarray
    distractors: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


def build(source: Dataset) -> tuple[Split, Split]:
    """Make 180 training and 70 test videos, and show each target in 8 of its frames."""
    train, test = make_train_and_test(source)
    return _pictures(train, 0), _pictures(test, TRAIN_VIDEOS)


def make_train_and_test(source: Dataset) -> tuple[Videos, Videos]:
    """Make the training videos, of classes 0 to 5, and the test videos, of classes 6 to 9."""
    rng = np.random.default_rng(SEED)
    train, test = enlarge(source)
    return (
        make_videos(train.select_classes(TRAIN_CLASSES), TRAIN_VIDEOS, rng),
        make_videos(test.select_classes(TEST_CLASSES), TEST_VIDEOS, rng),
    )


def make_videos(
    things: Split,
    count: int,
    rng: np.random.Generator,
    distractors: int = DISTRACTORS,
    noise_level: float = NOISE,
    draws: int | None = None,
) -> Videos:
    """Let things wander over a textured ground, the target of each video above the others.

    Args:
        things: Images of 28 × 28 pixels and their labels.
        count: Number of videos.
        rng: Source of the random numbers.
        distractors: Things of each video beside the target.
        noise_level: Standard deviation of the noise, in gray levels.
        draws: Distractors to draw random numbers for, of which the first are shown: videos of the same seed with more
            of them or fewer are then alike in everything else. As many as are shown by default.
    """
    kinds = 1 + (distractors if draws is None else draws)
    rows = rng.choice(len(things), (count, kinds))
    places, sides, turns = _paths(count, kinds, rng)
    brightness = rng.uniform(0.7, 1.0, (count, kinds))
    grounds = ndimage.gaussian_filter(noise((count, SIDE, SIDE), 130.0, rng), (0, 2.5, 2.5), truncate=3)
    square, middle = 32, (things.images.shape[1] - 1) / 2  # the square holds a thing, turned
    frames = np.empty((count, FRAMES, SIDE, SIDE), np.uint8)
    for frame in range(FRAMES):
        canvas = np.clip(50 + grounds, 0, 255)
        for kind in reversed(range(distractors + 1)):  # the target, kind 0, last
            corner = np.floor(places[:, kind, frame]).astype(int) - square // 2
            to_thing = things.images.shape[1] / sides[:, kind, frame]
            matrices = affine_matrices(turns[:, kind, frame], to_thing)
            off = places[:, kind, frame] - corner - (square - 1) / 2
            centers = middle - np.einsum("nij,nj->ni", matrices, off)
            thing = sample(things.images, rows[:, kind], centers, matrices, square)
            _lay_over(canvas, thing * brightness[:, kind, None, None], corner)
        frames[:, frame] = to_bytes(canvas + noise(canvas.shape, noise_level, rng))
    boxes = np.concatenate([places, sides[..., None]], axis=3).astype(np.float32)
    return Videos(frames, boxes[:, 0], things.labels[rows[:, 0]], boxes[:, 1 : distractors + 1])


def crop(frames: np.ndarray, boxes: np.ndarray, size: int, context: float = CONTEXT) -> np.ndarray:
    """Return the square around each box, scaled to `size` × `size`; what lies outside the frame is mean gray.

    Args:
        frames: n × h × w.
        boxes: Middle (row, column) and side, n × 3.
        size: Side of the result in pixels.
        context: Side of the square, in sides of the box.
    """
    n = len(frames)
    matrices = affine_matrices(np.zeros(n), context * boxes[:, 2].astype(float) / size)
    return to_bytes(sample(frames, np.arange(n), boxes[:, :2], matrices, size, outside=float(frames.mean())))


def _paths(count: int, kinds: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places (count × kinds × frames × 2), sides and turns (count × kinds × frames) of all things."""
    low, high = 10.0, SIDE - 11.0
    place = rng.uniform(low, high, (count, kinds, 2))
    speed = rng.uniform(-1.6, 1.6, (count, kinds, 2))
    side = rng.uniform(17, 23, (count, kinds))
    spin, growth = rng.uniform(-1.5, 1.5, (count, kinds)), rng.uniform(-0.006, 0.006, (count, kinds))
    frames = np.arange(FRAMES)
    places = np.empty((count, kinds, FRAMES, 2))
    for frame in frames:
        places[:, :, frame] = place
        speed = np.clip(speed + rng.uniform(-0.35, 0.35, speed.shape), -2.2, 2.2)
        speed = np.where((place + speed < low) | (place + speed > high), -speed, speed)
        place = np.clip(place + speed, low, high)
    turns = rng.uniform(-20, 20, (count, kinds, 1)) + spin[..., None] * frames
    return places, side[..., None] * (1 + growth[..., None] * frames), turns


def _lay_over(canvas: np.ndarray, things: np.ndarray, corners: np.ndarray) -> None:
    """Put each thing on its canvas where it is bright; what sticks out is cut off."""
    side = things.shape[1]
    for ground, thing, (row, column) in zip(canvas, things, corners, strict=True):
        top, left = max(row, 0), max(column, 0)
        bottom, right = min(row + side, ground.shape[0]), min(column + side, ground.shape[1])
        part = thing[top - row : bottom - row, left - column : right - column]
        below = ground[top:bottom, left:right]
        opacity = np.minimum(part / 128, 1)
        below += opacity * (part - below)


def _pictures(videos: Videos, first: int) -> Split:
    frame_numbers = np.arange(0, FRAMES, EVERY)
    frames = videos.frames[:, frame_numbers].reshape(-1, SIDE, SIDE)
    images = crop(frames, videos.boxes[:, frame_numbers].reshape(-1, 3), PICTURE)
    roles = {
        "frame": np.tile(np.arange(len(frame_numbers)), len(videos)),
        "thing": np.repeat(videos.labels, len(frame_numbers)),
        "query": np.tile((frame_numbers == 0).astype(np.int64), len(videos)),
    }
    return Split(images, np.repeat(np.arange(first, first + len(videos)), len(frame_numbers)).astype(np.int64), roles)
