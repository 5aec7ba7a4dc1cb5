"""The lab *Reality check*: losses on a level field, after Musgrave, Belongie and Lim."""

import csv
from collections.abc import Sequence
from pathlib import Path

from dmlviz.labs.lab import FigureSpec, Guess, Lab, PrintedRow
from dmlviz.labs.reality_check.plan import plan, total
from dmlviz.labs.reality_check.rows import TRICKS, gains, rows
from dmlviz.studies.trial import TrialResult

LITERATURE = Path(__file__).parent / "literature.csv"
SOURCE = "Musgrave, Belongie, Lim: A metric learning reality check, ECCV 2020, Tables 2 to 4"


def _literature() -> tuple[PrintedRow, ...]:
    """Return the separated MAP@R of the paper's three tables, in percent, with its 95 % intervals."""
    rows = []
    with open(LITERATURE, newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            mean, half = float(line["separated_map_at_r"]), float(line["separated_map_at_r_ci95"] or "nan")
            has_interval = half == half
            rows.append(
                PrintedRow(
                    figure="level",
                    series=line["dataset"],
                    x=line["loss"],
                    y=mean,
                    low=mean - half if has_interval else None,
                    high=mean + half if has_interval else None,
                    n=10 if has_interval else 1,
                    source=SOURCE,
                )
            )
    return tuple(rows)


def _answer(results: Sequence[TrialResult]) -> str:
    gain_by_loss = {title: steps for title, steps in gains(results).items() if steps}
    if not gain_by_loss:
        return "Too few runs have ended to tell."
    winner = max(gain_by_loss, key=lambda title: gain_by_loss[title][-1])
    level, claim = gain_by_loss[winner][0], gain_by_loss[winner][-1]
    ahead = sum(steps[0] > 0 for steps in gain_by_loss.values())
    return (
        f"On the level field {ahead} of {len(gain_by_loss)} losses have a higher mean than the contrastive loss of "
        f"2006; {winner} is {level:+.0f} %. An imitation of an unfair comparison (the contrastive loss untuned, "
        "without its miner and with 8 dimensions, against the best test step of the new loss) makes that "
        f"{claim:+.0f} %. "
        "Tuning and protocol make more difference than the formula."
    )


LAB = Lab(
    name="reality-check",
    title="Reality check",
    summary="Each loss gets the same net, data, batches and the same search for its settings; then they are compared.",
    reference=SOURCE.split(", Tables", maxsplit=1)[0],
    question="Are the losses of 2019 better than those of 2006 when all are tuned with the same care?",
    datasets=("numbers",),
    plan=plan,
    estimate=total,
    measure="dmlviz.labs.reality_check.measure:measure",
    rows=rows,
    figures=(
        FigureSpec(
            name="level",
            title="Level field",
            caption="MAP@R (%) on 2,000 test images of 50 classes never trained on. Settings were chosen on validation "
            "classes alone. Separated: mean of four nets with 32 dimensions; concatenated: their embeddings side by "
            "side. Mean and 95 % t-interval over the seeds (n).",
            kind="bar",
            x_title="",
            y_title="MAP@R, %",
        ),
        FigureSpec(
            name="tricks",
            title="How a paper wins",
            caption="Gain over the contrastive loss in MAP@R (separated), in percent of it, while the comparison gets "
            "less and less fair. The last trick picks, for the new loss only, the best of four steps by the test "
            "score. Each compares means over the seeds; no interval is drawn.",
            x_title="what is done to the comparison",
            y_title="gain over contrastive, %",
        ),
        FigureSpec(
            name="years",
            title="Papers and reality",
            caption=f"The same gain by the year of the loss: with all tricks of “How a paper wins” ({TRICKS[-1]} "
            "included), and on the level field. Means over the seeds.",
            kind="bar",
            x_title="",
            y_title="gain over contrastive, %",
        ),
        FigureSpec(
            name="scores",
            title="All scores",
            caption="P@1, R-precision and MAP@R (%) on the test classes, separated and concatenated: means over the "
            "seeds; point at a cell for its interval.",
            kind="cells",
            x_title="",
            y_title="%",
        ),
        FigureSpec(
            name="search",
            title="Search",
            caption="The best validation MAP@R (%) after each trial of a loss's search: mean of four folds, one seed. "
            "The first trial has the settings that the catalog recommends. Settings are proposed by Optuna's TPE; "
            "where Optuna is not installed (pip install 'dmlviz[study]') they are drawn at random, and the trials say "
            "so.",
            x_title="trial",
            y_title="best validation MAP@R, %",
        ),
    ),
    guess=Guess(
        question="All are tuned alike. How do the losses of 2017 to 2019 do against the contrastive loss of 2006?",
        options=(
            "They are far ahead, as their papers say",
            "A little ahead, all of them",
            "About the same: some ahead, some behind",
            "Clearly behind",
        ),
        answer=_answer,
    ),
    literature=_literature(),
    literature_note="On photographs of birds (CUB200), cars (Cars196) and products (SOP) all losses lie close together "
    "once they are tuned alike: “the trend according to papers” rises steeply, reality is nearly flat. Ours are small "
    "pictures of two digits, a small net and 300 steps, so neither the level nor the order need be the same. Losses "
    "with class weights have little time here to learn them.",
    activity="tricks",
)
