"""The figures' rows of the lab, from any part of its results."""

from collections.abc import Sequence

from dmlviz.labs.lab import FigureRow
from dmlviz.labs.reality_check.contestants import CONTESTANTS, CONTRASTIVE, Contestant
from dmlviz.labs.reality_check.plan import search_results
from dmlviz.labs.statistics import mean_row
from dmlviz.studies.trial import TrialResult

SCORE_TITLES = (("precision_at_1", "P@1"), ("r_precision", "RP"), ("map_at_r", "MAP@R"))
MODES = ("separated", "concatenated")
# What is done to the comparison, one trick after the other.
TRICKS = (
    "level field",
    "baseline not tuned",
    "and without its miner",
    "and with 8 dimensions",
    "and the best step of the test curve",
)


def rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    """Return the rows of all figures."""
    trials = [result for result in results if result.values]
    return [*_level(trials), *_tricks(trials), *_years(trials), *_all_scores(trials), *_search(trials)]


def final_results(results: Sequence[TrialResult], prefix: str) -> list[TrialResult]:
    """Return the final runs whose names begin with `prefix`, by seed."""
    own = [result for result in results if result.trial.name.startswith(f"{prefix}-seed_") and result.values]
    return sorted(own, key=lambda result: result.trial.name)


def _level(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows = []
    for contestant in CONTESTANTS:
        runs = final_results(results, f"final-{contestant.key}")
        for mode in MODES:
            values = [100 * run.values[mode]["map_at_r"] for run in runs]
            rows += [mean_row("level", mode, contestant.title, values)] if values else []
    return rows


def _all_scores(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows = []
    for contestant in CONTESTANTS:
        runs = final_results(results, f"final-{contestant.key}")
        for mode in MODES:
            for name, title in SCORE_TITLES:
                values = [100 * run.values[mode][name] for run in runs]
                rows += [mean_row("scores", contestant.title, f"{title}, {mode}", values)] if values else []
    return rows


def gains(results: Sequence[TrialResult]) -> dict[str, list[float]]:
    """Return the gain over the contrastive baseline (%) after each trick of `TRICKS`, by the title of the loss.

    Each gain compares means over the seeds; a list is empty where a run that it needs is missing.
    """

    def mean(prefix: str, peeked: bool = False) -> float | None:
        runs = final_results(results, prefix)
        values = [run.values["peeked"] if peeked else run.values["separated"]["map_at_r"] for run in runs]
        return sum(values) / len(values) if values else None

    baselines = [
        mean(f"final-{CONTRASTIVE.key}"),
        *(mean(f"paper-{name}") for name in ("untuned", "unmined", "smaller", "smaller")),
    ]
    gain_by_loss = {}
    for contestant in CONTESTANTS:
        if contestant == CONTRASTIVE:
            continue
        own = [mean(f"final-{contestant.key}", peeked=number == len(TRICKS) - 1) for number in range(len(TRICKS))]
        pairs = [(a, b) for a, b in zip(own, baselines, strict=True) if a is not None and b]
        gain_by_loss[contestant.title] = [100 * (a / b - 1) for a, b in pairs] if len(pairs) == len(TRICKS) else []
    return gain_by_loss


def _tricks(results: Sequence[TrialResult]) -> list[FigureRow]:
    return [
        FigureRow(figure="tricks", series=title, x=trick, y=gain)
        for title, steps in gains(results).items()
        for trick, gain in zip(TRICKS, steps, strict=False)
    ]


def _years(results: Sequence[TrialResult]) -> list[FigureRow]:
    """Return the gain of each loss by its year: as claimed with all tricks, and on the level field."""
    steps = gains(results)
    rows = []
    for contestant in sorted(CONTESTANTS, key=lambda one: one.year):
        if steps.get(contestant.title):
            level, claim = steps[contestant.title][0], steps[contestant.title][-1]
            rows.append(FigureRow(figure="years", series="as a paper claims it", x=_label(contestant), y=claim))
            rows.append(FigureRow(figure="years", series="on the level field", x=_label(contestant), y=level))
    return sorted(rows, key=lambda row: row.series)


def _label(contestant: Contestant) -> str:
    return f"{contestant.title} {contestant.year}"


def _search(results: Sequence[TrialResult]) -> list[FigureRow]:
    """Return the best validation score after each trial of the search."""
    rows = []
    for contestant in CONTESTANTS:
        best = 0.0
        for number, result in enumerate(search_results(contestant, results), 1):
            best = max(best, 100 * (result.values.get("validation") or 0.0))
            rows.append(FigureRow(figure="search", series=contestant.title, x=number, y=best))
    return rows
