"""Trains on more and more data and scores classes that training never saw."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, load
from dmlviz.labs.measures.training import train_to_the_end
from dmlviz.metrics import evaluate
from dmlviz.studies.trial import Trial, TrialContext

SCORES = ("precision_at_1", "map_at_r")


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train on the first classes, with so many images of each; score the test images of the second half.

    Returns:
        The values of `SCORES`; with `normalized_too` also those of the embeddings brought to length 1, by
        "normalized/NAME".
    """
    config, data = training(trial, load(trial.dataset, context.data_root))
    test = data.test
    end = train_to_the_end(config, data, context)
    values = _scores(end.embeddings, test.labels)
    if trial.settings["normalized_too"]:
        lengths = np.linalg.norm(end.embeddings, axis=1, keepdims=True)
        normalized = _scores(end.embeddings / lengths, test.labels)
        values |= {f"normalized/{name}": value for name, value in normalized.items()}
    return values


def training(trial: Trial, data: Dataset) -> tuple[TrainConfig, Dataset]:
    """Return the settings of a trial, and its part of the data: the first classes to train on, the second half to test.

    Args:
        trial: The trial.
        data: Its data set.
    """
    settings = dict(trial.settings)
    count, per_class = settings.pop("train_classes"), settings.pop("images_of_class")
    normalized_too = settings.pop("normalized_too")
    classes, trainable = len(data.classes), DATASETS[trial.dataset].trainable_classes
    config = TrainConfig(
        dataset=trial.dataset,
        # Where other classes are tested than trained on, none is held out: there the images are left out instead.
        held_out_classes=range(count, classes) if len(trainable) == classes else (),
        max_train_images=count * per_class,
        num_snapshots=1,
        eval_subset_size=100,
        normalize=not normalized_too or LOSSES[settings["loss"]].on_sphere,
        **settings,
    )
    train = data.train.select_classes(range(count))
    return config, replace(data, train=train, test=data.test.select_classes(range(classes // 2, classes)))


def _scores(embeddings: Any, labels: Any) -> dict[str, float]:
    scores = evaluate(embeddings, labels, clustering=False, full_ranking=False, verification=False)
    return {name: float(scores[name]) for name in SCORES}
