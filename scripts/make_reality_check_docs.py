"""Writes docs/REALITY_CHECK.md and its figures from the ready-made study: scripts/make_reality_check_docs.py.

Every number in the page comes from the study; nothing is typed by hand.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.labs.lab import FigureRow
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.reality_check.claims import MODES, TRICKS, final_results, gains, rows
from dmlviz.labs.reality_check.plan import (
    CONTESTANTS,
    CONTRASTIVE,
    FURTHER_SEEDS,
    LONGER,
    SEEDS,
    STEPS,
    TRIALS,
    Contestant,
    Dimension,
    best_settings,
    search_results,
)
from dmlviz.labs.registry import LABS
from dmlviz.labs.statistics import CONFIDENCE, t_interval
from dmlviz.studies.trial import TrialResult

DRAWS = 10_000  # of the bootstrap
NEAR_END = 0.05  # share of a range


def by_class(results: Sequence[TrialResult], contestant: Contestant) -> np.ndarray | None:
    """Return the separated MAP@R (%) of each seed and test class, seeds × classes; None without final runs."""
    runs = final_results(results, f"final-{contestant.key}")
    classes = [run.values["classes"] for run in runs if "classes" in run.values]
    return 100 * np.array(classes) if classes else None


def class_interval(scores: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of `by_class` and its 95% bootstrap interval over the test classes, seeds averaged.

    Source: Efron and Tibshirani, An introduction to the bootstrap, 1993, section 13.3.
    """
    data = scores.mean(axis=0)
    draws = np.random.default_rng(0).integers(len(data), size=(DRAWS, len(data)))
    low, high = np.quantile(data[draws].mean(axis=1), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(data.mean()), float(low), float(high)


def difference(results: Sequence[TrialResult], one: Contestant, other: Contestant) -> tuple[float, float, float] | None:
    """Return `one` minus `other` in MAP@R (points) with its 95% interval over seeds and test classes.

    Both are drawn anew at once: the seeds of each loss by itself, the classes for both together.
    """
    ours, theirs = by_class(results, one), by_class(results, other)
    if ours is None or theirs is None:
        return None
    rng, classes = np.random.default_rng(0), ours.shape[1]
    shares = rng.multinomial(classes, np.full(classes, 1 / classes), DRAWS) / classes

    def means(scores: np.ndarray) -> np.ndarray:
        seeds = len(scores)
        weights = rng.multinomial(seeds, np.full(seeds, 1 / seeds), DRAWS) / seeds
        return np.asarray(np.einsum("ds,sc,dc->d", weights, scores, shares))

    low, high = np.quantile(means(ours) - means(theirs), [0.025, 0.975])
    return float(ours.mean() - theirs.mean()), float(low), float(high)


def fold_difference(results: Sequence[TrialResult], one: Contestant, other: Contestant) -> tuple[float, float, float]:
    """Return `one` minus `other` in validation MAP@R (points) with its 95% t-interval over the four folds."""
    ours, theirs = (_best_folds(results, contestant) for contestant in (one, other))
    return t_interval(list(100 * (ours - theirs)))


def ends_of_ranges(results: Sequence[TrialResult], contestant: Contestant) -> list[str]:
    """Return the chosen settings that lie within 5% of an end of the range that was searched."""
    best = best_settings(search_results(contestant, results)) or {}
    tied = []
    for dimension in contestant.dimensions:
        if dimension.name in best and not NEAR_END <= _position(dimension, best[dimension.name]) <= 1 - NEAR_END:
            limits = f"{dimension.low:g} to {dimension.high:g}"
            tied.append(f"{contestant.title} {dimension.name} {best[dimension.name]:g} ({limits})")
    return tied


def _best_folds(results: Sequence[TrialResult], contestant: Contestant) -> np.ndarray:
    search = [result for result in search_results(contestant, results) if result.values]
    return np.array(max(search, key=lambda result: result.values["validation"]).values["folds"])


def _position(dimension: Dimension, value: float) -> float:
    low, high = np.log([dimension.low, dimension.high]) if dimension.log else (dimension.low, dimension.high)
    return float(((np.log(value) if dimension.log else value) - low) / (high - low))


DOCS = Path(__file__).parents[1] / "docs"
WIDTH, ROW, LEFT = 720, 26, 160  # pixels of the figures
CLAIMED, LEVEL = "#9aa0ab", ("#1f8a7c", "#c93e55")  # gray; green ahead of the baseline, red behind


def main() -> None:
    """Write the page and its figures."""
    study = ready_made("reality-check")
    if study is None or study.info["size"] != "full":
        raise UserError("There is no full ready-made study: run scripts/make_ready_made_lab.py first.")
    results, info = study.results(), study.info
    found = rows(results)
    (DOCS / "reality_check_papers.svg").write_text(papers_figure(gains(results)))
    (DOCS / "reality_check_level.svg").write_text(level_figure([row for row in found if row.figure == "level"]))
    failed = sum(bool(result.error) for result in results)
    hours = sum(result.seconds for result in results) / 3600
    page = PAGE.format(
        losses=len(CONTESTANTS),
        trials=TRIALS["full"],
        seeds=SEEDS["full"],
        newest=max(one.year for one in CONTESTANTS),
        steps=STEPS["full"],
        data=DATASETS[info["dataset"]].title,
        machine=info["machine"],
        version=info["version"],
        hours=f"{hours:.1f}",
        done=len(results),
        failed=failed,
        search=results[0].trial.settings.get("search", "tpe"),
        table=level_table(results, found),
        ends=ends_sentence(results),
        validation=validation_sentence(results),
        longer=series_table(found, "longer", order_by=1),
        times=LONGER,
        searches=series_table(found, "searches"),
        further=FURTHER_SEEDS,
        repeated=sentence_of([one.title for one in CONTESTANTS if one.searches > 1]),
        tricks=tricks_table(gains(results)),
        settings=settings_table(results),
        answer=LABS["reality-check"].guess.answer(results),
        order=order_sentence(results, found),
    )
    (DOCS / "REALITY_CHECK.md").write_text(page)
    print(DOCS / "REALITY_CHECK.md")


def level_table(results: Sequence[TrialResult], found: Sequence[FigureRow]) -> str:
    """Return the table of the level field, the best separated MAP@R first, with both intervals of that."""
    scores = {(row.series, row.x): row for row in found if row.figure == "scores"}
    columns = [f"{score}, {mode}" for mode in MODES for score in ("P@1", "RP", "MAP@R")]
    names = dict.fromkeys(row.series for row in found if row.figure == "scores")
    order = sorted(names, key=lambda name: -scores[name, "MAP@R, separated"].y)
    lines = [["loss", "year", *columns, "MAP@R, separated, over test classes"]]
    contestants = {contestant.title: contestant for contestant in CONTESTANTS}
    for name in order:
        values = by_class(results, contestants[name])
        classes = "" if values is None else "{1:.1f} to {2:.1f}".format(*class_interval(values))
        cells = (_with_interval(scores[name, column]) for column in columns)
        lines.append([name, str(contestants[name].year), *cells, classes])
    return _markdown(lines)


def series_table(found: Sequence[FigureRow], figure: str, order_by: int = 0) -> str:
    """Return a figure of the losses that are in all of its series, a column each, the best in one of them first."""
    cells: dict[str, dict[str, FigureRow]] = {}
    for row in found:
        if row.figure == figure:
            cells.setdefault(str(row.x), {})[row.series] = row
    series = list(dict.fromkeys(row.series for row in found if row.figure == figure))
    whole = {name: [rows[one] for one in series] for name, rows in cells.items() if len(rows) == len(series)}
    order = sorted(whole, key=lambda name: -whole[name][order_by].y)
    return _markdown([["loss", *series], *([name, *map(_with_interval, whole[name])] for name in order)])


def sentence_of(names: Sequence[str]) -> str:
    """Return names as in "A, B and C"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def tricks_table(found: dict[str, list[float]]) -> str:
    """Return the gain over the contrastive loss after each trick."""
    lines = [["loss", *TRICKS]]
    lines += [[name, *(f"{gain:+.0f}%" for gain in steps)] for name, steps in found.items() if steps]
    return _markdown(lines)


def settings_table(results: Sequence[TrialResult]) -> str:
    """Return the settings that the search chose, with the validation score."""
    lines = [["loss", "validation MAP@R, %", "first trial", "chosen settings"]]
    for contestant in CONTESTANTS:
        searched = search_results(contestant, results)
        best = best_settings(searched)
        if best is None:
            continue
        scores = [result.values.get("validation") or 0.0 for result in searched]
        words = ", ".join(f"{name} {value:g}" for name, value in best.items())
        lines.append([contestant.title, f"{100 * max(scores):.1f}", f"{100 * scores[0]:.1f}", words])
    return _markdown(lines)


def order_sentence(results: Sequence[TrialResult], found: Sequence[FigureRow]) -> str:
    """Return who has the best separated MAP@R, who is tied with it, and where the contrastive loss comes."""
    level = sorted(
        (row for row in found if row.figure == "level" and row.series == "separated"), key=lambda row: -row.y
    )
    contestants = {contestant.title: contestant for contestant in CONTESTANTS}
    best = contestants[str(level[0].x)]
    tied = []
    for row in level[1:]:
        ahead = difference(results, best, contestants[str(row.x)])
        if ahead is not None and ahead[1] <= 0:
            tied.append("{} (difference {:.1f} points, {:.1f} to {:.1f})".format(row.x, *ahead))
    words = f"Tied with it: {', '.join(tied)}." if tied else "No other loss is tied with it."
    baseline = next(row for row in level if row.x == CONTRASTIVE.title)
    place = level.index(baseline) + 1
    return (
        f"Highest separated MAP@R: {best.title} with {level[0].y:.1f}%. {words} Losses are tied where the 95% "
        "interval of their difference, from a bootstrap over seeds and test classes, reaches 0. The contrastive loss "
        f"of {CONTRASTIVE.year} comes {'first' if place == 1 else f'in place {place} of {len(level)}'} with "
        f"{baseline.y:.1f}%."
    )


def validation_sentence(results: Sequence[TrialResult]) -> str:
    """Return which losses are tied with the best one on validation."""

    def score(contestant: Contestant) -> float:
        return max(
            (result.values.get("validation") or 0.0 for result in search_results(contestant, results)), default=0
        )

    best = max(CONTESTANTS, key=score)
    others = [contestant for contestant in CONTESTANTS if contestant != best]
    tied = [contestant.title for contestant in others if fold_difference(results, best, contestant)[1] <= 0]
    words = f"tied with {', '.join(tied)}" if tied else "tied with no other"
    return (
        f"{best.title} has the highest validation score and is {words}: the 95% t-interval of the difference over the "
        "four folds reaches 0."
    )


def ends_sentence(results: Sequence[TrialResult]) -> str:
    """Return which chosen settings lie within 5% of an end of their range."""
    ends = [setting for contestant in CONTESTANTS for setting in ends_of_ranges(results, contestant)]
    if not ends:
        return "No chosen setting lies within 5% of an end of its range."
    return f"Within 5% of an end of the range: {'; '.join(ends)}."


def papers_figure(found: dict[str, list[float]]) -> str:
    """Return an SVG with two bars for each loss: the gain as a paper claims it, and on the level field."""
    steps = {name: gain for name, gain in found.items() if gain}
    years = {contestant.title: contestant.year for contestant in CONTESTANTS}
    low = min(0.0, *(min(gain[0], gain[-1]) for gain in steps.values()))
    high = max(0.0, *(max(gain[0], gain[-1]) for gain in steps.values()))

    def place(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - 60)

    shapes = []
    for number, (name, gain) in enumerate(sorted(steps.items(), key=lambda item: years[item[0]])):
        top = 34 + number * 1.6 * ROW
        shapes.append(_text(LEFT - 8, top + 20, f"{name} {years[name]}", "end"))
        for shift, value, color in ((0, gain[-1], CLAIMED), (15, gain[0], LEVEL[gain[0] < 0])):
            left, right = sorted((place(0), place(value)))
            shapes.append(
                f'<rect x="{left:.1f}" y="{top + shift:.1f}" width="{max(1, right - left):.1f}" height="13" '
                f'fill="{color}"/>'
            )
            shapes.append(_text(right + 4, top + shift + 11, f"{value:+.0f}%"))
    height = 50 + len(steps) * 1.6 * ROW
    title = "Gain over the contrastive loss, MAP@R: gray as a paper claims it, green or red on the level field"
    return _svg(title, height, shapes)


def level_figure(level: Sequence[FigureRow]) -> str:
    """Return an SVG with MAP@R of each loss and its interval, separated and concatenated."""
    names = list(dict.fromkeys(str(row.x) for row in level))
    values = {(row.series, str(row.x)): row for row in level}
    names.sort(key=lambda name: -values["separated", name].y)
    high = max(row.high or row.y for row in level)

    def place(value: float) -> float:
        return LEFT + value / high * (WIDTH - LEFT - 60)

    shapes = []
    for number, name in enumerate(names):
        top = 34 + number * 1.6 * ROW
        shapes.append(_text(LEFT - 8, top + 20, name, "end"))
        for shift, mode, color in ((0, MODES[0], "#328ff7"), (15, MODES[1], "#0f8361")):
            row = values[mode, name]
            shapes.append(
                f'<rect x="{LEFT}" y="{top + shift:.1f}" width="{place(row.y) - LEFT:.1f}" height="13" fill="{color}"/>'
            )
            if row.low is not None and row.high is not None:
                shapes.append(
                    f'<line x1="{place(row.low):.1f}" x2="{place(row.high):.1f}" y1="{top + shift + 6.5:.1f}" '
                    f'y2="{top + shift + 6.5:.1f}" stroke="#1c2028" stroke-width="2"/>'
                )
            shapes.append(_text(place(row.high or row.y) + 4, top + shift + 11, f"{row.y:.1f}"))
    return _svg(
        "MAP@R (%), blue separated, green concatenated, with 95% intervals", 50 + len(names) * 1.6 * ROW, shapes
    )


def _with_interval(row: FigureRow) -> str:
    return f"{row.y:.1f}" if row.low is None else f"{row.y:.1f} ± {row.y - row.low:.1f}"


def _markdown(lines: list[list[str]]) -> str:
    head, *body = ["| " + " | ".join(line) + " |" for line in lines]
    rule = "|" + "---|" * len(lines[0])
    return "\n".join([head, rule, *body])


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(title: str, height: float, shapes: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="#1c2028"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>{_text(8, 18, title)}{"".join(shapes)}</svg>\n'
    )


PAGE = """# Reality check on small images

Written by `scripts/make_reality_check_docs.py` from the ready-made study of the lab *Reality check*; every number is
the study's.

Musgrave, Belongie and Lim (ECCV 2020) asked whether the losses of 2017 to 2019 are better than the contrastive loss of
2006 when all are tuned with the same care, and found that they hardly are. This is the same experiment on a small
scale, with losses up to {newest}; anybody can repeat it on a laptop:

```sh
pip install 'dmlviz[study]'
dmlviz lab reality-check --folder my-study     # Ctrl-C stops it; the same command goes on from there
```

## What was done

- **Data.** {data}: two handwritten digits side by side, 100 classes in a fixed shuffled order. The first 50 classes are
  for training and validation, the other 50 are for the test. 60 training images of a class.
- **Folds.** The first half is cut into four parts. Each net trains on three and is validated on the fourth, so that no
  class is in both.
- **The same for all.** The net `small`, 32 dimensions of length 1, RMSprop, {steps} steps with 16 classes × 4 images.
  So losses that use lengths (AdaFace, MagFace, hyperbolic contrastive), no classes (SIGReg) or degrees of being alike
  (graded contrastive) are not in it.
- **Search.** {trials} trials for each of {losses} losses ({search}); the first has the settings that the catalog
  recommends. The score is the mean validation MAP@R of the four folds. Test images play no part in it.
- **Final runs.** The best settings, {seeds} seeds, four nets each. *Separated* is the mean of the four nets,
  *concatenated* joins their embeddings to 128 dimensions. Intervals with ± are 95% t-intervals over the seeds only:
  they say nothing about another search (see below) or other classes. The last column of the table is a 95%
  interval over the test classes (bootstrap, 10,000 resamples of the 50 classes, seeds averaged).
- **As papers compare.** The contrastive loss once more with the settings of the first trial, then without its miner,
  then with 8 dimensions instead of 32; for the new loss, the best of four steps by its test score.
- **Cost.** {done} trials ({failed} failed), {hours} hours of one worker process by the clock (`dmlviz lab` estimates
  its processor time, which is less), {machine}, dmlviz {version}.

## What came out

{order}

{answer}

![MAP@R of each loss](reality_check_level.svg)

{table}

Percent on 2,000 test images of 50 classes.

### {times} times as long

MAP@R (%, separated) with the same settings, which were chosen for the shorter training. One training of four nets each,
of the same seed: there is no interval, and differences of a point say nothing.

{longer}

### Searched anew

{repeated} were searched more than once, each time with other settings and nets of another seed. MAP@R (%, separated)
with the settings of each search, of {seeds} seeds after the first one and of {further} after a further one:

{searches}

### How a paper wins

Gain over the contrastive loss in separated MAP@R, while the comparison gets less and less fair. Each column adds one
trick to those before it.

{tricks}

![Papers and reality](reality_check_papers.svg)

### What the search chose

{settings}

{validation}

{ends}

## What it does not show

- **Not the order on photographs.** The images are small and clean, the net is small and trains for seconds. Losses with
  class weights must learn these in {steps} steps; the table above shows what more steps bring them.
- **Not the papers' own claims.** The gray bars are our own imitation of an unfair comparison. The claims of the papers
  are drawn, not printed, in Musgrave et al.
- **One search for most losses.** Another one may choose other settings. The ranges that are searched
  (`dmlviz/labs/reality_check/contestants.toml`) are a choice, too.
- **No loss that needs lengths.** AdaFace and MagFace read the length of an embedding, which is 1 here.
- **Fifty trials are few.** A search of a narrower range (angles up to 0.7, scales from 4) found settings for ArcFace
  with a validation score of 74.1%: they lay at the end of that range, and inside today's, where this search did not
  find them.
- **Each loss with the miner of the catalog.** The contrastive and the margin loss take hard negative pairs, the triplet
  loss random hard negatives. Musgrave et al. use all pairs and triplets. *MS* and *MS+Miner* show the difference that a
  miner makes to one loss.
"""


if __name__ == "__main__":
    main()
