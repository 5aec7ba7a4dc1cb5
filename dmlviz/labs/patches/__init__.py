"""The lab *Do two patches match?*: nets that compare patches, on scenes of a kind that they have never seen."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.labs.kept_arrays import PICTURES, first_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.statistics import compare, mean_rows
from dmlviz.studies.trial import Size, Trial, TrialResult

NETS = (
    *("pixels", "siam-l2", "siam-2stream-l2", "siam", "siam-2stream", "first-shared", "pseudo-siam", "two-branch"),
    *("2ch", "2ch-deep", "2ch-2stream"),
)
SCENES = ("mnist", "fashion_mnist")  # the kinds of scenes, where both are to be had
STEPS = {"quick": 400, "full": 1_400}
SEEDS = {"quick": 1, "full": 3}
SECONDS_A_STEP = {  # a net of two towers takes twice as long as 2ch
    "pixels": 0.0,
    "2ch": 0.013,
    "2ch-deep": 0.045,
    "siam-2stream": 0.045,
    "siam-2stream-l2": 0.045,
}
USUAL_SECONDS_A_STEP = 0.025
STEREO = "stereo.npz"  # of a trial: true and found disparities, 2 × side × side
NEAR = 2.0  # pixels by which a disparity may be wrong: as far as the patches of one point are shifted in training
RECALLS = [round(0.02 * step, 2) for step in range(51)]  # at which a trial gives the false positives


def _kinds(dataset: str) -> tuple[str, ...]:
    return SCENES if dataset in SCENES else (dataset,)


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    kinds = _kinds(dataset)
    trains = kinds if size == "full" else (dataset,)
    trials = []
    for seed in range(SEEDS[size]):
        for train in trains:
            for net in NETS:
                steps = STEPS[size] if SECONDS_A_STEP.get(net) != 0 else 0
                if not steps and (seed or train != dataset):
                    continue  # nothing is learned: one trial says it all
                trials.append(
                    Trial(
                        name=f"{net}-{train}-seed_{seed}",
                        settings={"net": net, "train": train, "test": list(kinds), "steps": steps, "seed": seed},
                        dataset=dataset,
                        seconds=2 + steps * SECONDS_A_STEP.get(net, USUAL_SECONDS_A_STEP),
                    )
                )
    return trials


def _title(kind: str) -> str:
    return DATASETS[kind].title


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    trials = sorted((result for result in results if result.values), key=lambda result: NETS.index(_net(result)))
    rows: list[FigureRow] = []
    for kind in dict.fromkeys(kind for result in trials for kind in result.values["tests"]):
        for train in dict.fromkeys(result.trial.settings["train"] for result in trials):
            group = [result for result in trials if _is_of(result, train)]
            series = f"trained on {_title(train)}, tested on {_title(kind)}"
            rows += mean_rows(
                "fpr95", series, [(_net(result), 100 * result.values["tests"][kind]["fpr95"]) for result in group]
            )
    for net in NETS:
        own = [result for result in trials if _net(result) == net]
        for train in dict.fromkeys(result.trial.settings["train"] for result in trials):
            group = [result for result in own if _is_of(result, train)]
            for kind in dict.fromkeys(kind for result in group for kind in result.values["tests"]):
                values = [100 * result.values["tests"][kind]["fpr95"] for result in group]
                rows += mean_rows("table", net, [(f"{_title(train)} → {_title(kind)}", value) for value in values])
        if own:
            first = own[0]
            test = _other_kind(first)
            rows += [
                FigureRow(figure="roc", series=net, x=max(x, 1e-3), y=recall, n=1)
                for recall, x in zip(RECALLS, first.values["tests"][test]["roc"], strict=True)
            ]
            pairs = [(net, 100 * result.values["stereo"]) for result in own if "stereo" in result.values]
            rows += mean_rows("stereo", f"within {NEAR:.0f} pixels", pairs)
            rows += mean_rows("cost", "one click, 400 places", [(net, result.values["click_ms"]) for result in own])
    return rows


def _net(result: TrialResult) -> str:
    return str(result.trial.settings["net"])


def _is_of(result: TrialResult, train: str) -> bool:
    """Return whether a result is of nets trained so; one that learns nothing counts for every training."""
    return result.trial.settings["train"] == train or not result.trial.settings["steps"]


def _other_kind(result: TrialResult) -> str:
    """Return the kind of scenes that the net was not trained on; its own if there is no other."""
    kinds: list[str] = list(result.values["tests"])
    return next((kind for kind in kinds if kind != result.trial.settings["train"]), kinds[0])


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return the pairs that a net got most wrong."""
    net = series if figure == "roc" else x
    if figure == "stereo":
        arrays = first_arrays([result for result in results if result.values and _net(result) == net], STEREO)
        maps = [np.kron(one, np.ones((8, 8))) for one in arrays["disparity"]] if arrays else []
        images = tuple((10 * one).clip(0, 255).astype(np.uint8) for one in maps)
        words = "disparity of each place: true, and found along its row; bright is near"
        return [PicturePair(images=images, caption=words)] if images else []
    worst = first_arrays([result for result in results if result.values and _net(result) == net], PICTURES)
    if not worst:
        return []
    half = len(worst["scores"]) // 2
    pairs = []
    for number, (images, score) in enumerate(zip(worst["images"], worst["scores"], strict=True)):
        words = "two points, taken for one" if number < half else "one point, taken for two"
        pairs.append(PicturePair(images=(images[0], images[1]), caption=f"{words}; score {score:.2f}"))
    return pairs


def _answer(results: Sequence[TrialResult]) -> str:
    first = next((result for result in results if result.values), None)
    if first is None:
        return "Every training failed."
    values: dict[float | str, FigureRow] = {}
    for row in LAB.rows(results):
        if row.figure == "fpr95" and row.series.endswith(_title(_other_kind(first))):
            values.setdefault(row.x, row)
    order = sorted(values.values(), key=lambda row: row.y)
    text = ", ".join(f"{row.x} {row.y / 100:.1%}" for row in order)
    unclear = [f"{one.x} and {other.x}" for one, other in pairwise(order) if compare(one, other) == "unclear"]
    return (
        f"False positives at 95% recall, on scenes of another kind where there is one, the best net first: {text}. "
        + (f"No clear difference between {', '.join(unclear)}. " if unclear else "")
        + "A net that sees both patches at once can compare them from its first layer on; the price is that every pair "
        "is computed anew."
    )


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, pictures=_pictures)
