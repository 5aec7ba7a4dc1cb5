"""The lab *From one example*: few-shot classification of numbers that no net was trained on."""

from collections.abc import Sequence

import numpy as np

from dmlviz.catalog.parameters import Fields
from dmlviz.labs.identity_nets import having, seed_rows
from dmlviz.labs.kept_arrays import images_and_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.pictures import picture_grid
from dmlviz.labs.statistics import caveat, compare, mean_row
from dmlviz.studies.trial import Size, Trial, TrialResult

EMBEDDED = "embedded.npz"  # the test images as a net sees them
EPISODES = 600  # as the papers score
QUERIES = 15  # of each class in an episode
TASKS = {"5-way 1-shot": (5, 1), "5-way 5-shot": (5, 5), "20-way 1-shot": (20, 1)}
TEST_WAYS = (2, 5, 10, 15, 20)
SHOTS = (1, 2, 3, 5, 10)
GROWTH = (10, 20, 50, 100, 200, 400, 600)  # episodes after which the interval is looked at

COMMON = {"net": "small", "embedding_dim": 64, "learning_rate": 2e-3, "validation_fraction": 0}


def _prototypical(ways: int, shots: int = 1) -> Fields:
    """Return episodes of so many ways, so many examples and five queries each."""
    return {
        **COMMON,
        "loss": "prototypical",
        "loss_params": {"support": shots},
        "sampler": "episodes",
        "classes_per_batch": ways,
        "images_per_class": shots + 5,
    }


NETS: dict[str, tuple[str, Fields]] = {
    "pixels": ("raw pixels", {}),
    "softmax": ("softmax features", {**COMMON, "loss": "softmax", "batch_size": 160}),
    "nt_xent": ("NT-Xent", {**COMMON, "loss": "nt_xent", "classes_per_batch": 40, "images_per_class": 4}),
    "prototypical_5": ("prototypical, 5 ways", _prototypical(5)),
    "prototypical_20": ("prototypical, 20 ways", _prototypical(20)),
    "prototypical_20_shots_5": ("prototypical, 20 ways, 5 shots", _prototypical(20, shots=5)),
    "prototypical_60": ("prototypical, 60 ways", _prototypical(60)),
}
TRAIN_WAYS = {"prototypical_5": 5, "prototypical_20": 20, "prototypical_60": 60}
MEASURING_SECONDS = 3.0  # processor seconds of one trial after its training
SECONDS_PER_IMAGE = 6e-5  # processor seconds of one image of a batch, forward and backward


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    seeds, steps = (1, 200) if size == "quick" else (3, 600)
    return [
        Trial(
            name=f"{net}-seed_{seed}",
            settings={"net": net, "fields": {**fields, "steps": steps, "seed": seed} if fields else {}},
            dataset=dataset,
            seconds=MEASURING_SECONDS + steps * SECONDS_PER_IMAGE * _batch(fields),
        )
        for seed in range(seeds)
        for net, (_, fields) in NETS.items()
        if seed == 0 or fields  # pixels have no seed
    ]


def _batch(fields: Fields) -> int:
    """Return the number of images in a batch."""
    if "classes_per_batch" in fields:
        return int(fields["classes_per_batch"] * fields["images_per_class"])
    return int(fields.get("batch_size", 0))


def _by_net(results: Sequence[TrialResult]) -> dict[str, list[TrialResult]]:
    trials = [result for result in results if result.values]
    groups = {net: [result for result in trials if result.trial.settings["net"] == net] for net in NETS}
    return {net: group for net, group in groups.items() if group}


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows: list[FigureRow] = []
    for net, group in _by_net(results).items():
        title = NETS[net][0]
        for task in TASKS:
            own = [result for result in group if task in result.values["tasks"]]
            if own:
                rows.append(_task_row("tasks", title, task, task, own))
            if own and net in TRAIN_WAYS:
                rows.append(_task_row("train_ways", task, float(TRAIN_WAYS[net]), task, own))
        rows += seed_rows("ways", title, TEST_WAYS, having("ways", group), lambda result: result.values["ways"])
        rows += seed_rows("shots", title, SHOTS, having("shots", group), lambda result: result.values["shots"])
        for episodes, (mean, half) in zip(GROWTH, group[0].values["growth"], strict=True):
            rows.append(
                FigureRow(
                    figure="growth", series=title, x=episodes, y=mean, low=mean - half, high=mean + half, n=episodes
                )
            )
    return rows


def _task_row(figure: str, series: str, x: float | str, task: str, group: Sequence[TrialResult]) -> FigureRow:
    """Return the accuracy of a task: of several seeds with a t-interval over them, of one over its episodes."""
    if len(group) > 1:
        return mean_row(figure, series, x, [result.values["tasks"][task][0] for result in group])
    mean, half = group[0].values["tasks"][task]
    return FigureRow(figure=figure, series=series, x=x, y=mean, low=mean - half, high=mean + half, n=EPISODES)


def _episodes(result: TrialResult) -> list[PicturePair]:
    """Return a few 5-way episodes: the example of a class, then its queries; frames mark right answers."""
    behind = images_and_arrays(result, "episodes.npz")
    if behind is None:
        return []
    images, episodes = behind
    pairs = []
    for number, (support, queries, answers) in enumerate(
        zip(episodes["support"], episodes["queries"], episodes["answers"], strict=True)
    ):
        for way in range(len(support)):
            right = answers[way] == way
            caption = f"episode {number + 1}: the one example, then {len(right)} queries, {np.sum(right)} right"
            picture = picture_grid(images[support[way, 0]], images[queries[way]], right)
            pairs.append(PicturePair(images=(picture,), caption=caption))
    return pairs


def _strip(results: Sequence[TrialResult]) -> list[PicturePair]:
    groups = _by_net(results)
    return _episodes(groups["prototypical_60"][0])[:5] if "prototypical_60" in groups else []


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return the episodes as the selected net answered them."""
    for net, group in _by_net(results).items():
        if NETS[net][0] == series or (figure == "train_ways" and TRAIN_WAYS.get(net) == x):
            return _episodes(group[0])
    return []


def _answer(results: Sequence[TrialResult]) -> str:
    tasks = {(row.series, row.x): row for row in LAB.rows(results) if row.figure == "train_ways"}
    few, many = tasks.get(("5-way 1-shot", 5.0)), tasks.get(("5-way 1-shot", 60.0))
    if few is None or many is None:
        return "Too many trainings failed to tell."
    words = (
        f"Trained with 60 ways the net is right in {many.y:.1%} of the cases, trained with the 5 ways of the test in "
        f"{few.y:.1%}{caveat(many, few, '{:.1%}')}."
    )
    if compare(many, few) == "higher":
        words += " More classes in a training episode are a harder question, and a harder question teaches more."
    return words


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, strip=_strip, pictures=_pictures)
