"""The lab *Recall at k*: the curve by which search is judged, for pixels, an untrained net and trained ones."""

from collections.abc import Sequence

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.metrics import metric_title
from dmlviz.catalog.parameters import Fields
from dmlviz.labs.kept_arrays import images_and_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.pictures import row_of_images
from dmlviz.labs.statistics import caveat, mean_rows
from dmlviz.studies.trial import Size, Trial, TrialResult

# Name, title, settings of the net; None for raw pixels. The untrained net is that of the first training.
WAYS: tuple[tuple[str, str, Fields | None], ...] = (
    ("pixels", "raw pixels", None),
    ("untrained", "untrained net", {"loss": "softmax"}),
    ("softmax", "softmax", {"loss": "softmax"}),
    ("triplet", "triplet, mined", {"loss": "triplet", "miner": "semihard_nearest"}),
    ("nt_xent", "NT-Xent", {"loss": "nt_xent"}),
)
TITLES = {name: title for name, title, _ in WAYS}
FIRST = ("precision_at_1", "r_precision", "map_at_r")
QUERIES = 8  # in the strip
MOST_ROWS = 12  # pictures behind a point
SECONDS, SECONDS_SMALL_IMAGES = 0.035, 0.012  # of a step, for images of 28 × 28 and of 8 × 8
SCORING_SECONDS = 4.0
COLUMNS = 5  # of the nearest in a picture; ten of them make two rows
FRAME, GRAY = 2, 128  # of the query in a picture: pixels, level


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    seeds, steps = (1, 200) if size == "quick" else (3, 600)
    step = SECONDS if DATASETS[dataset].size > 8 else SECONDS_SMALL_IMAGES
    trials = []
    for seed in range(seeds):
        for name, _, settings in WAYS:
            if settings is None and seed:
                continue  # pixels have no seed
            is_trained = name != "untrained"
            config = {"net": "small", "steps": steps, "seed": seed, "validation_fraction": 0}
            trials.append(
                Trial(
                    name=name if settings is None else f"{name}-seed_{seed}",
                    settings={} if settings is None else {"config": {**config, **settings}, "trained": is_trained},
                    dataset=dataset,
                    seconds=SCORING_SECONDS + (steps * step if settings is not None and is_trained else 0),
                )
            )
    return trials


def _by_way(results: Sequence[TrialResult]) -> dict[str, list[TrialResult]]:
    """Return the results that were measured, by the title of their method."""
    return {
        title: own
        for name, title in TITLES.items()
        if (own := [one for one in results if one.values and one.trial.name.split("-seed_")[0] == name])
    }


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows: list[FigureRow] = []
    for title, own in _by_way(results).items():
        points = [point for one in own for point in zip(one.values["ks"], one.values["recall"], strict=True)]
        rows += mean_rows("recall", title, points)
        for score in FIRST:
            rows += mean_rows("scores", metric_title(score), [(title, one.values["scores"][score]) for one in own])
    return rows


def _neighbors(result: TrialResult) -> tuple[np.ndarray, dict[str, np.ndarray]] | None:
    return images_and_arrays(result, "neighbors.npz")


def _ranking_picture(images: np.ndarray, labels: np.ndarray, query: int, nearest: np.ndarray) -> np.ndarray:
    """Return a query in a gray frame with its nearest images in rows of five, as small as the page shows pictures."""
    rows = [
        row_of_images(images[items], labels[items] == labels[query])
        for items in np.split(nearest, range(COLUMNS, len(nearest), COLUMNS))
    ]
    height, width = (side + 2 * FRAME for side in images.shape[1:3])
    top = np.full_like(rows[0], 255)
    top[:, :width] = GRAY
    top[FRAME : height - FRAME, FRAME : width - FRAME] = images[query][..., None]
    return np.concatenate([top, *rows])


def _strip(results: Sequence[TrialResult]) -> list[PicturePair]:
    """Return random queries with their ten nearest: by pixels, and by the best net."""
    ways = _by_way(results)
    first = {title: behind for title, own in ways.items() if (behind := _neighbors(own[0])) is not None}
    pixels, best = TITLES[WAYS[0][0]], _best(results)
    if pixels not in first or best not in first:
        return []
    images, by_pixels = first[pixels]
    by_net = first[best][1]
    labels, classes = _labels(ways[pixels][0].trial.dataset)
    rng = np.random.default_rng(0)
    pictures = []
    for row in rng.choice(len(by_pixels["queries"]), QUERIES, replace=False):
        query = int(by_pixels["queries"][row])
        both = tuple(_ranking_picture(images, labels, query, way["nearest"][row]) for way in (by_pixels, by_net))
        caption = f"{classes[labels[query]]}, its ten nearest: by pixels, and by {best}"
        pictures.append(PicturePair(images=both, caption=caption))
    return pictures


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return the queries whose first right image comes at this k; for a bar, those that are found last."""
    own = _by_way(results).get(str(x) if figure == "scores" else series, [])
    behind = _neighbors(own[0]) if own else None
    if behind is None:
        return []
    images, neighbors = behind
    labels, classes = _labels(own[0].trial.dataset)
    hits = neighbors["first_hit"]
    rows = np.argsort(-hits, kind="stable") if figure == "scores" else np.flatnonzero(hits == round(float(x)))
    pictures = []
    for row in rows[:MOST_ROWS]:
        query = int(neighbors["queries"][row])
        caption = f"{classes[labels[query]]}: the first right image is number {hits[row]:,}; the ten nearest"
        picture = _ranking_picture(images, labels, query, neighbors["nearest"][row])
        pictures.append(PicturePair(images=(picture,), caption=caption))
    return pictures


def _labels(dataset: str) -> tuple[np.ndarray, tuple[str, ...]]:
    from dmlviz.data import load

    data = load(dataset)
    return data.test.labels, data.classes


def _best(results: Sequence[TrialResult]) -> str:
    """Return the title of the method with the highest MAP@R, of the first seed."""
    scores = {title: own[0].values["scores"]["map_at_r"] for title, own in _by_way(results).items()}
    return max(scores, key=lambda title: scores[title], default="")


def _answer(results: Sequence[TrialResult]) -> str:
    rows = {(row.series, row.x): row for row in LAB.rows(results)}
    pixels, best = TITLES[WAYS[0][0]], _best(results)
    if (pixels, 1) not in rows or best in ("", pixels):
        return "Too many trainings failed to tell."
    last = metric_title("map_at_r")
    first, tenth = ((rows[pixels, k], rows[best, k]) for k in (1, 10))
    every = rows[last, pixels], rows[last, best]
    return (
        f"At k = 1 pixels find {first[0].y:.1%} and the net with the highest {last} ({best}) {first[1].y:.1%}"
        f"{caveat(*first, '{:.1%}')}; at k = 10 {tenth[0].y:.1%} and {tenth[1].y:.1%}{caveat(*tenth, '{:.1%}')}. "
        f"{last} asks for all images of the class and not for one: {every[0].y:.2f} and {every[1].y:.2f}"
        f"{caveat(*every, '{:.2f}')}."
    )


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, strip=_strip, pictures=_pictures)
