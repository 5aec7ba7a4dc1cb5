"""The training loop: `train(config)` yields events. No files, no threads."""

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
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.ops.reductions import masked_mean
from dmlviz.training import sampling
from dmlviz.training.batch_record import BatchRecord, recorded_steps
from dmlviz.training.batch_recorder import BatchRecorder
from dmlviz.training.events import Event, Failed, Finished, Snapshot, Started, Step, Stopped
from dmlviz.training.optimizers import build_optimizer, build_schedule
from dmlviz.training.refresh import NeedsTrainEmbeddings, refresh_in_chunks

EMBED_CHUNK = 100  # images per forward pass: their feature maps fit into the processor's cache
STOPPED_BY_USER = "stopped by hand"


def train(
    config: TrainConfig,
    *,
    data: Dataset | None = None,
    device: str | torch.device | None = None,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Event]:
    """Train an embedding net and yield its events: Started, a Snapshot of the untrained net, Steps, Snapshots, an end.

    Some Steps are followed by a BatchRecord. The end is Finished, Stopped (by `stop` or by max_seconds) or Failed (the
    training diverged; the last Snapshot has the last finite embeddings). Finished and Stopped have embeddings of all
    test images, so that no Snapshot repeats their step. Closing the iterator stops the training.

    On the CPU, equal configs give bit-identical results, for the same machine and number of threads.

    Args:
        config: the settings.
        data: the data set; loaded by name when None.
        device: a torch device; by default a GPU if there is one.
        stop: called between batches; True stops the training.

    Yields:
        The events of `dmlviz.training.events`, in order.

    Raises:
        UserError: if the config does not fit its data, e.g. too few images of a class.

    Example:
        >>> config = TrainConfig(dataset="digits", net="mlp", steps=2, num_snapshots=1, eval_subset_size=50)
        >>> [type(event).__name__ for event in train(config)]
        ['Started', 'Snapshot', 'Step', 'BatchRecord', 'Step', 'BatchRecord', 'Finished']
    """
    data = load(config.dataset) if data is None else data
    clock = _Clock()
    loop = _TrainingLoop(config, data, torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu")))
    tracked = stratified_subset(data.test.labels, config.eval_subset_size)
    snapshots, recorded = set(snapshot_steps(config.steps, config.num_snapshots)), set(recorded_steps(config))
    checkpoints = checkpoint_steps(sorted(snapshots), sum(parameter.numel() for parameter in loop.net.parameters()))
    yield Started(
        steps=config.steps,
        tracked_indices=tracked,
        train_images=len(loop.labels),
        test_images=len(data.test),
        device=str(loop.device),
        threads=torch.get_num_threads(),
    )
    step, reason = 0, ""
    while True:
        if step in snapshots:
            embeddings = loop.embed(tracked)
            if not np.isfinite(embeddings).all():
                yield Failed(step=step, reason=_divergence_message(config, step, "NaN or infinite embeddings"))
                return
            scores = loop.scores(embeddings, tracked, clustering=False, full_ranking=False, verification=False)
            weights = loop.weights() if step in checkpoints else None
            centers = loop.centers()
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
        stats = loop.train_step(step, record=step in recorded)
        if not math.isfinite(stats.loss):
            yield Failed(step=step, reason=_divergence_message(config, step, f"a loss of {stats.loss}"))
            return
        yield Step(
            step=step,
            loss=stats.loss,
            active_fraction=stats.active,
            positive_distance=stats.positive_distance,
            negative_distance=stats.negative_distance,
            images_per_second=stats.images / (time.perf_counter() - started),
            cpu_seconds=clock.cpu_seconds(),
        )
        if step in recorded:
            batch = loop.record_batch(step, stats)
            if batch is not None:
                yield batch
    embeddings = loop.embed()
    if not np.isfinite(embeddings).all():
        yield Failed(step=step, reason=_divergence_message(config, step, "NaN or infinite embeddings"))
        return
    end = Stopped if reason else Finished
    stopped_by_user = reason == STOPPED_BY_USER
    yield end(
        step=step,
        embeddings=embeddings,
        # After Stop a user waits: skip the slowest metrics, which no page shows; `dmlviz evaluate` computes them.
        metrics=loop.scores(embeddings, full_ranking=not stopped_by_user, verification=not stopped_by_user),
        net_weights=loop.weights(),
        cpu_seconds=clock.cpu_seconds(),
        seconds=clock.seconds(),
        class_centers=loop.centers(),
        reason=reason,
    )


def snapshot_steps(steps: int, snapshots: int) -> list[int]:
    """Return the steps of the snapshots: up to `snapshots` of 0 … steps - 1, denser at the start.

    Without the last step: the final event embeds all test images.
    """
    return sorted({round(steps * (i / snapshots) ** 1.5) for i in range(snapshots)} - {steps})


MAX_CHECKPOINTS = 12  # of one training
MAX_CHECKPOINT_VALUES = 2_000_000  # in all checkpoints of a training: 4 MB as float16
MIN_CHECKPOINTS = 4  # fewer make no trajectory


def checkpoint_steps(steps: list[int], parameters: int) -> set[int]:
    """Return the snapshot steps that also save the net, evenly spread; none for a net with too many parameters."""
    count = min(MAX_CHECKPOINTS, MAX_CHECKPOINT_VALUES // max(1, parameters), len(steps))
    if count < MIN_CHECKPOINTS:
        return set()
    return {steps[i] for i in np.linspace(0, len(steps), count, endpoint=False).astype(int)}


def warm_up() -> None:
    """Run a two-step training, so that the next one starts fast: imports, optimizer, kernels for the default batch."""
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
    """The state of a training: data on the device, net, loss, miner, optimizer, batches."""

    def __init__(self, config: TrainConfig, data: Dataset, device: torch.device) -> None:
        self.config = config
        self.device = device
        split = data.train.select_classes(config.train_classes).first(config.max_train_images)
        self.batches = sampling.build(config, split.labels, config.seed)
        self.train_images = _Images(split.images, data, device)
        self.test_images = _Images(data.test.images, data, device)
        self.test_labels = data.test.labels
        # Renumbered from 0, so that a loss has weights for the training classes only.
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
        self.steps_per_epoch = max(1, len(split) // config.effective_batch_size)
        parts: list[object] = [*self.loss.modules(), self.miner]
        self.refreshable = [part for part in parts if isinstance(part, NeedsTrainEmbeddings)]
        self.refreshing: list[Iterator[None]] = []
        self.recorder: BatchRecorder | None = None

    def train_step(self, step: int, record: bool = False) -> _StepStats:
        """Train on one batch; skip the update if the loss is not finite.

        Args:
            step: the number of the batch, from 1.
            record: whether `record_batch` follows.
        """
        self._refresh(step)
        rows = next(self.batches)
        if isinstance(self.miner, OfflineHard):
            rows = self.miner.extend_batch(rows)
        indices = torch.from_numpy(rows).to(self.device)
        self.net.train()
        batch = LabeledBatch(self.net(self.train_images[indices]), self.labels[indices])
        tuples = self.miner.mine(batch) if self.miner is not None else self._sampled(batch.labels)
        loss = self.loss.compute(batch, tuples)
        with torch.no_grad():
            distances = batch.distances("euclidean")
            between = masked_mean(distances, ~batch.same_class)
            within = masked_mean(distances, batch.same_class & batch.off_diagonal)
            value, active, within, between = torch.stack(
                [loss.detach().float(), self.loss.active.float(), within.float(), between.float()]
            ).tolist()
        self.recorder = BatchRecorder(indices, batch.labels, batch.embeddings, tuples, self.loss) if record else None
        if math.isfinite(value):
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
        return _StepStats(value, active, within, between, len(batch))

    def record_batch(self, step: int, stats: _StepStats) -> BatchRecord | None:
        """Return the record of the last step, if it was trained with `record`; None if a value is not finite."""
        recorder, self.recorder = self.recorder, None
        if recorder is None:
            return None
        batch = recorder.finish(step, stats.loss, stats.active, self.net, self.train_images[recorder.images])
        # Back to the indices and class IDs of the data set.
        return batch and replace(batch, images=self.rows[batch.images], labels=self.classes[batch.labels])

    def _sampled(self, labels: Tensor) -> Pairs | Triplets | None:
        """Return the pairs or triplets that the sampler put into consecutive rows; None for other samplers."""
        tuple_kind = SAMPLERS[self.config.sampler].tuple_kind
        rows = torch.arange(len(labels), device=self.device)
        if tuple_kind == "pairs":
            a, b = rows[0::2], rows[1::2]
            same = labels[a] == labels[b]
            return Pairs(a[same], b[same], a[~same], b[~same])
        return Triplets(rows[0::3], rows[1::3], rows[2::3]) if tuple_kind == "triplets" else None

    def weights(self) -> dict[str, np.ndarray]:
        """Return a copy of the net's weights by name."""
        return {name: value.cpu().numpy().copy() for name, value in self.net.state_dict().items()}

    def embed(self, indices: np.ndarray | None = None) -> np.ndarray:
        """Return embeddings (n × d, float32) of the test images at `indices`, or of all."""
        selected = torch.arange(len(self.test_images)) if indices is None else torch.from_numpy(indices)
        parts = [
            self._embed_images(self.test_images[part]).cpu() for part in selected.to(self.device).split(EMBED_CHUNK)
        ]
        return torch.cat(parts).numpy()

    def centers(self) -> np.ndarray | None:
        """Return the class centers that the loss learns (k × d), if it has any."""
        centers = self.loss.class_centers()
        return None if centers is None else centers.cpu().numpy()

    @torch.no_grad()
    def _embed_images(self, images: Tensor) -> Tensor:
        self.net.eval()
        embeddings: Tensor = self.net(images).float()
        return embeddings

    def scores(self, embeddings: np.ndarray, indices: np.ndarray | None = None, **parts: Any) -> dict[str, float]:
        """Compute the metrics of embedded test images, with held-out classes also of seen and unseen ones.

        Args:
            embeddings: embeddings (n × d).
            indices: the test images (n); all when None.
            **parts: options of `metrics.evaluate` that leave out slow parts.
        """
        labels = self.test_labels if indices is None else self.test_labels[indices]
        return metrics.evaluate(embeddings, labels, unseen=self.config.held_out_classes, **parts)

    def _refresh(self, step: int) -> None:
        """Embed the training set for the components that need it: at once before step 1, later one chunk per step."""
        for part in self.refreshable:
            if (step - 1) % (part.every * self.steps_per_epoch) == 0:
                chunks = refresh_in_chunks(part, lambda rows: self._embed_images(self.train_images[rows]), self.labels)
                if step == 1:
                    deque(chunks, maxlen=0)
                else:
                    self.refreshing.append(chunks)
        self.refreshing = [chunks for chunks in self.refreshing if next(chunks, chunks) is None]


class _Images:
    """uint8 images on the device, normalized on access: `images[indices]` is float, n × c × h × w."""

    def __init__(self, images: np.ndarray, data: Dataset, device: torch.device) -> None:
        shape = (len(images), *images.shape[1:3], data.channels)
        self.pixels = torch.from_numpy(images).reshape(shape).to(device)
        self.mean = 255 * data.mean
        self.std = 255 * data.std

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, indices: Tensor | slice) -> Tensor:
        # Stored as n × h × w × c, so the permuted view is channels_last without a second copy.
        return self.pixels[indices].float().sub_(self.mean).div_(self.std).permute(0, 3, 1, 2)


def _divergence_message(config: TrainConfig, step: int, symptom: str) -> str:
    caveat = losses.LOSSES[config.loss].caveat
    advice = caveat or f"try a smaller learning rate than {config.learning_rate:g}, or normalize=true."
    return f"The training diverged: step {step} gave {symptom}. " + advice[0].upper() + advice[1:]


class _Clock:
    """Wall and processor time in seconds since its creation."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def seconds(self) -> float:
        return time.perf_counter() - self._wall

    def cpu_seconds(self) -> float:
        return time.process_time() - self._cpu
