"""`patches`: scenes of scattered things, and 32 × 32 patches around points of them, each seen in several views."""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from dmlviz.data.dataset import Dataset, Split
from dmlviz.data.made.pixels import affine_matrices, enlarge, noise, sample, to_bytes

SEED = 0
TRAIN_SCENES = 12
TEST_SCENES = 6
POINTS = 120  # things in a scene, and points in it
SIDE = 240  # of a scene, in pixels
PATCH = 32  # side of a patch, in pixels
VIEWS = 4
DISPARITY = 24  # pixels at most, in a stereo pair
PLACES = 16  # a side of the grid of places in a pair of scenes

# Differences of two views: between the first views of a lesson, which every net matches, and those that none does.
TURN = 20.0  # degrees, either way
SCALE = 1.2  # at most so many times larger or smaller
SHIFT = 2.0  # pixels, either way
CONTRAST = 0.25  # either way
BRIGHTNESS = 25.0  # gray levels, either way
NOISE = 8.0  # gray levels


@dataclass(frozen=True, eq=False)
class Scenes:
    """Scenes with a point at each of their things.

    Attributes:
        images: The scenes, uint8, scenes × SIDE × SIDE.
        points: Row and column of each point, scenes × POINTS × 2.
        labels: Class of the thing at each point, scenes × POINTS.
    """

    images: np.ndarray
    points: np.ndarray
    labels: np.ndarray


def build(source: Dataset) -> tuple[Split, Split]:
    """Make 12 scenes of training images and 6 of test images, and see each of their points in 4 views."""
    rng = np.random.default_rng(SEED)
    train, test = enlarge(source)
    first, second = (make_scenes(part, count, rng) for part, count in ((train, TRAIN_SCENES), (test, TEST_SCENES)))
    return _patches(first, 0, rng), _patches(second, TRAIN_SCENES, rng)


def make_scenes(things: Split, count: int, rng: np.random.Generator) -> Scenes:
    """Scatter things, turned and of different sizes, over uneven grounds.

    Args:
        things: Images of 28 × 28 pixels and their labels.
        count: Number of scenes.
        rng: Source of the random numbers.
    """
    images = np.empty((count, SIDE, SIDE), np.uint8)
    rows = rng.choice(len(things), (count, POINTS), replace=count * POINTS > len(things))
    points = np.stack([_scatter(rng) for _ in range(count)])
    square = 36  # holds a thing, turned
    for scene in range(count):
        matrices = affine_matrices(rng.uniform(-180, 180, POINTS), rng.uniform(0.8, 1.25, POINTS))
        middle = np.full((POINTS, 2), (things.images.shape[1] - 1) / 2)
        pictures = sample(things.images, rows[scene], middle, matrices, square)
        canvas = np.zeros((SIDE + 2 * square, SIDE + 2 * square), np.float32)
        for thing, (row, column) in zip(pictures, np.rint(points[scene]).astype(int) + square // 2, strict=True):
            place = canvas[row : row + square, column : column + square]
            np.maximum(place, thing, out=place)
        ground = ndimage.gaussian_filter(noise((SIDE, SIDE), 300.0, rng), 6, truncate=3)
        images[scene] = to_bytes(40 + ground + 0.8 * canvas[square : square + SIDE, square : square + SIDE])
    return Scenes(images, points, things.labels[rows])


def see_points(
    images: np.ndarray, scene: np.ndarray, points: np.ndarray, rng: np.random.Generator, warp: float = 1.0
) -> np.ndarray:
    """Return a patch around each point: turned, scaled, shifted, in another light.

    Args:
        images: The scenes.
        scene: Index of the scene of each point, n.
        points: Row and column of the points, n × 2.
        rng: Source of the random numbers.
        warp: Difference between views: 0 for not at all, 1 for as far as in the data set.

    Returns:
        Patches, uint8, n × PATCH × PATCH.
    """
    n = len(points)
    turn, scale = rng.uniform(-TURN, TURN, n) * warp, SCALE ** (rng.uniform(-1, 1, n) * warp)
    centers = points + rng.uniform(-SHIFT, SHIFT, (n, 2)) * warp
    patches = sample(images, scene, centers, affine_matrices(turn, scale), PATCH, outside=40)
    contrast = 1 + rng.uniform(-CONTRAST, CONTRAST, (n, 1, 1)) * warp
    brightness = rng.uniform(-BRIGHTNESS, BRIGHTNESS, (n, 1, 1)) * warp
    return to_bytes(patches * contrast + brightness + noise(patches.shape, NOISE * warp, rng))


@dataclass(frozen=True, eq=False)
class ScenePair:
    """A scene seen twice, and a grid of places in it.

    Attributes:
        left: The scene, uint8, SIDE × SIDE.
        right: The same turned, larger, in another light.
        places: Row and column of the places, the same on both sides, PLACES² × 2.
        truth: Position on the right of each place of the left, PLACES² × 2.
    """

    left: np.ndarray
    right: np.ndarray
    places: np.ndarray
    truth: np.ndarray

    def cut(self, scene: np.ndarray) -> np.ndarray:
        """Return the patch around each place of a scene, uint8, PLACES² × PATCH × PATCH."""
        still = affine_matrices(np.zeros(len(self.places)), np.ones(len(self.places)))
        return to_bytes(sample(scene[None], np.zeros(len(self.places), int), self.places, still, PATCH, outside=40))


def make_scene_pair(source: Dataset) -> ScenePair:
    """Make a scene of test images and a second view of it: turned by 12°, 1.1 times as large, darker, with noise."""
    rng = np.random.default_rng(SEED + 1)
    left = make_scenes(enlarge(source)[1], 1, rng).images[0]
    matrix = affine_matrices(np.array([12.0]), np.array([1 / 1.1]))  # from the right to the left
    middle = np.full((1, 2), (SIDE - 1) / 2)
    right = sample(left[None], np.zeros(1, int), middle, matrix, SIDE, outside=40)[0]
    right = to_bytes(0.85 * right + 10 + noise(right.shape, NOISE, rng))
    along = np.linspace(PATCH / 2, SIDE - 1 - PATCH / 2, PLACES)
    places = np.stack([grid.ravel() for grid in np.meshgrid(along, along, indexing="ij")], 1)
    truth = middle + (places - middle) @ np.linalg.inv(matrix[0]).T
    return ScenePair(left, right, places, truth)


@dataclass(frozen=True, eq=False)
class StereoPair:
    """Two pictures of a scene, side by side: what lies at (row, column) on the left is at column − d on the right.

    Attributes:
        left: uint8, SIDE × SIDE.
        right: The same from beside, in another light.
        disparity: d at each pixel of the left, from 0 to DISPARITY, SIDE × SIDE; near things have a large one.
    """

    left: np.ndarray
    right: np.ndarray
    disparity: np.ndarray

    def cut(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cut patches for a search along the rows.

        Args:
            places: Rows and columns on the left, n × 2.

        Returns:
            The patches around them (uint8, n × PATCH × PATCH), and those at all disparities from 0 to DISPARITY on the
            right (n × (DISPARITY + 1) × PATCH × PATCH).
        """
        steps = np.stack([np.zeros(DISPARITY + 1), np.arange(DISPARITY + 1)], 1)
        both = []
        for scene, centers in ((self.left, places), (self.right, (places[:, None] - steps).reshape(-1, 2))):
            still = affine_matrices(np.zeros(len(centers)), np.ones(len(centers)))
            both.append(to_bytes(sample(scene[None], np.zeros(len(centers), int), centers, still, PATCH, outside=40)))
        return both[0], both[1].reshape(len(places), -1, PATCH, PATCH)


def make_stereo_pair(source: Dataset) -> StereoPair:
    """Make two pictures of a hilly scene of test images."""
    rng = np.random.default_rng(SEED + 2)
    right = make_scenes(enlarge(source)[1], 1, rng).images[0]
    hills = ndimage.gaussian_filter(noise((SIDE, SIDE), 1.0, rng), 30)
    disparity = DISPARITY * (hills - hills.min()) / np.ptp(hills)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    left = ndimage.map_coordinates(right, [rows, columns - disparity], np.float32, order=1, mode="nearest")
    return StereoPair(to_bytes(0.85 * left + 10 + noise(left.shape, NOISE, rng)), right, disparity)


def _scatter(rng: np.random.Generator) -> np.ndarray:
    """Return places at least half a patch from the edges: one in each cell of a jittered grid of 10 × 12."""
    rows, columns = np.meshgrid(np.arange(10) + 0.5, np.arange(12) + 0.5, indexing="ij")
    cells = np.stack([rows.ravel() / 10, columns.ravel() / 12], 1)
    return PATCH / 2 + (SIDE - PATCH) * (cells + rng.uniform(-0.3, 0.3, cells.shape) / [10, 12])


def _patches(scenes: Scenes, first_scene: int, rng: np.random.Generator) -> Split:
    count = len(scenes.images)
    scene = np.repeat(np.arange(count), POINTS)
    views = [see_points(scenes.images, scene, scenes.points.reshape(-1, 2), rng) for _ in range(VIEWS)]
    point = np.arange(first_scene * POINTS, (first_scene + count) * POINTS)
    roles = {
        "view": np.tile(np.arange(VIEWS), len(point)),
        "thing": np.repeat(scenes.labels.ravel(), VIEWS),
        "query": np.tile(np.arange(VIEWS) == 0, len(point)).astype(np.int64),
    }
    images = np.stack(views, 1).reshape(-1, PATCH, PATCH)
    return Split(images, np.repeat(point, VIEWS).astype(np.int64), roles)
