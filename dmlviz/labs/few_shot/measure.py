"""Few-shot: classes that a net never saw, each known by a few examples."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.labs.few_shot import EMBEDDED, EPISODES, GROWTH, QUERIES, SHOTS, TASKS, TEST_WAYS
from dmlviz.labs.kept_arrays import images_id
from dmlviz.labs.training import embed, train_net
from dmlviz.metrics.few_shot import episode_accuracies, episodes, nearest_prototype
from dmlviz.studies.trial import Trial, TrialContext

FEWER_EPISODES = 200  # for the curves over ways and shots
EPISODES_SEED = 1
SHOWN_EPISODES, SHOWN_QUERIES = 4, 6


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train a net on the training classes, or take raw pixels; answer episodes of the test classes.

    Returns:
        `tasks`: mean and half width of the 95% interval by task; `ways` and `shots`: mean accuracies at each of
        `TEST_WAYS` (1 shot) and `SHOTS` (5 ways); `growth`: mean and half width after each of `GROWTH` episodes of the
        first task; `validation`: 5-way 1-shot accuracy on the validation classes; `images`.
    """
    data, spec = load(trial.dataset, context.data_root), DATASETS[trial.dataset]
    assert spec.class_split is not None
    parts = spec.class_split.parts
    fields = trial.settings["fields"]
    if fields:
        unseen = [*parts["validation"], *parts["test"]]
        config = TrainConfig(dataset=trial.dataset, held_out_classes=unseen, **fields)
        net = train_net(config, data, context, share=(0.0, 0.7))
    sets = {}
    for part in ("validation", "test"):
        rows = np.flatnonzero(np.isin(data.test.labels, list(parts[part])))
        images = data.test.images[rows]
        vectors = embed(net, images, data) if fields else images.reshape(len(images), -1).astype(np.float32) / 255
        sets[part] = vectors, data.test.labels[rows], rows
    embeddings, labels, rows = sets["test"]
    tasks: dict[str, list[float]] = {}
    growth: list[list[float]] = []
    for name, task in TASKS.items():
        accuracies = _accuracies(embeddings, labels, *task, EPISODES)
        tasks[name] = _interval(accuracies)
        growth = growth or [_interval(accuracies[:count]) for count in GROWTH]  # of the first task
        context.report(0.8, tasks=tasks, growth=growth)
    _keep_episodes(embeddings, labels, rows, context)
    if fields:  # pixels are those of the images
        arrays = {"embeddings": embeddings.astype(np.float16), "labels": labels.astype(np.uint8)}
        np.savez_compressed(context.folder / EMBEDDED, **arrays)  # type: ignore[arg-type]
    return {
        "tasks": tasks,
        "growth": growth,
        "ways": [float(_accuracies(embeddings, labels, ways, 1, FEWER_EPISODES).mean()) for ways in TEST_WAYS],
        "shots": [float(_accuracies(embeddings, labels, 5, shots, FEWER_EPISODES).mean()) for shots in SHOTS],
        "validation": float(_accuracies(*sets["validation"][:2], 5, 1, EPISODES).mean()),
        "images": images_id(data),
        "made_from": data.note,
    }


def _accuracies(embeddings: np.ndarray, labels: np.ndarray, ways: int, shots: int, count: int) -> np.ndarray:
    return episode_accuracies(embeddings, labels, ways, shots, QUERIES, count, EPISODES_SEED)


def _interval(values: np.ndarray) -> list[float]:
    """Return the mean and half the width of its 95% t-interval over the episodes."""
    from scipy import stats

    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return [float(values.mean()), float(half)]


def _keep_episodes(embeddings: np.ndarray, labels: np.ndarray, rows: np.ndarray, context: TrialContext) -> None:
    """Keep the images of a few episodes, as indices of test images, with the answers."""
    shown_episodes = list(episodes(labels, 5, 1, SHOWN_QUERIES, SHOWN_EPISODES, EPISODES_SEED))
    np.savez_compressed(
        context.folder / "episodes.npz",
        support=np.stack([rows[episode.support] for episode in shown_episodes]).astype(np.int32),
        queries=np.stack([rows[episode.queries] for episode in shown_episodes]).astype(np.int32),
        answers=np.stack([nearest_prototype(embeddings, episode) for episode in shown_episodes]).astype(np.uint8),
    )
