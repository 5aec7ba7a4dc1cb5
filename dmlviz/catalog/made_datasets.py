"""The specs of the data sets that are made from others; `dmlviz.data.made` makes them.

A further one is one more entry of `MADE`, and the function that its recipe names.
"""

from dmlviz.catalog.dataset_spec import ClassSplit, DatasetSpec, Framing, Recipe
from dmlviz.catalog.parameters import texts

# Shuffled once: in order, a split by classes would be a split by tens.
NUMBERS = tuple(
    "96 61 38 00 09 50 54 78 81 51 92 31 12 46 48 21 14 91 66 23 04 63 82 01 76 "
    "16 25 35 17 07 37 90 72 70 97 28 10 55 24 74 08 42 18 36 45 83 43 49 65 39 "
    "02 71 86 95 40 75 32 73 67 29 64 34 41 03 80 33 87 15 27 44 06 94 05 88 68 "
    "62 89 13 57 93 19 77 84 52 26 30 58 11 98 20 69 53 47 60 56 59 85 22 99 79".split()
)
CAMERAS = ("camera 0", "camera 1", "camera 2", "camera 3")
SKETCHED, POINTS, VIDEOS = 8_000, 2_160, 250
IDENTITIES = 1501  # of which 751 to test on: the numbers of Market-1501

MADE = (
    DatasetSpec(
        **texts("dataset", "numbers"),
        classes=NUMBERS,
        size=28,
        mean=0.1316,
        std=0.2939,
        framing=Framing(box=24),
        class_split=ClassSplit(train=64, validation=16, test=20),  # the counts of miniImageNet
        recipe=Recipe(build="dmlviz.data.made.numbers:build", sources=("mnist", "digits")),
    ),
    DatasetSpec(
        **texts("dataset", "identities"),
        classes=tuple(f"{number:04d}" for number in range(IDENTITIES)),
        size=28,
        mean=0.3418,
        std=0.2534,
        framing=Framing(box=26, photographs=True),
        most={"images_per_class": 8},
        roles={"camera": CAMERAS, "model": (), "query": ("gallery", "query")},
        class_split=ClassSplit(train=750, test=751, disjoint=True),
        recipe=Recipe(build="dmlviz.data.made.identities:build", sources=("fashion_mnist", "mnist", "digits")),
    ),
    DatasetSpec(
        **texts("dataset", "sketches"),
        classes=tuple(f"{number:04d}" for number in range(SKETCHED)),
        size=28,
        mean=0.2598,
        std=0.3554,
        most={"images_per_class": 2},
        roles={"domain": ("photograph", "sketch"), "garment": (), "query": ("gallery", "query")},
        class_split=ClassSplit(train=6_000, test=2_000, disjoint=True),
        recipe=Recipe(build="dmlviz.data.made.sketches:build", sources=("fashion_mnist", "mnist", "digits")),
    ),
    DatasetSpec(
        **texts("dataset", "patches"),
        classes=tuple(f"{number:04d}" for number in range(POINTS)),
        size=32,
        mean=0.3501,
        std=0.2853,
        most={"images_per_class": 4},
        roles={"view": ("view 0", "view 1", "view 2", "view 3"), "thing": (), "query": ("gallery", "query")},
        class_split=ClassSplit(train=1_440, test=720, disjoint=True),
        recipe=Recipe(build="dmlviz.data.made.patches:build", sources=("mnist", "fashion_mnist", "digits")),
    ),
    DatasetSpec(
        **texts("dataset", "tracks"),
        classes=tuple(f"{number:03d}" for number in range(VIDEOS)),
        size=28,
        mean=0.2696,
        std=0.1736,
        most={"images_per_class": 8},
        roles={
            "frame": tuple(f"frame {5 * number}" for number in range(8)),
            "thing": (),
            "query": ("gallery", "query"),
        },
        class_split=ClassSplit(train=180, test=70, disjoint=True),
        recipe=Recipe(build="dmlviz.data.made.tracks:build", sources=("mnist", "digits")),
    ),
)
