"""Trains in the plane on blind tuples or on mined ones, and follows the score over images seen and seconds."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.labs.classical_or_mined import SCORED
from dmlviz.labs.kept_arrays import both_parts
from dmlviz.labs.training import train_to_the_end
from dmlviz.metrics import evaluate
from dmlviz.studies.trial import Trial, TrialContext, Values
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.events import Event, Snapshot, Started, Step

FOLLOWED = 1000  # of both together, at each snapshot
SNAPSHOTS = 12
SCORES = ("precision_at_1", "map_at_r")


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train one net in the plane; keep its points.

    Returns:
        `curve`, a list of [images seen, processor seconds, MAP@R, share of active terms since the last point];
        `losses`, a list of [images seen, mean loss since the last point]; `test` and `train`, the scores of each at the
        end; `tuples`, pairs or triplets compared in a batch, and `images` of it.
    """
    data = load(trial.dataset, context.data_root)
    config = TrainConfig(
        dataset=trial.dataset, num_snapshots=SNAPSHOTS, eval_subset_size=FOLLOWED, **dict(trial.settings)
    )
    both, tests = both_parts(data, SCORED)
    follower = _Follower(config, both.labels, tests)
    end = train_to_the_end(
        config, replace(data, test=both), context, lambda snapshot: follower.values(), on_event=follower.on_event
    )
    parts = {"test": slice(None, tests), "train": slice(tests, None)}
    scores = {name: _scores(end.embeddings[part], both.labels[part]) for name, part in parts.items()}
    follower.add(end.step, end.cpu_seconds, scores["test"][SCORES[-1]])
    np.savez(
        context.folder / "points.npz",
        embeddings=end.embeddings.astype(np.float16),
        labels=both.labels.astype(np.uint8),
        tests=tests,
    )
    return {**follower.values(), **scores}


class _Follower:
    """Follows the score of the test images while the net trains."""

    def __init__(self, config: TrainConfig, labels: np.ndarray, tests: int) -> None:
        self._images = config.effective_batch_size
        self._labels, self._tests = labels, tests
        self._indices = np.array([], int)
        self._curve: list[list[float]] = []
        self._losses: list[list[float]] = []
        self._active: list[float] = []
        self._recent_losses: list[float] = []
        self._tuples: list[int] = []
        self._cpu_seconds = 0.0

    def on_event(self, event: Event) -> None:
        if isinstance(event, Started):
            self._indices = event.tracked_indices
        elif isinstance(event, Step):
            self._active.append(event.active)
            self._recent_losses.append(event.loss)
            self._cpu_seconds = event.cpu_seconds
        elif isinstance(event, BatchRecord):
            self._tuples.append(event.num_mined)
        elif isinstance(event, Snapshot):
            is_test = self._indices < self._tests
            scores = _scores(event.embeddings[is_test], self._labels[self._indices[is_test]])
            self.add(event.step, self._cpu_seconds, scores[SCORES[-1]])

    def add(self, step: int, cpu_seconds: float, score: float) -> None:
        """Add a point of the curve."""
        active = float(np.mean(self._active)) if self._active else 1.0
        if self._recent_losses:
            self._losses.append([step * self._images, float(np.mean(self._recent_losses))])
        self._active.clear()
        self._recent_losses.clear()
        self._curve.append([step * self._images, round(cpu_seconds, 2), score, active])

    def values(self) -> Values:
        """Return the curve so far, and the tuples of a batch."""
        tuples = float(np.mean(self._tuples)) if self._tuples else 0.0
        return {"curve": [*self._curve], "losses": [*self._losses], "tuples": tuples, "images": self._images}


def _scores(embeddings: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    scores = evaluate(embeddings, labels, clustering=False, full_ranking=False, verification=False)
    return {name: float(scores[name]) for name in SCORES}
