"""Trains until every training image is right and on, and measures the geometry of the classes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlviz.config import TrainConfig
from dmlviz.data import load, stratified_subset
from dmlviz.labs.collapse import IMAGES, LOOKS
from dmlviz.labs.training import embed, train_net
from dmlviz.metrics import evaluate
from dmlviz.studies.trial import Trial, TrialContext, Values
from dmlviz.training.trainer import Trainer


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train on some classes, and look at the net after the steps `LOOKS`.

    Returns:
        `looks`: for each the `step`, the values of `geometry` and `nearest` of the classes that are trained on, and
        `transfer`, the MAP@R of the test images of all other classes, by the cosine.
    """
    config = TrainConfig(dataset=trial.dataset, **trial.settings)
    data = load(trial.dataset, context.data_root)
    train = data.train.select_classes(config.train_classes)
    train = train.select(stratified_subset(train.labels, IMAGES * len(config.train_classes)))
    seen, unseen = (data.test.select_classes(classes) for classes in (config.train_classes, config.held_out_classes))
    data = replace(data, train=train)
    looks: list[Values] = []

    def look(step: int, trainer: Trainer) -> None:
        if step not in LOOKS:
            return
        trainer.net.eval()
        points, others, strange = (embed(trainer.net, part.images, data) for part in (train, seen, unseen))
        trainer.net.train()
        centers = trainer.centers()
        strange /= np.linalg.norm(strange, axis=1, keepdims=True).clip(1e-12)
        scores = evaluate(strange, unseen.labels, clustering=False, full_ranking=False, verification=False)
        looks.append(
            {
                "step": step,
                **geometry(points, train.labels, None if centers is None else centers[np.unique(train.labels)]),
                "nearest": disagreement(points, train.labels, others),
                "transfer": float(scores["map_at_r"]),
            }
        )
        context.report(step / config.steps, looks=list(looks))

    train_net(config, data, context, look=look)
    return {"looks": looks}


def geometry(points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> dict[str, float]:
    """Measure how far classes have collapsed: all values fall to 0.

    Args:
        points: Embeddings (n × d).
        labels: Their classes (n), all of them with the same number of points.
        weights: Directions of the class weights (k × d) in the order of the classes, if the loss has any.

    Returns:
        `within`: tr(Σ_W Σ_B⁺) / k, the spread within classes by that between their means. `simplex`: how far the Gram
        matrix of the means is from that of a regular simplex, both scaled to length 1 (Frobenius norm). `duality`: how
        far weights and means are from each other, likewise; not without weights.

    Source:
        Papyan, Han, Donoho: Prevalence of neural collapse, PNAS 2020; `simplex` as in Zhu et al., NeurIPS 2021.
    """
    points = points.astype(np.float64)
    classes, own = np.unique(labels, return_inverse=True)
    means = np.stack([points[own == k].mean(axis=0) for k in range(len(classes))])
    rest, centered = points - means[own], means - means.mean(axis=0)
    between = np.linalg.pinv(centered.T @ centered / len(means), rcond=1e-10, hermitian=True)
    within = rest @ between
    gram, simplex = _unit(centered @ centered.T), _unit(np.eye(len(means)) - 1 / len(means))
    values = {
        "within": float((within * rest).sum() / len(points) / len(means)),
        "simplex": float(np.linalg.norm(gram - simplex)),
    }
    if weights is not None:
        values["duality"] = float(np.linalg.norm(_unit(weights - weights.mean(axis=0)) - _unit(centered)))
    return values


def _unit(matrix: np.ndarray) -> np.ndarray:
    unit: np.ndarray = matrix / max(np.linalg.norm(matrix), 1e-300)
    return unit


def disagreement(points: np.ndarray, labels: np.ndarray, others: np.ndarray) -> float:
    """Return the share of `others` (m × d) whose nearest point is of another class than their nearest class mean."""
    classes, own = np.unique(labels, return_inverse=True)
    means = np.stack([points[own == k].mean(axis=0) for k in range(len(classes))])
    nearest, center = (_nearest(others, known) for known in (points, means))
    return float((own[nearest] != center).mean())


def _nearest(points: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return for each point (n × d) which of the known ones (m × d) is nearest."""
    nearest: np.ndarray = ((known**2).sum(axis=1) - 2 * points @ known.T).argmin(axis=1)
    return nearest
