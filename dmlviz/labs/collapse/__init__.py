"""The lab *Neural collapse*: how far each class shrinks to one point, and what that leaves of classes never seen."""

from collections.abc import Sequence

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.parameters import Fields
from dmlviz.labs.lab import FigureRow, read_lab
from dmlviz.labs.statistics import caveat, compare, mean_rows
from dmlviz.studies.trial import Size, Trial, TrialResult

LOSSES: tuple[tuple[str, str, Fields], ...] = (
    ("softmax", "Softmax", {"loss": "softmax", "sampler": "balanced", "normalize": False}),
    ("arcface", "ArcFace", {"loss": "arcface", "sampler": "balanced", "loss_params": {"margin": 0.2, "scale": 20}}),
    ("proxy_anchor", "Proxy-Anchor", {"loss": "proxy_anchor"}),
    ("supcon", "SupCon", {"loss": "supcon"}),
    ("triplet", "Triplet, semi-hard", {"loss": "triplet", "miner": "semihard_nearest"}),
)
FIGURES = ("within", "simplex", "duality", "nearest", "transfer")  # each is a value of every look
LOOKS = (20, 40, 80, 160, 320, 640, 1280, 2560)  # steps
HELD_OUT = 0.3  # share of the classes, the last ones, that training never sees
IMAGES = 300  # training images of each class, so few that the net learns all of them
SECONDS, SECONDS_SMALL_IMAGES = 0.012, 0.006  # of a step, for images of 28 × 28 and of 8 × 8


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    seeds, steps = (1, LOOKS[-3]) if size == "quick" else (3, LOOKS[-1])
    spec = DATASETS[dataset]
    classes = len(spec.classes)
    return [
        Trial(
            name=f"{key}-seed_{seed}",
            settings={
                **settings,
                "held_out_classes": list(range(round((1 - HELD_OUT) * classes), classes)),
                "validation_fraction": 0,
                "net": "small",
                "embedding_dim": 128,
                "classes_per_batch": 7,
                "images_per_class": 8,
                "weight_decay": 5e-4,
                "steps": steps,
                "seed": seed,
            },
            dataset=dataset,
            seconds=steps * (SECONDS if spec.size > 8 else SECONDS_SMALL_IMAGES),
        )
        for seed in range(seeds)
        for key, _, settings in LOSSES
    ]


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows = []
    for figure in FIGURES:
        for key, title, _ in LOSSES:
            looks = [
                look
                for result in results
                if result.trial.name.startswith(f"{key}-seed_")
                for look in result.values.get("looks", ())
            ]
            rows += mean_rows(figure, title, [(look["step"], look.get(figure)) for look in looks])
    return rows


def _answer(results: Sequence[TrialResult]) -> str:
    rows = LAB.rows(results)
    last = max((float(row.x) for row in rows), default=0)
    within, transfer = (
        {row.series: row for row in rows if row.figure == figure and row.x == last} for figure in ("within", "transfer")
    )
    if len(within) < len(LOSSES):
        return "Too many trainings failed to tell."
    most, least = (choose(within.values(), key=lambda row: row.y).series for choose in (min, max))
    ends = within[most], within[least]
    words = (
        f"After {last:,.0f} steps {most} has collapsed most, with a spread within classes of {ends[0].y:.2g} of that "
        f"between them, {least} least, with {ends[1].y:.2g}{caveat(*ends, '{:.2g}')}. MAP@R of the classes never seen "
        f"is {transfer[most].y:.2f} and {transfer[least].y:.2f}{caveat(transfer[most], transfer[least], '{:.2f}')}. "
    )
    verdict = {
        "lower": "The loss that collapses most serves the other classes least, as Kornblith and others found.",
        "higher": "Here the loss that collapses most also serves the other classes best: against what Kornblith and "
        "others found.",
        "unclear": "Whether collapse costs transfer is not clear from these two.",
    }[compare(transfer[most], transfer[least])]
    return words + verdict + _falls(rows, last)


def _falls(rows: Sequence[FigureRow], last: float) -> str:
    """Name the losses whose transfer ends clearly below its best."""
    fallen = []
    for _, title, _ in LOSSES:
        curve = [row for row in rows if row.figure == "transfer" and row.series == title]
        best, end = max(curve, key=lambda row: row.y), next(row for row in curve if row.x == last)
        if compare(best, end) == "higher":
            fallen.append(f"{title} ({best.y:.2f} at step {best.x:,.0f}, {end.y:.2f} at the end)")
    return f" Transfer falls while training goes on: {'; '.join(fallen)}." if fallen else ""


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer)
