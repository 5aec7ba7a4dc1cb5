"""The lab *Follow it*: a learned similarity follows an object that it has never seen."""

from collections.abc import Mapping, Sequence
from typing import Any

from dmlviz.labs.kept_arrays import PICTURES, first_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.statistics import caveat, compare, mean_rows
from dmlviz.studies.trial import Size, Trial, TrialResult, Values

VIDEOS = 100
FIRST_VIDEO = 7  # of MNIST: one in which the methods part; in most they do not
USUAL_DISTRACTORS = 3  # those of the data set tracks
MOST_DISTRACTORS = 6
USUAL_NOISE = 8.0  # gray levels
MOST_NOISE = 60.0

METHODS = ("pixels", "untrained", "trained")
TITLES = {"pixels": "pixel correlation", "untrained": "untrained net", "trained": "learned similarity"}
DISTRACTORS = (0, 1, 3, 6)
STEPS = {"quick": 200, "full": 500}
SEEDS = {"quick": 1, "full": 3}
SECONDS_A_STEP = 0.03
SECONDS_A_TEST = {"quick": 8.0, "full": 12.0}  # 70 videos for each number of distractors


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    trials = []
    for seed in range(SEEDS[size]):
        for method in METHODS:
            steps = STEPS[size] if method == "trained" else 0
            if seed and method == "pixels":
                continue
            settings = {"method": method, "distractors": list(DISTRACTORS), "steps": steps, "seed": seed}
            trials.append(
                Trial(
                    name=f"{method}-seed_{seed}",
                    settings=settings,
                    dataset=dataset,
                    seconds=SECONDS_A_TEST[size] + steps * SECONDS_A_STEP,
                )
            )
    return trials


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    trials = [result for result in results if result.values]
    rows: list[FigureRow] = []
    for method in METHODS:
        own = [result.values for result in trials if result.trial.settings["method"] == method]
        title = TITLES[method]
        rows += mean_rows("overlap", title, [(n, test["iou"]) for values in own for n, test in _tests(values)])
        usual = [test for values in own for n, test in _tests(values) if n == USUAL_DISTRACTORS]
        rows += mean_rows("kept", title, [point for test in usual for point in enumerate(test["kept"])])
        rows += mean_rows("success", title, [(iou, share) for test in usual for iou, share in test["success"]])
        rows += mean_rows("speed", "frames a second", [(title, values["frames_per_second"]) for values in own])
    return rows


def _tests(values: Mapping[str, Any]) -> list[tuple[int, Values]]:
    return [(test["distractors"], test) for test in values["tests"]]


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return frames of a few videos, with the true box in white and the box that was found in black."""
    title = x if figure == "speed" else series
    videos = first_arrays([one for one in results if TITLES[one.trial.settings["method"]] == title], PICTURES)
    if not videos:
        return []
    return [
        PicturePair(images=(first, last), caption=f"first frame and frame 39; mean IoU {iou:.2f}")
        for first, last, iou in zip(videos["first"], videos["last"], videos["iou"], strict=True)
    ]


def _answer(results: Sequence[TrialResult]) -> str:
    rows = {row.series: row for row in LAB.rows(results) if row.figure == "overlap" and row.x == USUAL_DISTRACTORS}
    titles = [TITLES[name] for name in ("pixels", "trained")]
    if not set(titles) <= rows.keys():
        return "Too many trials failed to tell."
    pixels, trained = (rows[title] for title in titles)
    words = (
        f"With three distractors the mean overlap with the true box is {pixels.y:.2f} by pixel correlation and "
        f"{trained.y:.2f} by the learned similarity{caveat(pixels, trained, '{:.2f}')}, for digits of classes that it "
        "has never seen."
    )
    if compare(trained, pixels) == "higher":
        words += " It learned when two pictures show the same thing, not what the thing is."
    return words


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, pictures=_pictures)
