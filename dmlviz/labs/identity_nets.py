"""The nets that the labs on identities compare: titles and settings."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dmlviz.catalog.parameters import Fields
from dmlviz.labs.lab import FigureRow
from dmlviz.labs.statistics import mean_row
from dmlviz.studies.trial import Trial, TrialResult

COMMON: Mapping[str, Any] = {
    "net": "small",
    "embedding_dim": 64,
    "classes_per_batch": 40,
    "images_per_class": 2,
    "batch_size": 80,
    "learning_rate": 1e-3,
    "validation_fraction": 0,  # nothing is chosen by it
}
FOUR_VIEWS = {"classes_per_batch": 20, "images_per_class": 4}
MARGIN_ON_THE_SPHERE = {"learning_rate": 2e-3, "loss_params": {"scale": 16, "margin": 0.2}}

PIXELS = "pixels"

NETS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    PIXELS: ("raw pixels", {}),
    "softmax": ("softmax", {"loss": "softmax"}),
    "contrastive_softmax": (
        "contrastive + softmax",
        {"loss": "weighted_sum", "loss_params": {"a": "contrastive", "b": "softmax"}},
    ),
    "random_triplets": (
        "random triplets",
        {"loss": "triplet", "sampler": "random_triplets", "normalize": False, "batch_size": 120},
    ),
    "batch_all": ("batch all", {"loss": "triplet", "miner": None, "normalize": False, **FOUR_VIEWS}),
    "batch_all_nonzero": (
        "batch all ≠ 0",
        {
            "loss": "triplet",
            "miner": None,
            "normalize": False,
            "loss_params": {"reduction": "nonzero"},
            **FOUR_VIEWS,
        },
    ),
    "offline_hard": (
        "triplets, offline hard mining",
        {"loss": "triplet", "miner": "offline_hard", "normalize": False, **FOUR_VIEWS},
    ),
    "batch_hard_nonzero": (
        "batch hard ≠ 0",
        {"loss": "batch_hard", "normalize": True, "loss_params": {"reduction": "nonzero"}},
    ),
    "lifted_one": ("lifted, one positive", {"loss": "generalized_lifted", "normalize": False}),
    "lifted": ("lifted, generalized", {"loss": "generalized_lifted", "normalize": False, **FOUR_VIEWS}),
    "batch_hard": ("batch hard", {"loss": "batch_hard", "normalize": True}),
    "nt_xent": ("NT-Xent", {"loss": "nt_xent"}),
    "center": ("softmax + center", {"loss": "center"}),
    "normalized_softmax": ("NormFace", {"loss": "normalized_softmax"}),
    "cosface": ("CosFace", {"loss": "cosface", **MARGIN_ON_THE_SPHERE}),
    "arcface": ("ArcFace", {"loss": "arcface", **MARGIN_ON_THE_SPHERE}),
}
"""By key: the title in a figure, and the fields of its TrainConfig beside `COMMON`; none for the images as they are."""

SECONDS_PER_STEP = 0.009  # processor seconds of one core


def fields_of(net: str, **changes: Any) -> Fields:
    """Return the fields of the TrainConfig of a net, as plain JSON types; {} for the images as they are."""
    fields = NETS[net][1]
    if not fields:
        return {}
    config = {**COMMON, **fields, **changes}
    if "loss_params" in changes:
        config["loss_params"] = {**fields.get("loss_params", {}), **changes["loss_params"]}
    return config


def compared_trials(
    nets: Sequence[str], seeds: int, steps: int, dataset: str, measuring_seconds: float, **settings: Any
) -> list[Trial]:
    """Return a trial for each net and seed.

    Args:
        nets: Keys of `NETS`.
        seeds: Number of seeds; the images as they are have only one.
        steps: Training steps.
        dataset: Data set.
        measuring_seconds: Processor seconds of one trial after its training.
        **settings: More settings of each trial.
    """
    return [
        Trial(
            name=f"{net}-seed_{seed}",
            settings={**settings, "net": net, "fields": fields_of(net, steps=steps, seed=seed)},
            dataset=dataset,
            seconds=measuring_seconds + (SECONDS_PER_STEP * steps if NETS[net][1] else 0),
        )
        for seed in range(seeds)
        for net in nets
        if seed == 0 or NETS[net][1]
    ]


def by_net(results: Sequence[TrialResult]) -> dict[str, list[TrialResult]]:
    """Return the results that have values by the title of their net, in the order of `NETS`."""
    trials = [result for result in results if result.values and "net" in result.trial.settings]
    groups = {
        title: [result for result in trials if result.trial.settings["net"] == net] for net, (title, _) in NETS.items()
    }
    return {title: group for title, group in groups.items() if group}


def having(name: str, group: Sequence[TrialResult]) -> list[TrialResult]:
    """Return the results that have this value; a trial that goes on may not have it yet."""
    return [result for result in group if name in result.values]


def seed_rows(
    figure: str, series: str, xs: Sequence[float], group: Sequence[TrialResult], values: Callable[[TrialResult], Any]
) -> list[FigureRow]:
    """Return a row for each x: the mean over the seeds of what `values` gives for it, with a 95% t-interval."""
    if not group:
        return []
    columns = list(zip(*(values(result) for result in group), strict=True))
    return [mean_row(figure, series, x, column) for x, column in zip(xs, columns, strict=True)]
