"""The specs of the data sets that are made from others; `dmlviz.data.made` makes them.

A further one is one more entry of `MADE`, and the function that its recipe names.
"""

from dmlviz.catalog.dataset_spec import ClassSplit, DatasetSpec, Framing, Recipe

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
        name="numbers",
        title="Numbers 00–99",
        summary="Two handwritten digits side by side, 28 × 28: 100 classes with 320 images each to train on, 40 to "
        "test on. Made from MNIST in a second.",
        classes=NUMBERS,
        size=28,
        mean=0.1316,
        std=0.2939,
        framing=Framing(box=24),
        class_split=ClassSplit(train=64, validation=16, test=20),  # the counts of miniImageNet
        recipe=Recipe(build="dmlviz.data.made.numbers:build", sources=("mnist", "digits")),
    ),
    DatasetSpec(
        name="identities",
        title="Identities",
        summary="1,501 pieces of clothing, each seen in 8 views by 4 cameras, 28 × 28: 750 to train on, 751 others to "
        "test on, as in re-identification. Made from Fashion-MNIST in two seconds.",
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
        name="sketches",
        title="Sketches",
        summary="8,000 photographs of clothes, 28 × 28, each with a drawing of its edges: 6,000 pairs to train on, "
        "2,000 others to test on. Made from Fashion-MNIST in a second.",
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
        name="patches",
        title="Patches",
        summary="Patches of 32 × 32 pixels around the points of scenes, each point in 4 views: 1,440 points to train "
        "on, 720 of other scenes to test on. Made from MNIST in a second.",
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
        name="tracks",
        title="Tracks",
        summary="250 digits that wander through videos among others, each shown in 8 frames, 28 × 28: 180 to train on "
        "(0 to 5), 70 of other classes to test on (6 to 9). Made from MNIST in three seconds.",
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
