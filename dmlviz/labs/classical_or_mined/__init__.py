"""The lab *Classical or mined*: siamese and triplet nets as they were, and with tuples chosen from the batch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.parameters import Fields
from dmlviz.labs.lab import FigureRow, LinkedPlanes, Plane, read_lab
from dmlviz.labs.statistics import caveat, mean_rows
from dmlviz.storage.arrays import read_arrays
from dmlviz.studies.trial import Size, Trial, TrialResult

if TYPE_CHECKING:
    from dmlviz.data import Dataset

# Name, title, settings: 160 images a batch either way (159 of triplets).
WAYS: tuple[tuple[str, str, Fields], ...] = (
    ("pairs-classical", "Pairs, classical", {"loss": "contrastive", "sampler": "random_pairs"}),
    ("pairs-mined", "Pairs, mined", {"loss": "contrastive", "sampler": "balanced", "miner": "hard_negative_pairs"}),
    ("triplets-classical", "Triplets, classical", {"loss": "triplet", "sampler": "random_triplets"}),
    ("triplets-mined", "Triplets, mined", {"loss": "triplet", "sampler": "balanced", "miner": "random_hard_negative"}),
)
TITLES = {name: title for name, title, _ in WAYS}
SCORES = (("precision_at_1", "P@1"), ("map_at_r", "MAP@R"))
PARTS = (("test", "test images"), ("train", "training images"))
SCORED = 2000  # test images, and as many training images
SECONDS, SECONDS_SMALL_IMAGES = 20.0, 12.0  # of 600 steps, for images of 28 × 28 and of 8 × 8


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    seeds = 1 if size == "quick" else 3
    seconds = SECONDS if DATASETS[dataset].size > 8 else SECONDS_SMALL_IMAGES
    common = {
        "loss_params": {"margin": 1.0},
        "validation_fraction": 0,
        "net": "small",
        "embedding_dim": 2,
        "normalize": False,
        "optimizer": "adam",
        "steps": 600,
    }
    return [
        Trial(
            name=f"{name}-seed_{seed}",
            settings={**common, **settings, "seed": seed},
            dataset=dataset,
            seconds=seconds,
        )
        for seed in range(seeds)
        for name, _, settings in WAYS
    ]


def _way(result: TrialResult) -> str:
    return result.trial.name.rsplit("-", 1)[0]


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows: list[FigureRow] = []
    for name, title in TITLES.items():
        own = [result for result in results if result.values.get("curve") and _way(result) == name]
        rows += mean_rows("images", title, [(p[0], p[2]) for result in own for p in result.values["curve"]])
        rows += mean_rows("active", title, [(p[0], p[3]) for result in own for p in result.values["curve"][1:]])
        for result in own[:1]:  # seconds differ from seed to seed, so that there is no mean of them
            rows += [
                FigureRow(figure="seconds", series=title, x=point[1], y=point[2]) for point in result.values["curve"]
            ]
            rows += [
                FigureRow(figure="loss", series=title, x=images, y=loss)
                for images, loss in result.values.get("losses", [])
            ]
        rows += mean_rows("tuples", title, [(title, r.values["tuples"] / r.values["images"]) for r in own])
        trials = [result for result in own if "test" in result.values]
        for part, words in PARTS:
            for score, score_title in SCORES:
                points = [(title, result.values[part][score]) for result in trials]
                rows += mean_rows("scores", f"{score_title}, {words}", points)
    return rows


def _planes(results: Sequence[TrialResult]) -> LinkedPlanes | None:
    """Return the plane after training, of the first seed: test images and training images."""
    planes: list[Plane] = []
    arrays: Mapping[str, np.ndarray] = {}
    for name, title in TITLES.items():
        own = [result for result in results if _way(result) == name and result.folder and "test" in result.values]
        for result in own[:1]:
            arrays = read_arrays((result.folder or Path()) / "points.npz")
            scores = [f"{result.values[part][SCORES[-1][0]]:.3f} ({words})" for part, words in PARTS]
            note = f"{SCORES[-1][1]} {', '.join(scores)}"
            planes.append(Plane(title=title, note=note, points=arrays["embeddings"].astype(np.float32)))
    if not planes:
        return None
    labels = arrays["labels"].astype(int)
    classes = tuple(range(int(labels.max()) + 1))
    return LinkedPlanes(planes=tuple(planes), labels=labels, tests=int(arrays["tests"]), classes=classes)


def _plane_images(data: "Dataset") -> np.ndarray:
    from dmlviz.labs.kept_arrays import both_parts

    return both_parts(data, SCORED)[0].images


def _answer(results: Sequence[TrialResult]) -> str:
    rows = LAB.rows(results)
    bars = {(row.series, row.x): row for row in rows if row.figure == "scores"}
    series = f"{SCORES[-1][1]}, {PARTS[0][1]}"
    if any((series, title) not in bars for title in TITLES.values()):
        return "Too many trainings failed to tell."
    pairs, mined_pairs, triplets, mined_triplets = (bars[series, title] for title in TITLES.values())
    tuples = {row.series: row.y for row in rows if row.figure == "tuples"}
    classical, mined, *_ = TITLES.values()
    return (
        f"After the same number of images MAP@R is {pairs.y:.3f} with blind pairs and {mined_pairs.y:.3f} with mined "
        f"ones{caveat(pairs, mined_pairs, '{:.3f}')}, {triplets.y:.3f} with blind triplets and {mined_triplets.y:.3f} "
        f"with mined ones{caveat(triplets, mined_triplets, '{:.3f}')}. A blind batch compares {tuples[classical]:.1f} "
        f"pairs for each image that the net embeds; a miner finds {tuples[mined]:.0f} in the batch, and the hard ones."
    )


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, planes=_planes, plane_images=_plane_images)
