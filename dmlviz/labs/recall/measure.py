"""Embeds test images with raw pixels, an untrained net or a trained one, and ranks them for each as a query."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlviz import nets
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, load, stratified_subset
from dmlviz.labs.kept_arrays import images_id
from dmlviz.labs.training import embed, train_to_the_end
from dmlviz.metrics import curves, evaluate
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.studies.trial import Trial, TrialContext

SCORED = 2000  # test images, each a query among the others
SHOWN = 10  # nearest images that are kept for each query
KS = np.unique(np.geomspace(1, 1000, 60).round().astype(int))
SCORES = ("precision_at_1", "r_precision", "map_at_r", "mrr")


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Rank the test images for each of them.

    Returns:
        `ks` and `recall` at each, `scores` by name, and `images`, the hash of the test images. `neighbors.npz` has the
        queries as indices of test images (n), their nearest (n × 10), and the ranks of the first right one (n).
    """
    data = load(trial.dataset, context.data_root)
    items = stratified_subset(data.test.labels, SCORED)
    embeddings, labels = _embeddings(trial, data, context)[items], data.test.labels[items]
    curve = curves.recall_at_k(embeddings, labels, most=int(KS[-1]))
    scores = evaluate(embeddings, labels, clustering=False, full_ranking=False, verification=False)
    nearest = NearestNeighbors(embeddings).others(min(SHOWN, len(items) - 1))[1]
    first_hit = np.zeros(len(items), np.int32)
    first_hit[curve.images] = curve.first_hit
    np.savez_compressed(
        context.folder / "neighbors.npz",
        queries=items.astype(np.int32),
        nearest=items[nearest].astype(np.int32),
        first_hit=first_hit,
    )
    ks = KS[len(curve.recall) >= KS]
    return {
        "ks": ks.tolist(),
        "recall": [round(float(value), 6) for value in curve.recall[ks - 1]],
        "scores": {name: float(scores[name]) for name in SCORES},
        "images": images_id(data),
    }


def _embeddings(trial: Trial, data: Dataset, context: TrialContext) -> np.ndarray:
    if "config" not in trial.settings:
        flat: np.ndarray = data.test.images.reshape(len(data.test), -1).astype(np.float32) / 255
        return flat
    config = TrainConfig(dataset=trial.dataset, **dict(trial.settings["config"]))
    if trial.settings.get("trained", True):
        return train_to_the_end(config, data, context).embeddings
    net = nets.build(
        config.net,
        embedding_dim=config.embedding_dim,
        normalize=config.normalize,
        channels=data.channels,
        size=data.size,
        seed=config.seed,
    )
    return embed(net.eval(), data.test.images, data)
