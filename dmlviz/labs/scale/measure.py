"""Trains on more and more data and scores classes that training never saw."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, load
from dmlviz.labs.training import train_to_the_end
from dmlviz.metrics import evaluate
from dmlviz.studies.trial import Trial, TrialContext, Values
from dmlviz.training.events import Event, Snapshot, Step

SCORES = ("precision_at_1", "map_at_r")
FOLLOWED = 2000  # test images, at most, that are scored while the training goes on
SNAPSHOTS = 3  # scores before the last one, the first of the untrained net
LAST = 0.1  # share of the steps whose mean loss is reported


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train on the first classes, with so many images of each; score the test images of the second half.

    Returns:
        The values of `SCORES`; with `normalized_too` also those of the embeddings brought to length 1, by
        "normalized/NAME"; `spread`, the mean distance between test images of two classes, and `loss`, the mean of the
        last tenth of the steps. While it goes on, where the training stands, with `step`; not where there are too many
        test images to score.
    """
    config, data = training(trial, load(trial.dataset, context.data_root))
    labels = data.test.labels

    def values(embeddings: np.ndarray) -> Values:
        scores = _scores(embeddings, labels)
        if trial.settings["normalized_too"]:
            unit_scores = _scores(embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True), labels)
            scores |= {f"normalized/{name}": value for name, value in unit_scores.items()}
        return scores

    def so_far(snapshot: Snapshot) -> Values:
        return {**values(snapshot.embeddings), "step": snapshot.step} if len(labels) <= FOLLOWED else {}

    losses: list[float] = []

    def note_loss(event: Event) -> None:
        if isinstance(event, Step) and event.step > (1 - LAST) * config.steps:
            losses.append(event.loss)

    embeddings = train_to_the_end(config, data, context, so_far, note_loss).embeddings
    return {**values(embeddings), "spread": _spread(embeddings, labels), "loss": fmean(losses)}


def training(trial: Trial, data: Dataset) -> tuple[TrainConfig, Dataset]:
    """Return the settings of a trial, and its part of the data: the first classes to train on, the second half to test.

    Args:
        trial: The trial.
        data: Its data set.
    """
    settings = dict(trial.settings)
    count, per_class = settings.pop("train_classes"), settings.pop("images_of_class")
    normalized_too = settings.pop("normalized_too")
    test = data.test.select_classes(range(len(data.classes) // 2, len(data.classes)))
    few = len(test) <= FOLLOWED
    classes, trainable = len(data.classes), DATASETS[trial.dataset].trainable_classes
    config = TrainConfig(
        dataset=trial.dataset,
        # Where other classes are tested than trained on, none is held out: there the images are left out instead.
        held_out_classes=range(count, classes) if len(trainable) == classes else (),
        max_train_images=count * per_class,
        num_snapshots=SNAPSHOTS if few else 1,
        eval_subset_size=FOLLOWED if few else 100,
        normalize=not normalized_too or LOSSES[settings["loss"]].on_sphere,
        **settings,
    )
    train = data.train.select_classes(range(count))
    return config, replace(data, train=train, test=test)


def _spread(embeddings: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean distance between an image and the one that lies half of all images, sorted by class, away."""
    by_class = embeddings[np.argsort(labels, kind="stable")]
    return float(np.linalg.norm(by_class - np.roll(by_class, len(by_class) // 2, axis=0), axis=1).mean())


def _scores(embeddings: Any, labels: Any) -> dict[str, float]:
    scores = evaluate(embeddings, labels, clustering=False, full_ranking=False, verification=False)
    return {name: float(scores[name]) for name in SCORES}
