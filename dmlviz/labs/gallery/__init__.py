"""The lab *A gallery that grows*: identities are enrolled without training, and queries may be of unknown ones."""

from collections.abc import Sequence

from dmlviz.labs.identity_nets import by_net, compared_trials, having, seed_rows
from dmlviz.labs.kept_arrays import images_and_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.statistics import caveat, compare, mean_row
from dmlviz.studies.trial import Size, Trial, TrialResult

FALSE_ALARMS = tuple(round(10 ** (exponent / 8), 6) for exponent in range(-24, 1))
FALSE_ALARM_RATE = 0.01  # at which thresholds are compared
ENROLLED = (25, 50, 100, 200, 375)  # identities
EXAMPLES = (1, 2, 3, 5, 10)  # of each newcomer
NEWCOMERS = (7, 8, 9)  # digits that no net of the newcomers' part was trained on
EXAMPLES_OF_KNOWN = 10

COMPARED = ("pixels", "softmax", "arcface", "batch_hard", "nt_xent")
QUICK = ("pixels", "softmax", "nt_xent")
MEASURING_SECONDS = 6.0  # processor seconds of one trial after its training
NEWCOMER_SECONDS_PER_STEP = 0.01
NEWCOMER_DATASET = "digits"
NEWCOMER_SEEDS = 5  # they are cheap, and differ much
NEWCOMER_NETS = {"softmax": "softmax", "nt_xent": "NT-Xent"}
RULES = {"nearest": "nearest picture", "mean": "mean of the pictures"}


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    nets, seeds, steps = (QUICK, 1, 400) if size == "quick" else (COMPARED, 3, 1000)
    newcomer_steps = 150 if size == "quick" else 400
    identities = compared_trials(nets, seeds, steps, dataset, MEASURING_SECONDS, part="identities")
    newcomers = [
        Trial(
            name=f"newcomers-{loss}-seed_{seed}",
            settings={
                "part": "newcomers",
                "loss": loss,
                "fields": {
                    "loss": loss,
                    "embedding_dim": 32,
                    "steps": newcomer_steps,
                    "seed": seed,
                    "validation_fraction": 0,
                }
                | ({"classes_per_batch": 7} if loss == "nt_xent" else {}),
            },
            dataset=NEWCOMER_DATASET,
            seconds=3 + NEWCOMER_SECONDS_PER_STEP * newcomer_steps,
        )
        for seed in range(NEWCOMER_SEEDS)
        for loss in NEWCOMER_NETS
    ]
    return [*identities, *newcomers]


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows: list[FigureRow] = []
    for title, group in by_net(results).items():
        rows += seed_rows("open_set", title, FALSE_ALARMS, group, lambda result: result.values["identified"])
        growth = having("growth", group)
        rows += seed_rows("growth", title, ENROLLED, growth, lambda result: result.values["growth"]["at_one_percent"])
        for name, words in (("closed_accuracy", "all known"), ("at_one_percent", "1% false alarms")):
            for rule, rule_words in RULES.items() if growth else ():
                values = [result.values[name][rule] for result in growth]
                rows.append(mean_row("rules", f"{words}, {rule_words}", title, values))
    newcomers = [result for result in results if result.values and result.trial.settings["part"] == "newcomers"]
    for loss, title in NEWCOMER_NETS.items():
        group = [result for result in newcomers if result.trial.settings["loss"] == loss]
        if group:
            for name, words in (("newcomers", "new digits"), ("known", "known digits")):
                columns = zip(*(result.values[name] for result in group), strict=True)
                series = f"{words}, gallery of {title}"
                rows += [mean_row("newcomers", series, x, column) for x, column in zip(EXAMPLES, columns, strict=True)]
    if newcomers:
        accuracies = [result.values["classifier"] for result in newcomers]
        rows += [mean_row("newcomers", "new digits, classifier of seven", x, accuracies) for x in EXAMPLES]
    return rows


def _answers(result: TrialResult, kinds: Sequence[bool] = (False, True)) -> list[PicturePair]:
    """Return unknown identities that got a name, then known ones that got none, with the nearest enrolled picture."""
    behind = images_and_arrays(result, "answers.npz")
    if behind is None:
        return []
    images, answers = behind
    pairs = []
    for probe, nearest, is_known, distance in zip(
        *(answers[name] for name in ("probe", "nearest", "known", "distance")), strict=True
    ):
        if bool(is_known) not in kinds:
            continue
        verdict = "known, but called unknown" if is_known else "unknown, but got a name"
        caption = f"{verdict}: distance {distance:.2f}, threshold {answers['threshold']:.2f}"
        pairs.append(PicturePair(images=(images[probe], images[nearest]), caption=caption))
    return pairs


def _strip(results: Sequence[TrialResult]) -> list[PicturePair]:
    first = [group[0] for group in by_net(results).values()]
    best = max(first, key=lambda result: float(result.values["at_one_percent"]["nearest"]), default=None)
    return [] if best is None else [pair for is_known in (False, True) for pair in _answers(best, (is_known,))[:3]]


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return the wrong answers of the selected net."""
    group = by_net(results).get(str(x) if figure == "rules" else series, [])
    return _answers(group[0]) if group else []


def _answer(results: Sequence[TrialResult]) -> str:
    rows = {row.series: row for row in LAB.rows(results) if row.figure == "newcomers" and row.x == 3}
    gallery_rows = [rows.get(f"new digits, gallery of {title}") for title in NEWCOMER_NETS.values()]
    new = [row for row in gallery_rows if row is not None]
    if len(new) < len(gallery_rows):
        return "Too many trainings failed to tell."
    shares = " and ".join(f"{row.y:.0%} ({title})" for row, title in zip(new, NEWCOMER_NETS.values(), strict=True))
    softmax, metric = new
    words = (
        f"With three examples of each, the gallery names {shares}{caveat(softmax, metric, '{:.0%}')} of the new digits "
        "rightly, without any training. The classifier of seven digits names none: it knows no other."
    )
    if compare(softmax, metric) == "higher":
        words += " A net that was pressed to forget everything but its seven classes tells new ones apart less well."
    return words


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, strip=_strip, pictures=_pictures)
