"""The lab *What is a metric?*: a learned Mahalanobis distance, and four notions of what is the same."""

from collections.abc import Sequence

import numpy as np

from dmlviz.labs.kept_arrays import MAP, kept_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.pictures import plane_picture
from dmlviz.labs.statistics import caveat, compare, mean_rows
from dmlviz.studies.trial import Size, Trial, TrialResult

Learned = tuple[str, str, dict[str, float], str, float]

NOTIONS = ("digit", "parity", "thickness", "slant")
# Title, loss, its parameters, net, learning rate.
PIXELS = "pixels, Euclidean"
LEARNED: tuple[Learned, ...] = (
    (PIXELS, "", {}, "", 0.0),
    ("linear, contrastive", "contrastive", {"margin": 4.0}, "linear", 3e-4),
    ("linear, NCA", "nca", {}, "linear", 3e-4),
    ("linear, triplet", "triplet", {"margin": 1.0}, "linear", 3e-4),
    ("small net, contrastive", "contrastive", {"margin": 1.0}, "small", 2e-3),
)
NET_OF_NOTIONS = LEARNED[-1]
STEPS = {"quick": 300, "full": 800}
SEEDS = {"quick": 1, "full": 3}
SECONDS_A_STEP = {"": 0.0, "linear": 0.006, "small": 0.022}


def _trial(size: Size, dataset: str, variant: Learned, notion: str, seed: int) -> Trial:
    title, loss, params, net, rate = variant
    steps = STEPS[size] if loss else 0
    return Trial(
        name=f"{net or 'pixels'}-{loss or 'none'}-{notion}-seed_{seed}",
        settings={
            "title": title,
            "loss": loss,
            "loss_params": params,
            "net": net,
            "embedding_dim": 64,
            "learning_rate": rate,
            "notion": notion,
            "steps": steps,
            "seed": seed,
        },
        dataset=dataset,
        seconds=4 + steps * SECONDS_A_STEP[net],
    )


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    trials = []
    for seed in range(SEEDS[size]):
        trials += [_trial(size, dataset, variant, "digit", seed) for variant in LEARNED if variant[1] or not seed]
        trials += [_trial(size, dataset, NET_OF_NOTIONS, notion, seed) for notion in NOTIONS[1:]]
    return trials


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    trials = [result for result in results if result.values]
    by_digit = [result for result in trials if result.trial.settings["notion"] == NOTIONS[0]]
    rows: list[FigureRow] = []
    for title, *_ in LEARNED:
        own = [result.values for result in by_digit if result.trial.settings["title"] == title]
        rows += mean_rows("knn_error", "3 nearest", [(title, 100 * values["knn_error"]) for values in own])
    for row in (PIXELS, *NOTIONS):
        own = [result.values for result in trials if _row_of_matrix(result) == row]
        rows += mean_rows(
            "notions", row, [(notion, values["precision_at_1"][notion]) for values in own for notion in NOTIONS]
        )
    return rows


def _row_of_matrix(result: TrialResult) -> str:
    """Return the row of the matrix that a result belongs to: the pixels, a notion, or none."""
    settings = result.trial.settings
    if settings["title"] == PIXELS:
        return PIXELS
    return str(settings["notion"]) if settings["title"] == NET_OF_NOTIONS[0] else ""


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return the rows of W as pictures, or the map of a space."""
    trials = [result for result in results if result.folder and result.values]
    if figure == "notions":
        return [_map(result) for result in trials if _row_of_matrix(result) == series][:1]
    pairs: list[PicturePair] = []
    for result in [result for result in trials if result.trial.settings["title"] == x][:1]:
        pairs.append(_map(result))
        for number, row in enumerate(kept_arrays(result, "rows.npz").get("rows", ()), 1):
            pairs.append(PicturePair(images=(signed_picture(row),), caption=f"row {number} of W"))
    return pairs


def signed_picture(row: np.ndarray) -> np.ndarray:
    """Return weights as a picture: gray for 0, light where the pixel adds to the coordinate, dark where it takes."""
    return np.clip(127.5 + 127.5 * row / max(1e-12, float(np.abs(row).max())), 0, 255).astype(np.uint8)


def _map(result: TrialResult) -> PicturePair:
    plane = kept_arrays(result, MAP)
    notion = result.trial.settings["notion"]
    return PicturePair(
        images=(plane_picture(plane["places"], plane["labels"].astype(int)),),
        caption=f"{result.trial.settings['title']}, learned by {notion}, colored by {notion}: two principal axes",
    )


def _strip(results: Sequence[TrialResult]) -> list[PicturePair]:
    """Return the same images in the four spaces."""
    first = [result for result in results if result.folder and result.values and not result.trial.settings["seed"]]
    return [_map(result) for notion in NOTIONS for result in first if _row_of_matrix(result) == notion]


def _answer(results: Sequence[TrialResult]) -> str:
    cells = {(row.series, row.x): row for row in LAB.rows(results) if row.figure == "notions"}
    if any((row, column) not in cells for row in NOTIONS for column in NOTIONS):
        return "Too many trainings failed to tell."
    wins = sum(
        all(compare(cells[notion, notion], cells[row, notion]) == "higher" for row in NOTIONS if row != notion)
        for notion in NOTIONS
    )
    thickness, digit = cells["thickness", "digit"], cells["digit", "digit"]
    words = (
        f"For {wins} of the four notions the space that learned it finds it clearly best. The space that learned the "
        f"thickness finds a neighbor of the same digit in {thickness.y:.0%} of the cases, the one that learned the "
        f"digit in {digit.y:.0%}{caveat(thickness, digit, '{:.0%}')}."
    )
    if compare(digit, thickness) == "higher":
        words += " No distance is right by itself: it is right for a notion of same."
    return words


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, pictures=_pictures, strip=_strip)
