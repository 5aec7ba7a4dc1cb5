"""The lab *From one example*: few-shot classification of numbers that no net was trained on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dmlviz.labs.identity_rows import having, seed_rows
from dmlviz.labs.lab import SHARE, FigureRow, FigureSpec, Guess, Lab, PicturePair, PrintedRow
from dmlviz.labs.picture_grid import picture_grid
from dmlviz.labs.shown_images import images_and_arrays
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


def _prototypical(ways: int, shots: int = 1) -> dict[str, Any]:
    """Return episodes of so many ways, so many examples and five queries each."""
    return {
        **COMMON,
        "loss": "prototypical",
        "loss_params": {"support": shots},
        "sampler": "episodes",
        "classes_per_batch": ways,
        "images_per_class": shots + 5,
    }


NETS: dict[str, tuple[str, dict[str, Any]]] = {
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

SNELL = "Snell, Swersky, Zemel: Prototypical networks, NeurIPS 2017; Omniglot"


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


def _batch(fields: dict[str, Any]) -> int:
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


LAB = Lab(
    name="few-shot",
    aliases=("one-shot", "prototypes", "episodes"),
    title="From one example",
    summary="Numbers that a net never saw, each known by one example or a few: which one is this?",
    reference="Vinyals et al.: Matching networks, 2016; Snell, Swersky, Zemel: Prototypical networks, 2017",
    question="Can a class be recognized from a single example, and should training look like the test?",
    datasets=("numbers",),
    plan=_plan,
    measure="dmlviz.labs.few_shot.measure:measure",
    rows=_rows,
    figures=(
        FigureSpec(
            name="tasks",
            title="Accuracy",
            caption="600 episodes of the 20 test classes, 15 queries of each class; 64 classes to train on. "
            "Prototypical nets train with one example where no shots are named. Of several seeds (n) the mean with a "
            "95 % t-interval; of one seed a 95 % t-interval over its episodes (n).",
            kind="bar",
            x_title="task",
            y_title="accuracy",
            bounds=SHARE,
        ),
        FigureSpec(
            name="train_ways",
            title="Ways in training",
            caption="Prototypical nets by the ways of a training episode, one example each. Intervals as above.",
            x_title="ways of a training episode",
            y_title="accuracy",
            bounds=SHARE,
            log_x=True,
        ),
        FigureSpec(
            name="growth",
            title="Episodes",
            caption="5-way 1-shot, first seed: the mean of the first episodes (n) with its 95 % t-interval over them.",
            x_title="episodes",
            y_title="accuracy",
            bounds=SHARE,
            log_x=True,
        ),
        FigureSpec(
            name="ways",
            title="Ways in the test",
            caption="One example of each, 200 episodes. Of several seeds (n) the mean with a 95 % t-interval.",
            x_title="ways of a test episode",
            y_title="accuracy",
            bounds=SHARE,
        ),
        FigureSpec(
            name="shots",
            title="Shots",
            caption="Five ways, 200 episodes. Of several seeds (n) the mean with a 95 % t-interval.",
            x_title="examples of each class",
            y_title="accuracy",
            bounds=SHARE,
        ),
    ),
    guess=Guess(
        question="The test asks: which of 5 numbers is this? With how many classes at a time should a net train?",
        options=("With 5, as in the test", "With 20", "With 60", "It makes no difference"),
        answer=_answer,
    ),
    literature=(
        PrintedRow(figure="tasks", series="Omniglot, 60 ways, printed", x="5-way 1-shot", y=0.988, source=SNELL),
        PrintedRow(figure="tasks", series="Omniglot, 60 ways, printed", x="5-way 5-shot", y=0.997, source=SNELL),
    ),
    literature_note="Prototypical nets reach 98.8 % (1 shot) and 99.7 % (5 shots) on Omniglot with 60-way training, "
    "and 49.4 % and 68.2 % on miniImageNet, whose photographs differ far more within a class. Two-digit numbers are as "
    "easy as Omniglot: unseen numbers are made of digits that were seen.",
    live=True,
    strip=_strip,
    pictures=_pictures,
    activity="episode map",
)
