"""Trains an embedding net and says what happens: `train(config)` is an iterator of events. No files, no threads."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dmlviz import losses, metrics, miners, nets
from dmlviz.catalog.datasets import SAMPLERS
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, Split, load, stratified_subset
from dmlviz.miners.offline import OfflineHard
from dmlviz.miners.tuples import Pairs, Triplets
from dmlviz.ops.pairwise import distance_matrix
from dmlviz.ops.pairwise_cache import cache_pairwise
from dmlviz.ops.reductions import masked_mean
from dmlviz.training import sampling
from dmlviz.training.batch_record import BatchRecord, recorded_steps
from dmlviz.training.batch_recorder import BatchRecorder
from dmlviz.training.events import Event, Failed, Finished, Snapshot, Started, Step, Stopped
from dmlviz.training.optimizers import build_optimizer, build_schedule
from dmlviz.training.refresh import NeedsTrainEmbeddings, refresh_in_chunks

EMBED_CHUNK = 100  # images embedded at once: their feature maps stay in the cache
STOPPED_BY_USER = "stopped by hand"


def train(
    config: TrainConfig,
    *,
    data: Dataset | None = None,
    device: str | torch.device | None = None,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Event]:
    """Yield what happens while `config` is trained: Started, the untrained Snapshot, then Steps and Snapshots, an end.

    A few Steps are followed by a SeenBatch.
    The end is Finished, Stopped (by `stop()`, asked between batches, or by max_seconds) or Failed (diverged: the last
    Snapshot holds the last good embeddings); the first two hold every test image, so no Snapshot repeats that step.
    Closing the iterator ends the training at once. `data` is loaded when not given; `device` is a GPU where there is
    one. On the CPU, equal configs give equal numbers to the last bit, for the same machine and number of threads.
    Raises UserError for a config that does not go with its data.
    """
    data = load(config.dataset) if data is None else data
    clock = _Clock()
    job = _TrainingLoop(config, data, torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu")))
    tracked = stratified_subset(data.test.labels, config.eval_subset_size)
    planned, recorded = set(snapshot_steps(config.steps, config.num_snapshots)), set(recorded_steps(config))
    kept = checkpoint_steps(sorted(planned), sum(parameter.numel() for parameter in job.net.parameters()))
    yield Started(
        steps=config.steps,
        tracked_indices=tracked,
        train_images=len(job.labels),
        test_images=len(data.test),
        device=str(job.device),
        threads=torch.get_num_threads(),
    )
    step, reason = 0, ""
    while True:
        if step in planned:
            embeddings = job.embed(tracked)
            if not np.isfinite(embeddings).all():
                yield Failed(step=step, reason=_divergence_message(config, step, "an embedding that is no number"))
                return
            scores = job.scores(embeddings, tracked, clustering=False, full_ranking=False, verification=False)
            weights = job.weights() if step in kept else None
            centers = job.centers()
            yield Snapshot(step=step, embeddings=embeddings, metrics=scores, class_centers=centers, net_weights=weights)
        if step == config.steps:
            break
        if stop is not None and stop():
            reason = STOPPED_BY_USER
            break
        if config.max_seconds is not None and clock.seconds() >= config.max_seconds:
            reason = f"max_seconds = {config.max_seconds:g} reached"
            break
        started = time.perf_counter()
        step += 1
        report = job.train_step(step, watch=step in recorded)
        if not math.isfinite(report.loss):
            yield Failed(step=step, reason=_divergence_message(config, step, f"a loss of {report.loss}"))
            return
        yield Step(
            step=step,
            loss=report.loss,
            active_fraction=report.active,
            positive_distance=report.positive_distance,
            negative_distance=report.negative_distance,
            images_per_second=report.images / (time.perf_counter() - started),
            cpu_seconds=clock.cpu_seconds(),
        )
        if step in recorded:
            seen = job.record_batch(step, report)
            if seen is not None:
                yield seen
    embeddings = job.embed()
    if not np.isfinite(embeddings).all():
        yield Failed(step=step, reason=_divergence_message(config, step, "an embedding that is no number"))
        return
    end = Stopped if reason else Finished
    waited_for = reason == STOPPED_BY_USER
    yield end(
        step=step,
        embeddings=embeddings,
        # Somebody who pressed Stop waits: what takes longest, and what no page shows, is left to `dmlviz evaluate`.
        metrics=job.scores(embeddings, full_ranking=not waited_for, verification=not waited_for),
        net_weights=job.weights(),
        cpu_seconds=clock.cpu_seconds(),
        seconds=clock.seconds(),
        class_centers=job.centers(),
        reason=reason,
    )


def snapshot_steps(steps: int, snapshots: int) -> list[int]:
    """Return after which of `steps` batches to look: at 0 and up to `snapshots` times, denser at the start.

    The last step is left out: there the end of the training shows all test images.
    """
    planned = {round(steps * (i / snapshots) ** 1.5) for i in range(snapshots)}
    return sorted(planned - {steps})


MAX_CHECKPOINTS = 12  # kept on the way of one training
MAX_CHECKPOINT_VALUES = 2_000_000  # of all of them together: 4 MB as float16
MIN_CHECKPOINTS = 4  # fewer are no way


def checkpoint_steps(steps: list[int], parameters: int) -> set[int]:
    """Return at which of the snapshots, spread evenly among them, a net of so many parameters is kept: maybe none."""
    count = min(MAX_CHECKPOINTS, MAX_CHECKPOINT_VALUES // max(1, parameters), len(steps))
    if count < MIN_CHECKPOINTS:
        return set()
    return {steps[i] for i in np.linspace(0, len(steps), count, endpoint=False).astype(int)}


def warm_up() -> None:
    """Do once what a process does slowly the first time: imports, the optimizer, the kernels for the usual batch."""
    rng = np.random.default_rng(0)
    config = TrainConfig(dataset="mnist", steps=2, num_snapshots=2, eval_subset_size=200)
    images = rng.integers(0, 256, (2 * config.effective_batch_size, 28, 28)).astype(np.uint8)
    split = Split(images, np.arange(len(images)) % 10)
    data = Dataset("mnist", tuple("0123456789"), split, split, 0.13, 0.31)
    for _ in train(config, data=data):
        pass


@dataclass(frozen=True)
class _StepStats:
    loss: float
    active: float
    positive_distance: float
    negative_distance: float
    images: int


class _TrainingLoop:
    """Everything that a training holds: data on the device, net, loss, miner, optimizer, batches."""

    def __init__(self, config: TrainConfig, data: Dataset, device: torch.device) -> None:
        self.config = config
        self.device = device
        split = data.train.select_classes(config.train_classes).first(config.max_train_images)
        self.batches = sampling.build(config, split.labels, config.seed)
        self.train_images = _Images(split.images, data, device)
        self.test_images = _Images(data.test.images, data, device)
        self.test_labels = data.test.labels
        # Numbered anew from 0, so that a loss has weights for the classes that it sees and for no other.
        self.labels = torch.from_numpy(np.searchsorted(config.train_classes, split.labels)).to(device)
        self.classes = np.array(config.train_classes)
        self.rows = np.flatnonzero(np.isin(data.train.labels, self.classes))
        net = nets.build(
            config.net,
            embedding_dim=config.embedding_dim,
            normalize=config.normalize,
            channels=data.channels,
            size=data.size,
            seed=config.seed,
        )
        self.net = net.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        loss = losses.build(
            config.loss,
            embedding_dim=config.embedding_dim,
            num_classes=len(config.train_classes),
            seed=config.seed,
            **config.loss_params,
        )
        self.loss = loss.to(device)
        self.miner = miners.build(config.miner, seed=config.seed, **config.miner_params) if config.miner else None
        self.optimizer = build_optimizer(config, self.net, self.loss)
        self.schedule = build_schedule(config, self.optimizer)
        self.epoch = max(1, len(split) // config.effective_batch_size)
        parts: list[object] = [*self.loss.modules(), self.miner]
        self.refreshed = [part for part in parts if isinstance(part, NeedsTrainEmbeddings)]
        self.refreshing: list[Iterator[None]] = []
        self.witness: BatchRecorder | None = None

    def train_step(self, step: int, watch: bool = False) -> _StepStats:
        """Train on one batch, the `step`-th counted from 1; leave the weights alone when the loss is no number.

        A step that is tracked can be asked for what was `seen`.
        """
        self._refresh(step)
        batch = next(self.batches)
        if isinstance(self.miner, OfflineHard):
            batch = self.miner.extend_batch(batch)
        indices = torch.from_numpy(batch).to(self.device)
        labels = self.labels[indices]
        self.net.train()
        with cache_pairwise():
            embeddings = self.net(self.train_images[indices])
            tuples = self.miner(embeddings, labels) if self.miner is not None else self._sampled(labels)
            loss = self.loss(embeddings, labels, tuples)
            with torch.no_grad():
                distances = distance_matrix(embeddings)
                same = labels[:, None] == labels
                others = ~torch.eye(len(labels), dtype=torch.bool, device=self.device)
                between = masked_mean(distances, ~same)
                within = masked_mean(distances, same & others)
                value, active, within, between = torch.stack(
                    [loss.detach().float(), self.loss.active.float(), within.float(), between.float()]
                ).tolist()
            self.witness = BatchRecorder(indices, labels, embeddings, tuples, self.loss) if watch else None
            if math.isfinite(value):
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.schedule.step()
        return _StepStats(value, active, within, between, len(labels))

    def record_batch(self, step: int, report: _StepStats) -> BatchRecord | None:
        """What the loss saw of the step that was tracked; None where a number in it is not finite."""
        witness, self.witness = self.witness, None
        if witness is None:
            return None
        batch = witness.finish(step, report.loss, report.active, self.net, self.train_images[witness.images])
        # The data set's own numbers again, for whoever shows its images and classes.
        return batch and replace(batch, images=self.rows[batch.images], labels=self.classes[batch.labels])

    def _sampled(self, labels: Tensor) -> Pairs | Triplets | None:
        """The pairs or triplets that the batch was put together from, row by row; None where it was not."""
        makes = SAMPLERS[self.config.sampler].tuple_kind
        rows = torch.arange(len(labels), device=self.device)
        if makes == "pairs":
            a, b = rows[0::2], rows[1::2]
            same = labels[a] == labels[b]
            return Pairs(a[same], b[same], a[~same], b[~same])
        return Triplets(rows[0::3], rows[1::3], rows[2::3]) if makes == "triplets" else None

    def weights(self) -> dict[str, np.ndarray]:
        """Return a copy of the net's weights by name."""
        return {name: value.cpu().numpy().copy() for name, value in self.net.state_dict().items()}

    def embed(self, indices: np.ndarray | None = None) -> np.ndarray:
        """Return the embeddings (n × d, float32) of the test images at `indices`, of all of them when None."""
        chosen = torch.arange(len(self.test_images)) if indices is None else torch.from_numpy(indices)
        parts = [self._embedded(self.test_images[part]).cpu() for part in chosen.to(self.device).split(EMBED_CHUNK)]
        return torch.cat(parts).numpy()

    def centers(self) -> np.ndarray | None:
        """The class centers that the loss owns (k × d), if it owns any."""
        centers = self.loss.class_centers()
        return None if centers is None else centers.cpu().numpy()

    @torch.no_grad()
    def _embedded(self, images: Tensor) -> Tensor:
        self.net.eval()
        return self.net(images).float()

    def scores(self, embeddings: np.ndarray, indices: np.ndarray | None = None, **parts: Any) -> dict[str, float]:
        """Score the embedded test images at `indices`, or all; apart, too, where there are unseen classes.

        `parts` turns off parts of `metrics.evaluate` that take long.
        """
        labels = self.test_labels if indices is None else self.test_labels[indices]
        return metrics.evaluate(embeddings, labels, unseen=self.config.held_out_classes, **parts)

    def _refresh(self, step: int) -> None:
        """Show the training set to who asked for it: before the first batch at once, later a chunk a batch."""
        for part in self.refreshed:
            if (step - 1) % (part.every * self.epoch) == 0:
                chunks = refresh_in_chunks(part, lambda rows: self._embedded(self.train_images[rows]), self.labels)
                if step == 1:
                    deque(chunks, maxlen=0)
                else:
                    self.refreshing.append(chunks)
        self.refreshing = [chunks for chunks in self.refreshing if next(chunks, chunks) is None]


class _Images:
    """uint8 images on the device, normalized as they are taken out: `images[indices]` is float, n × c × h × w."""

    def __init__(self, images: np.ndarray, data: Dataset, device: torch.device) -> None:
        shape = (len(images), *images.shape[1:3], data.channels)
        self.pixels = torch.from_numpy(images).reshape(shape).to(device)
        self.mean = 255 * data.mean
        self.std = 255 * data.std

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, indices: Tensor | slice) -> Tensor:
        # Stored as n × h × w × c, the permuted view is channels_last already: nothing is copied twice.
        return self.pixels[indices].float().sub_(self.mean).div_(self.std).permute(0, 3, 1, 2)


def _divergence_message(config: TrainConfig, step: int, what: str) -> str:
    lesson = losses.LOSSES[config.loss].caveat
    advice = lesson or f"try a smaller learning rate than {config.learning_rate:g}, or normalize=true."
    return f"The training diverged: step {step} gave {what}. " + advice[0].upper() + advice[1:]


class _Clock:
    """Wall and processor time of this process since it was made."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def seconds(self) -> float:
        return time.perf_counter() - self._wall

    def cpu_seconds(self) -> float:
        return time.process_time() - self._cpu
