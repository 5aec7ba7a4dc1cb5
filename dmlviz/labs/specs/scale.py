"""The lab *More data, more people*: cross-entropy and metric learning as the training data grow."""

from collections.abc import Mapping, Sequence
from typing import Any

from dmlviz.labs.lab import FigureRow, FigureSpec, Guess, Lab
from dmlviz.labs.statistics import mean_rows
from dmlviz.studies.trial import Size, Trial, TrialResult

MAIN_SCORE = "map_at_r"
IMAGES = (5, 20, 80, 320)  # of each of 50 classes
PEOPLE = (50, 150, 400, 750)  # identities with 8 images each
LOSSES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("softmax", "Softmax", {"loss": "softmax", "sampler": "balanced"}),
    ("nt_xent", "NT-Xent", {"loss": "nt_xent"}),
    ("batch_hard", "Batch hard", {"loss": "batch_hard", "normalize_too": True}),
    ("arcface", "ArcFace", {"loss": "arcface", "sampler": "balanced", "loss_params": {"margin": 0.2, "scale": 20}}),
)
QUICK = ("softmax", "nt_xent")
SECONDS_IMAGES, SECONDS_PEOPLE = 6.0, 14.0
CLEARLY = 0.02  # a difference of MAP@R that is told


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


def _trial(axis: str, key: str, settings: dict[str, Any], seed: int, count: int, dataset: str) -> Trial:
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
            "classes_per_batch": 16,
            "images_per_class": 4,
            "learning_rate": 2e-3,
            "steps": 600,
            "seed": seed,
        },
        dataset=dataset,
        seconds=SECONDS_IMAGES if of_images else SECONDS_PEOPLE,
    )


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows = []
    for axis in ("images", "people"):
        for key, title, _ in LOSSES:
            measured = [r for r in results if r.values and r.trial.name.startswith(f"{axis}-{key}-")]
            finished = {_count(result) for result in measured if "step" not in result.values}
            # Where a training stands is shown until one of its kind has finished.
            own = [r for r in measured if "step" not in r.values or _count(r) not in finished]
            for prefix, words in (("", ""), ("normalized/", ", brought to length 1")):
                points = [(_count(result), result.values.get(prefix + MAIN_SCORE)) for result in own]
                rows += mean_rows(axis, f"{title}{words}", points)
    return rows


def _count(result: TrialResult) -> int:
    return int(result.trial.name.split("-")[2])


def _answer(results: Sequence[TrialResult]) -> str:
    rows = _rows(results)
    scores = {(row.series, row.x): row.y for row in rows if row.figure == "images"}
    few, many = IMAGES[0], IMAGES[-1]
    softmax, metric = LOSSES[0][1], LOSSES[1][1]
    if any((title, count) not in scores for title in (softmax, metric) for count in (few, many)):
        return "Too many trainings failed to tell."
    return (
        f"With {few} images of a class {softmax} reaches a MAP@R of {scores[softmax, few]:.2f} and {metric} "
        f"{scores[metric, few]:.2f}; with {many} images {scores[softmax, many]:.2f} and {scores[metric, many]:.2f}. "
        + _falling_curves(scores)
        + _more_people({(row.series, row.x): row.y for row in rows if row.figure == "people"}, softmax, metric)
        + (
            f"{softmax} has not overtaken up to here: the question of Horiguchi and others stays open on this data."
            if scores[softmax, many] < scores[metric, many]
            else f"{softmax} has overtaken, as Horiguchi and others found for plentiful data."
        )
    )


def _more_people(scores: Mapping[tuple[str, float | str], float], softmax: str, metric: str) -> str:
    """Compare the fewest identities with the most; nothing where they were not measured."""
    few, many = PEOPLE[0], PEOPLE[-1]
    if any((title, count) not in scores for title in (softmax, metric) for count in (few, many)):
        return ""
    return (
        f"From {few} to {many} identities {metric} goes from {scores[metric, few]:.2f} to {scores[metric, many]:.2f}, "
        f"{softmax} from {scores[softmax, few]:.2f} to {scores[softmax, many]:.2f}. "
    )


def _falling_curves(scores: Mapping[tuple[str, float | str], float]) -> str:
    """Say that all curves rise, or which end clearly below their best score."""
    falls = []
    for _, title, _ in LOSSES:
        curve = {count: scores[title, count] for count in IMAGES if (title, count) in scores}
        best = max(curve, key=lambda count: curve[count], default=IMAGES[-1])
        if best != IMAGES[-1] and curve[best] - curve[max(curve)] > CLEARLY:
            falls.append(f"{title} has its best score with {best} images")
    return f"Not all curves rise: {', '.join(falls)}. " if falls else "All curves rise and flatten. "


LAB = Lab(
    name="scale",
    title="More data, more people",
    summary="Retrieval of unseen classes as the training data grow: more images of each class, or more classes.",
    reference="Schroff, Kalenichenko, Philbin: FaceNet, CVPR 2015; Horiguchi, Ikami, Aizawa: Significance of "
    "softmax-based features in comparison to distance metric learning-based features, 2017",
    question="Does plain classification catch up with metric learning when there is enough data?",
    datasets=("numbers",),
    plan=_plan,
    measure="dmlviz.labs.measures.scale:measure",
    rows=_rows,
    figures=(
        FigureSpec(
            name="images",
            title="More images of a class",
            caption="MAP@R of 2,000 test images of 50 classes never trained on; trained on 50 other classes, 600 steps "
            "of 64 images. With several seeds: mean, 95 % t-interval over the seeds (n). While a trial goes on, its "
            "point is where the training stands.",
            kind="line",
            x_title="training images of each class",
            y_title="MAP@R of unseen classes",
            log_x=True,
        ),
        FigureSpec(
            name="people",
            title="More identities",
            caption="MAP@R of 751 identities never trained on, 8 images each, of four cameras; 600 steps of 64 images. "
            "Softmax and ArcFace have an output for each of 750 identities, also where fewer are trained on. Full size "
            "only. With several seeds: mean, 95 % t-interval over the seeds (n).",
            kind="line",
            x_title="training identities",
            y_title="MAP@R of unseen identities",
            log_x=True,
        ),
    ),
    guess=Guess(
        question="From 5 to 320 images of a class: what happens to softmax beside a metric loss?",
        options=(
            "It is behind and stays behind",
            "It is behind and overtakes",
            "It is ahead all the way",
            "Both stop improving at 20 images",
        ),
        answer=_answer,
    ),
    live=True,
    literature_note="FaceNet's error falls by some 60 % from millions to tens of millions of training images, and "
    "little after that. Horiguchi and others found that features of plain classification match or beat "
    "metric learning once there is enough data. Ours are small pictures and at most 16,000 of them, and every "
    "net has the same 600 steps: with 750 identities a classifier sees each of them 15 times less often than with 50, "
    "which may be all that its falling curve shows.",
)
