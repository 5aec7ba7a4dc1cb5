"""The lab *Terrapattern*: click a tile of a large picture, and see where else it looks like that."""

from collections.abc import Sequence

import numpy as np

from dmlviz.labs.kept_arrays import PICTURES, first_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.statistics import caveat, mean_rows
from dmlviz.studies.trial import Size, Trial, TrialResult

CELL = 28  # pixels: a side of a tile
LEAST_COLUMNS = 12
MOST_COLUMNS = 56

METHODS = ("pixels", "untrained", "trained")
TITLES = {"pixels": "pixels", "untrained": "untrained net", "trained": "trained net"}
STEPS = {"quick": 200, "full": 600}
SEEDS = {"quick": 1, "full": 3}
SECONDS_A_STEP = 0.025
SECONDS_TO_SEARCH = {"pixels": 12.0}  # 784 dimensions
USUAL_SECONDS_TO_SEARCH = 4.0
COUNT = 50  # tiles that light up


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    trials = []
    for seed in range(SEEDS[size]):
        for method in METHODS:
            if seed and method == "pixels":
                continue
            steps = STEPS[size] if method == "trained" else 0
            trials.append(
                Trial(
                    name=f"{method}-seed_{seed}",
                    settings={"method": method, "steps": steps, "seed": seed},
                    dataset=dataset,
                    seconds=SECONDS_TO_SEARCH.get(method, USUAL_SECONDS_TO_SEARCH) + steps * SECONDS_A_STEP,
                )
            )
    return trials


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows: list[FigureRow] = []
    for method in METHODS:
        own = [result.values for result in results if result.values and result.trial.settings["method"] == method]
        points = [(k, value) for values in own for k, value in values["precision"]]
        rows += mean_rows("precision", TITLES[method], points)
        kinds = [(name, y) for values in own for name, y in values.get("by_class", ())]
        rows += mean_rows("by_class", TITLES[method], kinds)
    return rows


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return a few tiles, each with the 49 most similar ones."""
    clicks = first_arrays([one for one in results if TITLES[one.trial.settings["method"]] == series], PICTURES)
    if not clicks:
        return []
    pairs = []
    for tile, alike, right in zip(clicks["clicked"], clicks["alike"], clicks["right"], strict=True):
        sheet = alike.reshape(7, 7, *tile.shape).swapaxes(1, 2).reshape(7 * tile.shape[0], -1)
        caption = f"a tile and the 49 most alike; {100 * right:.0f}% of the first {COUNT} are of its class"
        pairs.append(PicturePair(images=(np.ascontiguousarray(tile), sheet), caption=caption))
    return pairs


def _answer(results: Sequence[TrialResult]) -> str:
    rows = {row.series: row for row in LAB.rows(results) if row.figure == "precision" and row.x == COUNT}
    if not set(TITLES.values()) <= rows.keys():
        return "Too many trials failed to tell."
    trained, untrained, pixels = (rows[TITLES[method]] for method in ("trained", "untrained", "pixels"))
    return (
        f"Of the {COUNT} most alike tiles {trained.y:.0%} show the same kind of thing after the training, "
        f"{untrained.y:.0%} before it{caveat(trained, untrained, '{:.0%}')}, and {pixels.y:.0%} by the pixels"
        f"{caveat(trained, pixels, '{:.0%}')}."
    )


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, pictures=_pictures)
