"""The lab *The margin strip*: what a margin on the angle does to eight classes in the plane."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.labs.lab import FigureRow, LinkedPlanes, PicturePair, Plane, read_lab
from dmlviz.labs.pictures import circle_picture
from dmlviz.labs.statistics import caveat, compare, mean_rows
from dmlviz.storage.arrays import read_arrays
from dmlviz.studies.trial import Size, Trial, TrialResult

if TYPE_CHECKING:
    from dmlviz.data import Dataset

MARGINS = (0.0, 0.05, 0.1, 0.2, 0.35)
LOSS_TITLES = {"cos": "CosFace: cos θ − m", "arc": "ArcFace: cos(θ + m)"}
LOSS_NAMES = {"cos": "cosface", "arc": "arcface"}
SCORES = (("accuracy", "accuracy of the templates"), ("precision_at_1", "P@1"))
HELD_OUT_CLASSES = (8, 9)  # so that eight are left, as in the figure of the lecture
SEEN_CLASSES = (0, 1, 2, 3, 4, 5, 6, 7)
EVEN_GAP = 360 / len(SEEN_CLASSES)  # degrees between templates that are spread evenly
KEPT_POINTS = 1500  # test images whose places are kept
SECONDS, SECONDS_SMALL_IMAGES = 20.0, 10.0  # of 1,200 steps, for images of 28 × 28 and of 8 × 8


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    kinds, seeds, steps = (("cos",), 1, 600) if size == "quick" else (("cos", "arc"), 3, 1200)
    seconds = SECONDS if DATASETS[dataset].size > 8 else SECONDS_SMALL_IMAGES
    return [
        Trial(
            name=f"{kind}-margin_{margin:g}-seed_{seed}",
            settings={
                "loss": LOSS_NAMES[kind],
                "loss_params": {"margin": margin, "scale": 16},
                "held_out_classes": list(HELD_OUT_CLASSES),
                "validation_fraction": 0,
                "embedding_dim": 2,
                "learning_rate": 8e-3,
                "steps": steps,
                "seed": seed,
            },
            dataset=dataset,
            seconds=seconds * steps / 1200,
        )
        for seed in range(seeds)
        for kind in kinds
        for margin in MARGINS
    ]


def _kind(result: TrialResult) -> str:
    return result.trial.name.split("-")[0]


def _margin(result: TrialResult) -> float:
    return float(result.trial.settings["loss_params"]["margin"])


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows: list[FigureRow] = []
    trials = [result for result in results if result.values]
    for kind, title in LOSS_TITLES.items():
        own = [result for result in trials if _kind(result) == kind]
        for figure, values in (
            ("angles", {"median_angle": "half of the images", "wide_angle": "90% of the images"}),
            ("gap", {"smallest_gap": "smallest gap"}),
            ("scores", dict(SCORES)),
        ):
            for name, words in values.items():
                series = f"{words}, {title.split(':')[0]}"
                rows += mean_rows(figure, series, [(_margin(result), result.values[name]) for result in own])
    return rows


def _planes(results: Sequence[TrialResult]) -> LinkedPlanes | None:
    """Return the plane after training with each margin, of the seed with the lowest loss."""
    planes: list[Plane] = []
    labels = np.empty(0, int)
    for kind, title in LOSS_TITLES.items():
        for margin in MARGINS:
            same = [
                result
                for result in results
                if result.folder and result.values.get("loss") and _kind(result) == kind and _margin(result) == margin
            ]
            if same:
                best = min(same, key=lambda result: float(result.values["loss"]))
                arrays = read_arrays((best.folder or Path()) / "points.npz")
                labels = arrays["labels"].astype(int)
                planes.append(
                    Plane(
                        title=f"{title.split(':')[0]}, m = {margin:g}",
                        note=f"P@1 {best.values['precision_at_1']:.3f}",
                        points=arrays.get("features", arrays["embeddings"]).astype(np.float32),
                        centers=arrays["centers"],
                    )
                )
    if not planes:
        return None
    return LinkedPlanes(planes=tuple(planes), labels=labels, tests=len(labels), classes=SEEN_CLASSES)


def _plane_images(data: "Dataset") -> np.ndarray:
    from dmlviz.labs.kept_arrays import some_test_images

    return np.asarray(data.test.images[some_test_images(data, SEEN_CLASSES, KEPT_POINTS)])


def _picture(result: TrialResult, caption: str) -> PicturePair:
    assert result.folder is not None
    arrays = read_arrays(result.folder / "points.npz")
    image = circle_picture(arrays["embeddings"].astype(np.float32), arrays["labels"], arrays["centers"])
    return PicturePair(images=(image,), caption=f"{caption}: P@1 {result.values['precision_at_1']:.3f}")


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return the plane of each seed with this margin, the lowest loss first."""
    same = [result for result in results if result.folder and result.values and _margin(result) == x]
    same = [result for result in same if LOSS_TITLES[_kind(result)].split(":")[0] in series]
    best = sorted(same, key=lambda result: float(result.values["loss"]))
    return [
        _picture(result, f"{LOSS_TITLES[_kind(result)].split(':')[0]}, seed {result.trial.settings['seed']}")
        for result in best
    ]


def _answer(results: Sequence[TrialResult]) -> str:
    rows = {(row.figure, row.series.split(",")[0], row.x): row for row in reversed(LAB.rows(results))}
    keys = ("angles", "half of the images"), ("angles", "90% of the images"), ("gap", "smallest gap")
    margin_rows = [rows.get((*key, margin)) for key in keys for margin in (min(MARGINS), 0.2)]
    present = [row for row in margin_rows if row is not None]
    if len(present) < len(margin_rows):
        return "Too many trainings failed to tell."
    half, wide, gap = ((a, b, caveat(a, b, "{:.0f}°")) for a, b in zip(present[::2], present[1::2], strict=True))
    words = (
        f"Without a margin half of the images lie within {half[0].y:.0f}° of the template of their class, with m = 0.2 "
        f"within {half[1].y:.0f}°{half[2]}; 90% of them within {wide[0].y:.0f}° and {wide[1].y:.0f}°{wide[2]}. The "
        f"templates have little room to move: the smallest gap between two is {gap[0].y:.0f}° before and "
        f"{gap[1].y:.0f}° after{gap[2]}, of at most {EVEN_GAP:.0f}°."
    )
    if compare(half[0], half[1]) == "higher":
        words += " A margin asks for more than the right side of a border: it presses each class together."
    return words


LAB = read_lab(
    __file__, plan=_plan, rows=_rows, answer=_answer, pictures=_pictures, planes=_planes, plane_images=_plane_images
)
