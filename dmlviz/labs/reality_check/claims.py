"""Claims of a paper about a loss, given the tricks that its comparison uses; from the results alone."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from dmlviz.figures.style import ACCENT, MUTED, figure, theme_of
from dmlviz.labs.lab import FigureRow
from dmlviz.labs.reality_check.plan import (
    BASELINES,
    CONTESTANTS,
    CONTRASTIVE,
    FAVORS,
    TRIPLET,
    Contestant,
    search_results,
)
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
    return [
        *_level(trials),
        *_longer(trials),
        *_searches(trials),
        *_tricks(trials),
        *_favors(trials),
        *_years(trials),
        *_all_scores(trials),
        *_search(trials),
    ]


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


def _longer(results: Sequence[TrialResult]) -> list[FigureRow]:
    """Return the first seed of the level field, and the same at `LONGER` times as many steps."""
    rows = []
    for contestant in CONTESTANTS:
        long = final_results(results, f"long-{contestant.key}")
        for runs in (final_results(results, f"final-{contestant.key}")[: len(long)], long):
            values = [100 * run.values["separated"]["map_at_r"] for run in runs]
            if values:
                steps = f"{runs[0].trial.settings['steps']:,} steps"
                rows.append(mean_row("longer", steps, contestant.title, values))
    return rows


def _searches(results: Sequence[TrialResult]) -> list[FigureRow]:
    """Return the level field by each search of the losses that have several."""
    rows = []
    for contestant in CONTESTANTS:
        names = [f"final_{number}-{contestant.key}" for number in range(2, contestant.searches + 1)]
        found = [final_results(results, name) for name in (f"final-{contestant.key}", *names)]
        for number, runs in enumerate(found if names and all(found) else [], 1):
            values = [100 * run.values["separated"]["map_at_r"] for run in runs]
            rows.append(mean_row("searches", f"search {number}", contestant.title, values))
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


# The two halves of figure 5 of the paper: the gain over the contrastive and over the triplet loss.
YEARS_AGAINST = {"years": CONTRASTIVE.title, "years_triplet": TRIPLET.title}


def by_year(figure: str, series: str, scores: Mapping[str, float], base: str) -> list[FigureRow]:
    """Return the gain of each loss over another one (`base`) in percent, by year.

    Args:
        figure: Name of the figure.
        series: Name of the series.
        scores: A score of each loss, by title.
        base: Title of the other loss.
    """
    losses = [one for one in sorted(CONTESTANTS, key=lambda one: one.year) if one.title in scores]
    return [
        FigureRow(figure=figure, series=series, x=_label(one), y=100 * (scores[one.title] / scores[base] - 1))
        for one in losses
        if one.title != base and scores.get(base)
    ]


def _years(results: Sequence[TrialResult]) -> list[FigureRow]:
    """Return the gain of each loss by its year: as claimed with all tricks, and on the level field."""
    steps = gains(results)
    rows = []
    for contestant in sorted(CONTESTANTS, key=lambda one: one.year):
        if found := steps.get(contestant.title):
            rows.append(FigureRow(figure="years", series="as a paper claims it", x=_label(contestant), y=found[-1]))
    runs = {one.title: final_results(results, f"final-{one.key}") for one in CONTESTANTS}
    level = {
        title: sum(run.values["separated"]["map_at_r"] for run in own) / len(own) for title, own in runs.items() if own
    }
    for name, base in YEARS_AGAINST.items():
        rows += by_year(name, "on the level field", level, base)
    return rows


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


def _favors(results: Sequence[TrialResult]) -> list[FigureRow]:
    """Return the gain of each loss that was trained its own way over the contrastive loss of the level field."""
    return [
        FigureRow(figure="favors", series=contestant.title, x=words, y=paper.gain)
        for contestant in CONTESTANTS
        if favors_of(results, contestant)
        for name, words in FAVOR_WORDS.items()
        if (paper := claim(results, contestant, favor=name)) is not None
    ]


Trick = Literal["untuned", "unmined", "smaller", "best_step", "best_seed", "four_nets"]
# What is done to the contrastive loss, and what to the new one.
BASELINE_TRICKS: dict[Trick, str] = {
    "untuned": "Leave it at its recommended settings, untuned",
    "unmined": "Take away its miner",
    "smaller": "Give it 8 dimensions instead of 32",
}
OWN_TRICKS: dict[Trick, str] = {
    "best_step": "Take the best step of the test curve",
    "best_seed": "Report the best seed, not the mean",
    "four_nets": "Put its four nets side by side",
}

# How the new loss is trained, by its name in `FAVORS`.
FAVOR_WORDS = {
    "": "As all others",
    "net": "A larger net (LeNet)",
    "augmentation": "Augmentation",
    "optimizer": "Another optimizer (Adam)",
    "longer": "Twice as long",
    "all": "All four",
}


def favors_of(results: Sequence[TrialResult], contestant: Contestant) -> list[str]:
    """Return the ways in which a loss was trained besides that of all others, by their names in `FAVORS`."""
    return [name for name in FAVORS if final_results(results, f"favor-{name}-{contestant.key}")]


@dataclass(frozen=True)
class Claim:
    """A comparison of a loss with the contrastive loss.

    Attributes:
        own: MAP@R of the loss, as reported.
        own_runs: Number of runs that it comes from.
        baseline: MAP@R of the contrastive loss, as it was run for the comparison.
        baseline_runs: Number of runs of which it is the mean.
    """

    own: float
    own_runs: int
    baseline: float
    baseline_runs: int

    @property
    def gain(self) -> float:
        """The gain in percent of the baseline."""
        return 100 * (self.own / self.baseline - 1)


def claim(
    results: Sequence[TrialResult], contestant: Contestant, tricks: Collection[Trick] = (), favor: str = ""
) -> Claim | None:
    """Return what a paper claims of a loss.

    Args:
        results: Results of the lab.
        contestant: The new loss; the contrastive loss itself is compared with what is made of it.
        tricks: The tricks in use; the best step is known of single nets only, so that "four_nets" goes before it.
        favor: How the new loss is trained, a name in `FAVORS`; as all others if it is left out.

    Returns:
        The claim; None where a run that it needs is missing.
    """
    own_name = f"favor-{favor}-{contestant.key}" if favor else f"final-{contestant.key}"
    own = [_score(result, tricks) for result in final_results(results, own_name)]
    name = baseline_name(tricks)
    runs = final_results(results, f"paper-{name}" if name else f"final-{CONTRASTIVE.key}")
    baseline = [float(result.values["separated"]["map_at_r"]) for result in runs]
    if not own or not baseline or not sum(baseline):
        return None
    score = max(own) if "best_seed" in tricks else sum(own) / len(own)
    return Claim(score, len(own), sum(baseline) / len(baseline), len(baseline))


def baseline_name(tricks: Collection[Trick]) -> str:
    """Return the name in `BASELINES` of the contrastive loss with these tricks; empty for the level field."""
    used = {trick for trick in BASELINE_TRICKS if trick in tricks}
    for name, baseline in BASELINES.items():
        parts = {"untuned": not baseline.tuned, "unmined": "miner" in baseline.changes}
        parts["smaller"] = "embedding_dim" in baseline.changes
        if {trick for trick, is_used in parts.items() if is_used} == used:
            return name
    return ""


def _score(result: TrialResult, tricks: Collection[Trick]) -> float:
    """Return the MAP@R of a final run, as it is reported."""
    if "four_nets" in tricks:
        return float(result.values["concatenated"]["map_at_r"])
    return float(result.values["peeked"] if "best_step" in tricks else result.values["separated"]["map_at_r"])


def draw_claim(title: str, paper: Claim, fair: Claim, dark: bool = False) -> go.Figure:
    """Draw a claim.

    Args:
        title: Title of the new loss.
        paper: Claim of a paper about it.
        fair: The same without tricks.
        dark: Use the dark theme.
    """
    theme = theme_of(dark)
    names = ["Contrastive, as it was run", f"{title}, as it is reported"]
    values = [100 * paper.baseline, 100 * paper.own]
    level = [100 * fair.baseline, 100 * fair.own]
    bars = go.Bar(
        x=values,
        y=names,
        orientation="h",
        width=0.5,
        marker={"color": [MUTED[theme], ACCENT[theme]]},
        text=[f"{value:.1f}" for value in values],
        textposition="inside",
        insidetextanchor="start",
        name="in the paper",
        hovertemplate="%{y}: %{x:.1f}%<extra></extra>",
        showlegend=False,
    )
    outlines = go.Bar(
        x=level,
        y=names,
        orientation="h",
        width=0.72,
        marker={"color": "rgba(0,0,0,0)", "line": {"color": [MUTED[theme], ACCENT[theme]], "width": 2}},
        name="on the level field",
        hovertemplate="on the level field: %{x:.1f}%<extra></extra>",
        showlegend=False,
    )
    about = (
        f"Filled: MAP@R of the comparison (runs: {paper.baseline_runs} of the contrastive loss, {paper.own_runs} "
        f"of {title}). Outlines: the level field. No interval is drawn."
    )
    return figure(
        [bars, outlines],
        "What the paper claims",
        about,
        theme,
        barmode="overlay",
        xaxis={"title": "MAP@R, %", "rangemode": "tozero"},
        yaxis={"automargin": True, "autorange": "reversed"},
    )
