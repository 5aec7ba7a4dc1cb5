"""Trainings whose scores are kept, line by line, so that a table that was broken off goes on where it was."""

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from dmlviz import metrics, nets
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, Split, cache_dir, load
from dmlviz.training.events import Failed, Finished, Snapshot
from dmlviz.training.loop import train

TRAIN_IMAGES, STEPS = 10_000, 400
HELD_OUT = 10_000  # the last training images, which no training here sees: choices are made on them
RESULTS = cache_dir() / "learned.jsonl"


@dataclass(frozen=True)
class Learned:
    """Scores on images among themselves; `failed` says why there are none, NaN, after so many steps."""

    precision_at_1: float
    map_at_r: float
    effective_rank: float
    collapsed: bool
    cpu_seconds: float
    steps: int
    failed: str = ""


def setup(loss: str, seed: int = 0, **changes: object) -> TrainConfig:
    """Return the training of the table: 10,000 images, `small`, 64 dimensions, 400 steps, all else as recommended.

    No validation images: what is chosen by is scored here, on images that no training sees.
    """
    fixed = {"dataset": "mnist", "max_train_images": TRAIN_IMAGES, "net": "small", "embedding_dim": 64, "steps": STEPS}
    fixed["validation_fraction"] = 0
    return TrainConfig(**{**fixed, "loss": loss, "seed": seed, "eval_subset_size": 2000, "num_snapshots": 8, **changes})


class Measured:
    """Trains what was not trained yet; results are found again by the config's identity, in `path`.

    With `choosing`, the scores are of held-out training images, among themselves, and not of the test images. They know
    nothing of the code: remove the file after a change of a loss, a miner or the training.
    """

    def __init__(self, path: Path = RESULTS, choosing: bool = False) -> None:
        self.path = path.with_stem(path.stem + "_choosing") if choosing else path
        self.choosing = choosing
        self.known: dict[str, Learned] = {}
        self.data: dict[str, Dataset] = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                entry = json.loads(line)
                identity = entry.pop("id")
                self.known[identity] = Learned(**entry)

    def __call__(self, config: TrainConfig) -> Learned:
        """Return the scores of a config; it is trained if its result is not in the file yet."""
        if config.id not in self.known:
            if config.dataset not in self.data:
                self.data[config.dataset] = _data(config.dataset, self.choosing)
            self.known[config.id] = result = learn(config, self.data[config.dataset])
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps({"id": config.id} | asdict(result)) + "\n")
        return self.known[config.id]


def _data(name: str, choosing: bool) -> Dataset:
    data = load(name)
    if not choosing:
        return data
    train = data.train
    return replace(data, test=Split(train.images[-HELD_OUT:], train.labels[-HELD_OUT:]))


def learn(config: TrainConfig, data: Dataset) -> Learned:
    """Train on one thread and score; of a training that diverged, what its last snapshot (of fewer images) held."""
    torch.set_num_threads(1)
    begun = time.process_time()
    event, shot = None, None
    # The end scores every test image in every way; two images leave the scoring to us.
    few = replace(data, test=data.test.first(config.eval_subset_size))
    for event in train(config.replace(eval_subset_size=config.eval_subset_size), data=few):
        shot = event if isinstance(event, Snapshot) else shot
    spent = time.process_time() - begun
    if isinstance(event, Failed):
        scores = shot.metrics if shot is not None else {}
        return Learned(*_picked(scores), cpu_seconds=spent, steps=event.step, failed=event.reason)
    assert isinstance(event, Finished), event
    embeddings = embed(config, {name: torch.from_numpy(value) for name, value in event.net_weights.items()}, data)
    return Learned(*_picked(_scores(embeddings, data.test.labels)), cpu_seconds=spent, steps=event.step)


def untrained(seed: int, data: Dataset) -> dict[str, float]:
    """Return the scores of the net before its first step."""
    return _scores(embed(setup("nt_xent", seed), None, data), data.test.labels)


def raw_pixels(data: Dataset) -> dict[str, float]:
    """Return the scores of the images themselves, by the Euclidean distance of their pixels."""
    pixels = data.test.images.reshape(len(data.test), -1) / np.float32(255)
    return _scores(pixels, data.test.labels)


@torch.no_grad()
def embed(config: TrainConfig, weights: dict[str, torch.Tensor] | None, data: Dataset) -> np.ndarray:
    """Return the test images' embeddings by the config's net."""
    how = {"embedding_dim": config.embedding_dim, "normalize": config.normalize, "seed": config.seed}
    net = nets.build(config.net, channels=data.channels, size=data.size, **how)  # type: ignore[arg-type]
    if weights is not None:
        net.load_state_dict(weights)
    images = torch.from_numpy(data.test.images)[:, None].float().div(255).sub(data.mean).div(data.std)
    return torch.cat([net.eval()(part) for part in images.split(1000)]).numpy()


def _scores(embeddings: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    return metrics.evaluate(embeddings, labels, clustering=False, full_ranking=False, verification=False)


def _picked(scores: dict[str, float]) -> tuple[float, float, float, bool]:
    missing = float("nan")
    found = (scores.get(key, missing) for key in ("precision_at_1", "map_at_r", "effective_rank"))
    return *found, bool(scores.get("collapsed", 0))  # type: ignore[return-value]
