"""A large picture of small tiles, in neighborhoods: a town seen from above, as it were."""

from dataclasses import dataclass

import numpy as np

from dmlviz.data.dataset import Dataset, Split
from dmlviz.data.made.pixels import enlarge

SEED = 0
TILES = 71  # a side: 71 × 28 = 1,988 pixels
PURE = 0.85  # share of a neighborhood's tiles that are of its own class
MIXED = 0.3  # share of the districts that have no class of their own
DISTRICTS = 24


@dataclass(frozen=True, eq=False)
class Town:
    """The tiles of a picture, row after row.

    Attributes:
        tiles: uint8, TILES² × 28 × 28.
        labels: Class of each tile.
        image: Index of the image of each tile.
        district: District of each tile.
    """

    tiles: np.ndarray
    labels: np.ndarray
    image: np.ndarray
    district: np.ndarray


def build_town(source: Dataset) -> Town:
    """Lay test images out in districts: most have one kind of thing, some are mixed.

    Args:
        source: Data set whose test images are the tiles; an image comes again only where there are too few.
    """
    rng = np.random.default_rng(SEED)
    _, things = enlarge(source)
    classes = np.unique(things.labels)
    centers = rng.uniform(0, TILES, (DISTRICTS, 2))
    kinds = rng.permutation(np.resize(classes, DISTRICTS))
    is_mixed = rng.random(DISTRICTS) < MIXED
    rows, columns = np.divmod(np.arange(TILES**2), TILES)
    district = ((rows[:, None] - centers[:, 0]) ** 2 + (columns[:, None] - centers[:, 1]) ** 2).argmin(1)
    own = (rng.random(TILES**2) < PURE) & ~is_mixed[district]
    labels = np.where(own, kinds[district], rng.choice(classes, TILES**2))
    items = np.empty(TILES**2, int)
    for label in classes:
        items[labels == label] = _draw(things, label, int((labels == label).sum()), rng)
    return Town(things.images[items], things.labels[items], items, district)


def _draw(things: Split, label: int, count: int, rng: np.random.Generator) -> np.ndarray:
    members = np.flatnonzero(things.labels == label)
    rounds = [rng.permutation(members) for _ in range(-(-count // len(members)))]
    return np.concatenate(rounds)[:count] if rounds else members[:0]
