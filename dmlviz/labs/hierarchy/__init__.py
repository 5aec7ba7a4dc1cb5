"""The lab *Room for a hierarchy*: a tree of numbers in the plane and in the Poincaré disk."""

from collections.abc import Sequence

from dmlviz.labs.kept_arrays import MAP, kept_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.pictures import tree_picture
from dmlviz.labs.statistics import caveat, compare, mean_rows
from dmlviz.studies.trial import Size, Trial, TrialResult

SPACES = {"euclidean": "plane", "poincare": "Poincaré disk"}
DIGITS = {"quick": (2, 3, 4), "full": (2, 3, 4, 5, 6)}
SEEDS = {"quick": 2, "full": 5}
NET_SEEDS = {"quick": 1, "full": 3}
LEVELS, STEPS, NET_STEPS = 3, 400, 1000
SECONDS_A_PAIR, SECONDS_A_STEP = 1.5e-4, 0.02  # of all steps; of the net


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    trees = [
        Trial(
            name=f"{space}-{digits}-seed_{seed}",
            settings={"space": space, "digits": digits, "steps": STEPS, "seed": seed},
            dataset=dataset,
            seconds=1 + SECONDS_A_PAIR * sum(digits**level for level in range(LEVELS + 1)) ** 2,
        )
        for seed in range(SEEDS[size])
        for digits in DIGITS[size]
        for space in SPACES
    ]
    trained = [
        Trial(
            name=f"{space}-net-seed_{seed}",
            settings={"space": space, "net": "small", "steps": NET_STEPS, "seed": seed},
            dataset=dataset,
            seconds=NET_STEPS * SECONDS_A_STEP,
        )
        for seed in range(NET_SEEDS[size])
        for space in SPACES
    ]
    return trees + trained


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows = []
    for space, title in SPACES.items():
        own = [result for result in results if result.values and result.trial.settings["space"] == space]
        for figure in ("neighbors", "distortion"):
            trees = [one for one in own if figure in one.values]
            points = [(float(one.trial.settings["digits"]), float(one.values[figure])) for one in trees]
            rows += mean_rows(figure, title, points)
        for level in ("number", "tens"):
            rows += mean_rows("net", title, [(level, one.values[level]) for one in own if level in one.values])
    return rows


def _strip(results: Sequence[TrialResult]) -> list[PicturePair]:
    """Return the layouts of the first seed with most digits, in both spaces."""
    drawn = [result for result in results if kept_arrays(result, MAP)]
    most = max((result.trial.settings["digits"] for result in drawn), default=0)
    return [_picture(result) for result in drawn if result.trial.settings["digits"] == most]


def _picture(result: TrialResult) -> PicturePair:
    kept, space = kept_arrays(result, MAP), result.trial.settings["space"]
    caption = f"{SPACES[space]}, {result.trial.settings['digits']} digits: MAP {result.values['neighbors']:.2f}"
    return PicturePair(
        images=(tree_picture(kept["places"], kept["lines"], kept["level"], in_disk=space == "poincare"),),
        caption=f"{caption[0].upper()}{caption[1:]}; a line leads from each number to its children, the shortest way",
    )


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    return [
        _picture(result)
        for result in results
        if SPACES[result.trial.settings["space"]] == series
        if result.trial.settings.get("digits") == x and kept_arrays(result, MAP)
    ]


def _answer(results: Sequence[TrialResult]) -> str:
    rows = {(row.figure, row.series, row.x): row for row in LAB.rows(results)}
    plane, disk = SPACES.values()
    measured = [x for figure, series, x in rows if figure == "neighbors" and series == plane]
    if not measured or ("neighbors", disk, max(measured, key=float)) not in rows:
        return "Too many trials failed to tell."
    most = max(measured, key=float)
    low, high = rows["neighbors", plane, most], rows["neighbors", disk, most]
    verdict = {
        "lower": "The disk has more room: a circle there grows exponentially with its radius, as a tree does.",
        "higher": "Here the plane kept them better.",
        "unclear": "Which of the two is better is not clear.",
    }[compare(low, high)]
    wrong = [rows["distortion", series, most] for series in (plane, disk)]
    answer = (
        f"With {most:g} digits the MAP of parent and children is {low.y:.2f} in the plane and {high.y:.2f} in the disk"
        f"{caveat(low, high, '{:.2f}')}; distances are wrong by {wrong[0].y:.0%} and {wrong[1].y:.0%} on average. "
        f"{verdict}"
    )
    if ("net", plane, "number") not in rows or ("net", disk, "number") not in rows:
        return answer
    first, second = rows["net", plane, "number"], rows["net", disk, "number"]
    with_net = {
        "lower": "A net's embeddings of images gain, too",
        "higher": "A net's embeddings of images lose",
        "unclear": "For a net's embeddings of images the difference is not clear",
    }[compare(first, second)]
    scores = f"MAP of the number {first.y:.2f} and {second.y:.2f}{caveat(first, second, '{:.2f}')}"
    return f"{answer} {with_net}: {scores}."


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, strip=_strip, pictures=_pictures)
