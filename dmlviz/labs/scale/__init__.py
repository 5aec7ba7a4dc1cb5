"""The lab *More data, more people*: cross-entropy and metric learning as the training data grow."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from dmlviz.catalog.parameters import Fields
from dmlviz.labs.lab import FigureRow, read_lab
from dmlviz.labs.statistics import caveat, compare, mean_rows
from dmlviz.studies.trial import Size, Trial, TrialResult

MAIN_SCORE = "map_at_r"
IMAGES = (5, 20, 80, 320)  # of each of 50 classes
PEOPLE = (50, 150, 400, 750)  # identities with 8 images each
LOSSES: tuple[tuple[str, str, Fields], ...] = (
    ("softmax", "Softmax", {"loss": "softmax", "sampler": "balanced"}),
    ("nt_xent", "NT-Xent", {"loss": "nt_xent"}),
    ("batch_hard", "Batch hard", {"loss": "batch_hard", "normalize_too": True}),
    ("arcface", "ArcFace", {"loss": "arcface", "sampler": "balanced", "loss_params": {"margin": 0.2, "scale": 20}}),
)
QUICK = ("softmax", "nt_xent")
STEPS, CLASSES_PER_BATCH, IMAGES_PER_CLASS = 600, 16, 4
PLACES = CLASSES_PER_BATCH * IMAGES_PER_CLASS  # images of a batch
SECONDS_IMAGES, SECONDS_PEOPLE = 6.0, 14.0
COLLAPSED = 0.1  # mean distance of two test images on the unit sphere, which is some 1.3 in a space that learned


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    seeds = 1 if size == "quick" else 3
    trials = []
    for seed in range(seeds):
        for key, _, settings in LOSSES:
            if size == "full" or key in QUICK:
                trials += [_trial("images", key, settings, seed, n, dataset) for n in IMAGES]
                trials += [_trial("people", key, settings, seed, n, PEOPLE_DATA) for n in PEOPLE if size == "full"]
    return trials


PEOPLE_DATA = "identities"
Scores = Mapping[tuple[str, float | str], FigureRow]


def _trial(axis: str, key: str, settings: Fields, seed: int, count: int, dataset: str) -> Trial:
    fields = {name: value for name, value in settings.items() if name != "normalize_too"}
    of_images = axis == "images"
    return Trial(
        name=f"{axis}-{key}-{count:03d}-seed_{seed}",
        settings={
            **fields,
            "train_classes": 50 if of_images else count,
            "images_of_class": count if of_images else 8,
            # Softmax trains free embeddings, which are scored as they are and brought to length 1.
            "normalized_too": settings["loss"] == LOSSES[0][2]["loss"],
            "validation_fraction": 0,
            "net": "small",
            "embedding_dim": 32,
            "classes_per_batch": CLASSES_PER_BATCH,
            "images_per_class": IMAGES_PER_CLASS,
            "learning_rate": 2e-3,
            "steps": STEPS,
            "seed": seed,
        },
        dataset=dataset,
        seconds=SECONDS_IMAGES if of_images else SECONDS_PEOPLE,
    )


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows = []
    for axis in ("images", "people"):
        for key, title, _ in LOSSES:
            group = [r for r in results if r.values and r.trial.name.startswith(f"{axis}-{key}-")]
            counts = {_count(result) for result in group if "step" not in result.values}
            # Where a training stands is shown until one of its kind has finished.
            own = [r for r in group if "step" not in r.values or _count(r) not in counts]
            for prefix, words in (("", ""), ("normalized/", ", brought to length 1")):
                points = [(_count(result), result.values.get(prefix + MAIN_SCORE)) for result in own]
                rows += mean_rows(axis, f"{title}{words}", points)
    return rows


def _count(result: TrialResult) -> int:
    return int(result.trial.name.split("-")[2])


def _answer(results: Sequence[TrialResult]) -> str:
    rows = LAB.rows(results)
    scores = {(row.series, row.x): row for row in rows if row.figure == "images"}
    few, many = IMAGES[0], IMAGES[-1]
    softmax, metric = LOSSES[0][1], LOSSES[1][1]
    if any((title, count) not in scores for title in (softmax, metric) for count in (few, many)):
        return "Too many trainings failed to tell."
    first, last = [(scores[softmax, count], scores[metric, count]) for count in (few, many)]
    verdict = {
        "lower": f"{softmax} has not overtaken up to here: the question of Horiguchi and others stays open on this "
        "data.",
        "higher": f"{softmax} has overtaken, as Horiguchi and others found for plentiful data.",
        "unclear": f"Whether {softmax} has overtaken is not clear.",
    }
    return (
        f"With {few} images of a class {softmax} reaches a MAP@R of {first[0].y:.2f} and {metric} {first[1].y:.2f}"
        f"{caveat(*first, '{:.2f}')}; with {many} images {last[0].y:.2f} and {last[1].y:.2f}{caveat(*last, '{:.2f}')}. "
        + _peaks({key: row for key, row in scores.items() if key[1] in IMAGES}, "images")
        + _collapse(results)
        + _more_people({(row.series, row.x): row for row in rows if row.figure == "people"}, softmax, metric)
        + verdict[compare(*last)]
    )


def _more_people(scores: Scores, softmax: str, metric: str) -> str:
    """Compare the fewest identities with the most, and say how often each was seen; "" where it was not measured."""
    few, many = PEOPLE[0], PEOPLE[-1]
    if any((title, count) not in scores for title in (softmax, metric) for count in (few, many)):
        return ""
    own, other = [(scores[title, few], scores[title, many]) for title in (metric, softmax)]
    words = (
        f"From {few} to {many} identities {metric} goes from {own[0].y:.2f} to {own[1].y:.2f}"
        f"{caveat(*own, '{:.2f}')}, {softmax} from {other[0].y:.2f} to {other[1].y:.2f}{caveat(*other, '{:.2f}')}. "
    )
    falls = _peaks({key: row for key, row in scores.items() if key[0] == softmax}, "identities")
    if not falls:
        return words
    repetitions = [STEPS * PLACES // count for count in (few, many)]
    return (
        f"{words}{falls}{softmax} learns the weights of an identity only from its own images, and {STEPS} steps of "
        f"{PLACES} images show each of {few} identities {repetitions[0]} times, each of {many} only {repetitions[1]} "
        f"times. {metric} has no such weights: all images of a batch are compared, also within an identity. "
    )


def _peaks(scores: Scores, things: str) -> str:
    """Say which curves end below their best score, and whether clearly; nothing where all rise to their end."""
    words = ""
    for _, title, _ in LOSSES:
        curve = [scores[key] for key in scores if key[0] == title]
        if not curve:
            continue
        best, last = max(curve, key=lambda row: row.y), max(curve, key=lambda row: float(row.x))
        if best is not last:
            values = f"{best.y:.2f} with {best.x:g} {things}, {last.y:.2f} with {last.x:g}"
            words += f"{title} does not rise to the end: {values}{caveat(best, last, '{:.2f}')}. "
    return words


def _collapse(results: Sequence[TrialResult]) -> str:
    """Say why batch hard stays behind: with many images of a class it has not left the one point when it ends."""
    rows: list[FigureRow] = []
    for result in results:
        if result.trial.name.startswith("images-batch_hard-") and "spread" in result.values:
            rows.append(FigureRow(figure="", series="", x=_count(result), y=result.values["spread"]))
    spreads = {count: fmean(row.y for row in rows if row.x == count) for count in {row.x for row in rows}}
    collapsed = sorted(count for count, spread in spreads.items() if spread < COLLAPSED)
    if not collapsed or len(collapsed) == len(spreads):
        return ""
    few = max(count for count in spreads if count not in collapsed)
    counts = " and ".join(f"{count:g}" for count in collapsed)
    return (
        f"With {counts} images batch hard still has all test images in nearly one point when it ends: on the sphere "
        f"two are {spreads[collapsed[-1]]:.3f} apart, with {few:g} images {spreads[few]:.2f}. The farthest of three "
        "positives pulls harder than the nearest negative pushes, and the more a class varies, the more steps it takes "
        "to leave that point. "
    )


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer)
