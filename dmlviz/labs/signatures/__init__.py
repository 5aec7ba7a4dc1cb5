"""The lab *Signature or forgery*: a siamese net on the strokes of a pen, on its path, or on the picture."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dmlviz.labs.kept_arrays import first_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.statistics import caveat, compare, mean_rows
from dmlviz.studies.trial import Size, Trial, TrialResult


class Variant(NamedTuple):
    """What is compared, and how.

    Attributes:
        title: Title in the figures.
        sees: "picture", "path" (points at equal distances along the line) or "motion" (points at equal times).
        loss: "cosine", "contrastive", or "" for no net: pixels are compared as they are, motions by warping time.
        forgeries: Whether half of the negative pairs in training are forgeries; else all are of two writers.
    """

    title: str
    sees: str
    loss: str
    forgeries: bool = True


VARIANTS = {
    "pixels": Variant("pixels, no net", "picture", ""),
    "warping": Variant("warped motion, no net", "motion", ""),
    "picture": Variant("net, picture", "picture", "cosine"),
    "path": Variant("net, path", "path", "cosine"),
    "motion": Variant("net, motion", "motion", "cosine"),
    "contrastive": Variant("net, motion, contrastive", "motion", "contrastive"),
    "others": Variant("net, motion, no forgeries seen", "motion", "cosine", forgeries=False),
}
KEPT = (1, 2, 4)  # signatures of a writer that are on file
KINDS = {"forged": "forgeries", "others": "someone else's signature"}
SECONDS, SECONDS_A_STEP = 2.0, 0.016  # of a trial without its steps, and of a step


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    seeds, steps = (1, 200) if size == "quick" else (3, 600)
    return [
        Trial(
            name=f"{name}-seed_{seed}",
            settings={"variant": name, "steps": steps if one.loss else 0, "seed": seed},
            dataset=dataset,
            seconds=SECONDS + (steps * SECONDS_A_STEP if one.loss else 0),
        )
        for seed in range(seeds)
        for name, one in VARIANTS.items()
        if one.loss or not seed
    ]


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows: list[FigureRow] = []
    for name, one in VARIANTS.items():
        own = [result.values for result in results if result.values and result.trial.settings["variant"] == name]
        rows += mean_rows("curve", one.title, [tuple(point) for values in own for point in values["curve"]])
        for kind, words in KINDS.items():
            rows += mean_rows("errors", words, [(one.title, values[kind]) for values in own])
        rows += mean_rows("kept", one.title, [tuple(point) for values in own for point in values["kept"]])
    return rows


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return the worst mistakes of a variant: forgeries that pass, then signatures of the writer that do not."""
    title = x if figure == "errors" else series
    own = [result for result in results if VARIANTS[result.trial.settings["variant"]].title == title]
    kept = first_arrays(own, "worst.npz")
    return [] if not kept else [_pair(*one) for one in zip(*(kept[name] for name in _WORST), strict=True)]


_WORST = ("references", "candidates", "forged", "times")


def _pair(reference: np.ndarray, candidate: np.ndarray, forged: bool, times: Sequence[float]) -> PicturePair:
    words = "a forgery that passes" if forged else "by the writer, and refused"
    caption = f"on file, written in {times[0]:.1f} s; {words}, in {times[1]:.1f} s"
    return PicturePair(images=(reference, candidate), caption=caption)


def _strip(results: Sequence[TrialResult]) -> list[PicturePair]:
    """Return a few signatures beside their forgeries."""
    kept = first_arrays(results, "shown.npz")
    return [
        PicturePair(images=tuple(pair), caption=f"by the writer, in {own:.1f} s, and by a forger, in {other:.1f} s")
        for pair, (own, other) in zip(kept.get("shown", ()), kept.get("times", ()), strict=True)
    ]


_ANSWERED = ("picture", "path", "motion", "contrastive", "others", "warping")


def _answer(results: Sequence[TrialResult]) -> str:
    rows = {str(row.x): row for row in LAB.rows(results) if (row.figure, row.series) == ("errors", KINDS["forged"])}
    titles = {name: one.title for name, one in VARIANTS.items()}
    if not {titles[name] for name in _ANSWERED} <= rows.keys():
        return "Too many trainings failed to tell."
    picture, path, motion, contrastive, others, warping = (rows[titles[name]] for name in _ANSWERED)
    verdict = {
        "lower": "How the pen moves gives a forger away, more than what it leaves on the paper",
        "higher": "Here the picture tells more than the motion",
        "unclear": f"Motion and picture do not differ clearly{caveat(motion, picture, '{:.1%}')}",
    }[compare(motion, picture)]
    return (
        f"{verdict}: equal error rate {picture.y:.1%} for a net that sees the picture, {path.y:.1%} for one that sees "
        f"the path without its times, {motion.y:.1%} for one that sees the motion, {contrastive.y:.1%} if that "
        f"learns by the contrastive loss. Trained without any forgery, it has {others.y:.1%}; no net, but warping one "
        f"motion onto the other, has {warping.y:.1%}."
    )


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, strip=_strip, pictures=_pictures)
