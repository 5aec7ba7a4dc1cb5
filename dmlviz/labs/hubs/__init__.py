"""The lab *Hubs*: images that are a neighbor of very many, by the number of dimensions."""

from collections.abc import Sequence

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.parameters import Fields
from dmlviz.labs.kept_arrays import images_and_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.pictures import row_of_images
from dmlviz.labs.statistics import caveat, mean_rows
from dmlviz.studies.trial import Size, Trial, TrialResult

# Name, title, settings of the net; None for points that no net places.
SPACES: tuple[tuple[str, str, Fields | None], ...] = (
    ("random", "random points", None),
    ("pixels", "pixels, by PCA", None),
    ("untrained", "untrained net", {"loss": "softmax", "normalize": False}),
    ("triplet", "triplet, semi-hard", {"loss": "triplet", "miner": "semihard_nearest", "normalize": False}),
    ("nt_xent", "NT-Xent, on the sphere", {"loss": "nt_xent"}),
)
DIMENSIONS, QUICK_DIMENSIONS = (2, 4, 8, 16, 32, 64), (2, 8, 64)  # digits have 64 pixels
FIGURES = ("skewness", "orphans", "wrong")
SHOWN = 5  # nearest images of a hub in a picture
SECONDS, SECONDS_SMALL_IMAGES = 0.035, 0.012  # of a step, for images of 28 × 28 and of 8 × 8


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    quick = size == "quick"
    seeds, steps = (1, 200) if quick else (3, 300)
    step = SECONDS if DATASETS[dataset].size > 8 else SECONDS_SMALL_IMAGES
    return [
        Trial(
            name=f"{name}-{dimensions:02d}-seed_{seed}",
            settings={"space": name, "dimensions": dimensions, "seed": seed}
            | ({} if config is None else {"config": {**config, "net": "small", "steps": steps}}),
            dataset=dataset,
            seconds=1 + (0 if config is None or name == "untrained" else steps * step),
        )
        for seed in range(seeds)
        for name, _, config in SPACES
        for dimensions in (QUICK_DIMENSIONS if quick else DIMENSIONS)
        if name != "pixels" or not seed  # pixels have no seed
    ]


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    return [
        row
        for figure in FIGURES
        for name, title, _ in SPACES
        for row in mean_rows(
            figure,
            title,
            [
                (result.trial.settings["dimensions"], result.values.get(figure))
                for result in results
                if result.trial.settings["space"] == name
            ],
        )
    ]


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return the largest hubs of a space, each with images whose neighbor it is, wrong ones first."""
    names = {title: name for name, title, _ in SPACES}
    for result in results:
        settings = result.trial.settings
        if (settings["space"], settings["dimensions"]) != (names[series], x) or "images" not in result.values:
            continue
        if (behind := images_and_arrays(result, "hubs.npz")) is not None:
            images, kept = behind
            return [
                PicturePair(
                    images=(row_of_images(images[[hub, *near]], np.array([True, *right])),),
                    caption=f"the first is among the ten nearest of {count:,} others, {wrong:.0%} of another class",
                )
                for hub, near, right, count, wrong in zip(
                    kept["hubs"], kept["near"], kept["right"], kept["count"], kept["wrong"], strict=True
                )
            ]
    return []


def _answer(results: Sequence[TrialResult]) -> str:
    rows = {(row.figure, row.series, row.x): row for row in LAB.rows(results)}
    random, pixels, *_, sphere = (title for _, title, _ in SPACES)
    dimensions = sorted({float(x) for _, _, x in rows})
    needed = [("skewness", title, x) for title in (random, pixels, sphere) for x in (dimensions[0], dimensions[-1])]
    if not dimensions or any(key not in rows for key in needed):
        return "Too many trials failed to tell."
    ends = [
        (rows["skewness", title, dimensions[0]], rows["skewness", title, dimensions[-1]]) for title in (random, pixels)
    ]
    net = rows["skewness", sphere, dimensions[0]], rows["skewness", sphere, dimensions[-1]]
    orphans = rows["orphans", random, dimensions[-1]], rows["orphans", sphere, dimensions[-1]]
    low, high, few, many = (f"{round(row.y, 1) + 0:.1f}" for row in (*ends[0], *ends[1]))
    return (
        f"From {dimensions[0]:g} to {dimensions[-1]:g} dimensions the skewness of random points goes from {low} to "
        f"{high}, of pixels from {few} to {many}, and of embeddings learned on the sphere to {net[1].y:.1f}. "
        "What counts is how many dimensions the points fill: pictures, and classes of a net, fill far fewer than an "
        f"embedding has. With {dimensions[-1]:g} dimensions {orphans[0].y:.0%} of the random points are among nobody's "
        f"ten nearest, and {orphans[1].y:.0%} of these embeddings{caveat(*orphans, '{:.0%}')}."
    )


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, pictures=_pictures)
