"""Places test images in a space of so many dimensions, and counts how often each is a neighbor."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlviz import nets
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, load, stratified_subset
from dmlviz.labs.hubs import SHOWN
from dmlviz.labs.kept_arrays import images_id
from dmlviz.labs.training import embed, train_to_the_end
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.studies.trial import Trial, TrialContext, Values

MEASURED = 2000  # test images
K = 10
HUBS = 5  # largest hubs that are kept


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Count for each of 2,000 test images, or as many random points, of how many others it is among the ten nearest.

    Returns:
        `skewness` of the counts; `orphans`, the share that is nobody's neighbor; of images also `wrong`, the share of
        neighbors of another class, and `images`, the hash of the test images. `hubs.npz` has the largest hubs.
    """
    data = load(trial.dataset, context.data_root)
    items = stratified_subset(data.test.labels, MEASURED)
    points = _points(trial, data, items, context)
    near = NearestNeighbors(points.astype(np.float32)).others(K)[1]
    counts = np.bincount(near.ravel(), minlength=len(items))
    values: Values = {"skewness": skewness(counts), "orphans": float((counts == 0).mean())}
    if trial.settings["space"] == "random":
        return values
    labels = data.test.labels[items]
    wrong = labels[near] != labels[:, None]
    hubs = np.argsort(-counts, kind="stable")[:HUBS]
    of_hub = [np.flatnonzero((near == hub).any(axis=1)) for hub in hubs]
    of_hub = [
        rows[np.argsort(labels[rows] == labels[hub], kind="stable")] for hub, rows in zip(hubs, of_hub, strict=True)
    ]
    shown = np.stack([np.resize(rows, SHOWN) for rows in of_hub])
    np.savez_compressed(
        context.folder / "hubs.npz",
        hubs=items[hubs].astype(np.int32),
        near=items[shown].astype(np.int32),
        right=labels[shown] == labels[hubs, None],
        count=counts[hubs].astype(np.int32),
        wrong=np.array([(labels[rows] != labels[hub]).mean() for hub, rows in zip(hubs, of_hub, strict=True)]),
    )
    return {**values, "wrong": float(wrong.mean()), "images": images_id(data)}


def _points(trial: Trial, data: Dataset, items: np.ndarray, context: TrialContext) -> np.ndarray:
    space, dimensions, seed = (trial.settings[name] for name in ("space", "dimensions", "seed"))
    if space == "random":
        random: np.ndarray = np.random.default_rng(seed).standard_normal((len(items), dimensions))
        return random
    if space == "pixels":
        pixels = data.test.images[items].reshape(len(items), -1) / 255
        centered = pixels - pixels.mean(axis=0)
        directions = np.linalg.eigh(centered.T @ centered)[1][:, ::-1]
        projected: np.ndarray = centered @ directions[:, :dimensions]
        return projected
    fields = {"embedding_dim": dimensions, "seed": seed, "validation_fraction": 0, **trial.settings["config"]}
    config = TrainConfig(dataset=trial.dataset, **fields)
    if space != "untrained":
        learned: np.ndarray = train_to_the_end(config, data, context).embeddings[items]
        return learned
    net = nets.build(
        config.net,
        embedding_dim=dimensions,
        normalize=config.normalize,
        channels=data.channels,
        size=data.size,
        seed=seed,
    )
    return embed(net.eval(), data.test.images[items], data)


def skewness(counts: np.ndarray) -> float:
    """Return the third standardized moment of counts (n); 0 where all are equal.

    Source:
        Radovanović, Nanopoulos, Ivanović: Hubs in Space, JMLR 11 (2010), equation 1.
    """
    rest = counts - counts.mean()
    spread = np.sqrt((rest**2).mean())
    return float((rest**3).mean() / spread**3) if spread else 0.0
