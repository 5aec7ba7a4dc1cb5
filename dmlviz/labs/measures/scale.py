"""Trains on more and more data and scores classes that training never saw."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.data import load
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
    settings = dict(trial.settings)
    data = load(trial.dataset, context.data_root)
    classes = len(data.classes)
    train_classes, per_class = settings.pop("train_classes"), settings.pop("images_of_class")
    normalized_too = settings.pop("normalized_too")
    test = data.test.select_classes(range(classes // 2, classes))
    config = TrainConfig(
        dataset=trial.dataset,
        held_out_classes=range(train_classes, classes),
        max_train_images=train_classes * per_class,
        num_snapshots=1,
        eval_subset_size=100,
        normalize=not normalized_too or LOSSES[settings["loss"]].on_sphere,
        **settings,
    )
    end = train_to_the_end(config, replace(data, test=test), context)
    values = _scores(end.embeddings, test.labels)
    if normalized_too:
        import numpy as np

        lengths = np.linalg.norm(end.embeddings, axis=1, keepdims=True)
        normalized = _scores(end.embeddings / lengths, test.labels)
        values |= {f"normalized/{name}": value for name, value in normalized.items()}
    return values


def _scores(embeddings: Any, labels: Any) -> dict[str, float]:
    scores = evaluate(embeddings, labels, clustering=False, full_ranking=False, verification=False)
    return {name: float(scores[name]) for name in SCORES}
