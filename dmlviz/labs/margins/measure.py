"""Trains in the plane with a margin on the angle, and measures how near each image is to the template of its class."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, load
from dmlviz.labs.kept_arrays import some_test_images
from dmlviz.labs.margins import KEPT_POINTS
from dmlviz.labs.training import embed, train_to_the_end
from dmlviz.metrics import evaluate
from dmlviz.nets import build
from dmlviz.studies.trial import Trial, TrialContext, Values
from dmlviz.training.events import Event, Snapshot, Started, Step

SNAPSHOTS = 12
SCORES = ("precision_at_1",)


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train one net in the plane; keep its points and templates.

    Returns:
        The values of `angles`, `precision_at_1` and `loss`, the mean of the last tenth of the training. While it goes
        on, the same are reported of the tracked images.
    """
    settings = dict(trial.settings)
    config = TrainConfig(dataset=trial.dataset, num_snapshots=SNAPSHOTS, eval_subset_size=KEPT_POINTS, **settings)
    data = load(trial.dataset, context.data_root)
    classes = np.array(config.train_classes)
    losses: list[float] = []
    indices = np.empty(0, int)

    def on_event(event: Event) -> None:
        nonlocal indices
        if isinstance(event, Started):
            indices = event.tracked_indices
        elif isinstance(event, Step):
            losses.append(event.loss)

    def values(embeddings: np.ndarray, items: np.ndarray, centers: np.ndarray) -> Values:
        own = np.isin(data.test.labels[items], classes)
        points, labels = embeddings[own], np.searchsorted(classes, data.test.labels[items[own]])
        scores = evaluate(points, labels, clustering=False, full_ranking=False, verification=False)
        last = losses[-max(1, len(losses) // 10) :]
        return {
            **angles(points, labels, centers),
            **{name: scores[name] for name in SCORES},
            "loss": float(np.mean(last)) if last else None,
        }

    def on_snapshot(snapshot: Snapshot) -> Values:
        assert snapshot.centers is not None
        return values(snapshot.embeddings, indices, snapshot.centers)

    end = train_to_the_end(config, data, context, on_snapshot, on_event)
    assert end.centers is not None
    some = some_test_images(data, classes, KEPT_POINTS)
    np.savez(
        context.folder / "points.npz",
        features=_features(end.net_weights, config, data, data.test.images[some]).astype(np.float16),
        embeddings=end.embeddings[some].astype(np.float16),
        labels=np.searchsorted(classes, data.test.labels[some]).astype(np.uint8),
        centers=end.centers.astype(np.float32),
    )
    return values(end.embeddings, np.arange(len(data.test)), end.centers)


def _features(weights: Mapping[str, np.ndarray], config: TrainConfig, data: Dataset, images: np.ndarray) -> np.ndarray:
    """Return what the net gives before it is scaled to length 1."""
    net = build(
        config.net, embedding_dim=config.embedding_dim, normalize=False, channels=data.channels, size=data.size
    ).eval()
    net.load_state_dict({name: torch.from_numpy(np.array(values)) for name, values in weights.items()})
    return embed(net, images, data)


def angles(embeddings: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> dict[str, float]:
    """Measure directions in the plane.

    Args:
        embeddings: Points (n × 2).
        labels: Their classes (n), from 0.
        centers: The templates (k × 2), in the order of the classes.

    Returns:
        `median_angle` and `wide_angle` (the 90th percentile) between a point and its own template, `smallest_gap`
        between neighboring templates, all in degrees; `accuracy` of the nearest template, as the head decides.
    """
    points = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True).clip(1e-12)
    templates = centers / np.linalg.norm(centers, axis=1, keepdims=True).clip(1e-12)
    cosines = points @ templates.T
    own = np.degrees(np.arccos(cosines[np.arange(len(labels)), labels].clip(-1, 1)))
    directions = np.sort(np.degrees(np.arctan2(templates[:, 1], templates[:, 0])) % 360)
    gaps = np.diff(np.append(directions, directions[0] + 360))
    return {
        "median_angle": float(np.median(own)),
        "wide_angle": float(np.percentile(own, 90)),
        "smallest_gap": float(gaps.min()),
        "accuracy": float((cosines.argmax(axis=1) == labels).mean()),
    }
