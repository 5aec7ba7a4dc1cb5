"""Trains one loss on the four folds of the first half of the classes; scores validation classes, or the other half."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.parameters import Fields
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, Split, load
from dmlviz.errors import UserError
from dmlviz.labs.reality_check.plan import BY_KEY, FOLDS
from dmlviz.metrics import evaluate, evaluate_per_query
from dmlviz.studies.trial import Trial, TrialContext, TrialStoppedError
from dmlviz.training.trainer import Trainer

TRAIN_IMAGES = 3_000  # of the first half of the classes: 60 of each of 50
BATCH = 16, 4  # classes, images of each; more of each where there are fewer classes
DIMENSIONS = 32
SCORES = ("precision_at_1", "r_precision", "map_at_r")
PEEKS = 4  # looks at the test curve, evenly spread, of which a paper would report the best
CHECK_EVERY = 20  # steps between two looks whether to stop


def folds(classes: int) -> list[tuple[list[int], list[int]]]:
    """Return training and validation classes of each fold: a quarter of the first half is left out in turn.

    Of few classes two are left out, so that something can be confused: each is left out in one or two folds.

    Args:
        classes: Number of classes; their second half is for the test.

    Examples:
        >>> folds(16)[1]
        ([0, 1, 4, 5, 6, 7], [2, 3])
    """
    half = np.arange(classes // 2)
    parts = np.array_split(half, FOLDS)
    if len(half) < 2 * FOLDS:
        parts = [half.take((fold, fold + 1), mode="wrap") for fold in range(FOLDS)]
    return [(np.setdiff1d(half, part).tolist(), part.tolist()) for part in parts]


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train the four folds; score them.

    Returns:
        In a search `validation`, the mean MAP@R of the validation classes, and `folds`, that of each. In a final run
        the test scores `separated` (mean of the four nets) and `concatenated` (their embeddings side by side), each by
        the names in `SCORES`; `classes`, the separated MAP@R of each test class; and `peeked`, the best separated
        MAP@R among the looks at the test curve.
    """
    settings = trial.settings
    data = load(trial.dataset, context.data_root)
    classes = len(data.classes)
    is_search = settings["score_on"] == "validation"
    test = data.test.select_classes(range(classes // 2, classes))
    fold_scores, embeddings, curves = [], [], []
    for number, (train, validation) in enumerate(folds(classes)):
        images = data.train.select_classes(validation)
        scored_on = images.first(_per_class(data) * len(validation)) if is_search else test
        fold = replace(data, test=scored_on)
        trainer, curve = _train(_config(trial, data, train), fold, context, number, not is_search)
        vectors = trainer.embed(trainer.test_images)
        if not np.isfinite(vectors).all():
            raise UserError("The training diverged: its embeddings are not finite.")
        fold_scores.append(_scores(vectors, scored_on))
        embeddings.append(vectors)
        curves.append([*curve, fold_scores[-1]["map_at_r"]])
    if is_search:
        return {
            "validation": float(np.mean([scores["map_at_r"] for scores in fold_scores])),
            "folds": [scores["map_at_r"] for scores in fold_scores],
        }
    return {
        "separated": {name: float(np.mean([scores[name] for scores in fold_scores])) for name in SCORES},
        "concatenated": _scores(np.concatenate(embeddings, axis=1), test),
        "classes": np.mean([_by_class(one, test) for one in embeddings], axis=0).tolist(),
        "peeked": float(np.mean(curves, axis=0).max()),
    }


def _per_class(data: Dataset) -> int:
    return TRAIN_IMAGES // (len(data.classes) // 2)


def _config(trial: Trial, data: Dataset, train_classes: list[int]) -> TrainConfig:
    """Return the settings of one fold: the same net, batches and optimizer for every loss."""
    settings = trial.settings
    contestant = BY_KEY[settings["contestant"]]
    params, changes = dict(settings["tuned"]), dict(settings["changes"])
    batch_classes, usable = min(BATCH[0], len(train_classes)), np.isin(data.train.labels, train_classes).sum()
    fields: Fields = {
        "dataset": trial.dataset,
        "held_out_classes": sorted(set(range(len(data.classes))) - set(train_classes)),
        "max_train_images": min(_per_class(data) * len(train_classes), int(usable)),
        "validation_fraction": 0,  # whole classes are held out instead
        "net": "small",
        "embedding_dim": DIMENSIONS,
        "normalize": True,
        "loss": contestant.loss,
        "sampler": "balanced",
        "classes_per_batch": batch_classes,
        "images_per_class": math.prod(BATCH) // batch_classes,
        "optimizer": "rmsprop",
        "steps": settings["steps"],
        "seed": settings["seed"],
        **{name: params.pop(name) for name in ("learning_rate", "loss_learning_rate") if name in params},
        **changes,
    }
    of_loss = {parameter.name for parameter in LOSSES[contestant.loss].parameters}
    fields["loss_params"] = {name: value for name, value in params.items() if name in of_loss}
    if miner := fields.get("miner"):
        of_miner = {parameter.name for parameter in MINERS[miner].parameters}
        fields["miner_params"] = {name: value for name, value in params.items() if name in of_miner - of_loss}
    return TrainConfig(**fields)


def _train(
    config: TrainConfig, data: Dataset, context: TrialContext, number: int, peek: bool
) -> tuple[Trainer, list[float]]:
    """Train one fold; also return the test MAP@R at the looks before the last step."""
    trainer = Trainer(config, data, torch.device("cpu"))
    looks = {round(config.steps * (1 + look) / PEEKS) for look in range(PEEKS - 1)} if peek else set()
    curve = []
    for step in range(1, config.steps + 1):
        stats = trainer.train_step(step)
        if not math.isfinite(stats.loss):
            raise UserError(f"The training diverged: step {step:,} of fold {number + 1} gave a loss of {stats.loss}.")
        if step in looks:
            curve.append(_scores(trainer.embed(trainer.test_images), data.test)["map_at_r"])
        if step % CHECK_EVERY == 0:
            if context.stop():
                raise TrialStoppedError
            context.report((number + step / config.steps) / FOLDS)
    return trainer, curve


def _scores(embeddings: np.ndarray, split: Split) -> dict[str, float]:
    scores = evaluate(embeddings, split.labels, clustering=False, full_ranking=False, verification=False)
    return {name: float(scores[name]) for name in SCORES}


def _by_class(embeddings: np.ndarray, split: Split) -> np.ndarray:
    """Return the MAP@R of each class of a split, in the order of their ids."""
    queries = evaluate_per_query(embeddings, split.labels)
    labels = split.labels[queries.queries]
    return np.array([queries.average_precision_at_r[labels == one].mean() for one in np.unique(labels)])
