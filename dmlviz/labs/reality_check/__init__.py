"""The lab *Reality check*: losses on a level field, after Musgrave, Belongie and Lim."""

import csv
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dmlviz.labs.lab import PrintedRow, read_lab
from dmlviz.labs.reality_check import claims, plan
from dmlviz.studies.trial import TrialResult

LITERATURE = Path(__file__).parent / "literature.csv"
SOURCE = "Musgrave, Belongie, Lim: A metric learning reality check, ECCV 2020, Tables 2 to 4"


def _literature() -> tuple[PrintedRow, ...]:
    """Return the MAP@R of the paper's three tables (separated, %), with 95% intervals, and its gains by year."""
    printed = []
    with open(LITERATURE, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
        for line in lines:
            mean, half = float(line["separated_map_at_r"]), float(line["separated_map_at_r_ci95"] or "nan")
            has_interval = half == half
            printed.append(
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
    scores = {(line["dataset"], line["loss"]): float(line["separated_map_at_r"]) for line in lines}
    for figure, base in claims.YEARS_AGAINST.items():
        for dataset in dict.fromkeys(line["dataset"] for line in lines):
            own = {loss: score for (data, loss), score in scores.items() if data == dataset}
            rows = claims.by_year(figure, f"{dataset}, on the level field", own, base)
            printed += [PrintedRow(**asdict(row), source=f"{SOURCE}: computed from the printed MAP@R") for row in rows]
    return tuple(printed)


def _answer(results: Sequence[TrialResult]) -> str:
    gain_by_loss = {title: steps for title, steps in claims.gains(results).items() if steps}
    if not gain_by_loss:
        return "Too few runs have ended to tell."
    winner = max(gain_by_loss, key=lambda title: gain_by_loss[title][-1])
    level, claim = gain_by_loss[winner][0], gain_by_loss[winner][-1]
    ahead = sum(steps[0] > 0 for steps in gain_by_loss.values())
    return (
        f"On the level field {ahead} of {len(gain_by_loss)} losses have a higher mean than the contrastive loss of "
        f"2006; {winner} is {level:+.0f}%. An imitation of an unfair comparison (the contrastive loss untuned, "
        "without its miner and with 8 dimensions, against the best test step of the new loss) makes that "
        f"{claim:+.0f}%. "
        "Tuning and protocol make more difference than the formula."
    )


LAB = read_lab(
    __file__, plan=plan.plan, estimate=plan.total, answer=_answer, rows=claims.rows, literature=_literature()
)
