"""The state of a training, and what is done with it: train on a batch, embed, score."""

import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dmlviz import losses, metrics, miners, nets
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, Split, stratified_subset
from dmlviz.errors import UserError
from dmlviz.losses.base import Loss
from dmlviz.metrics.probes import MAX_PROBED, probe_scores
from dmlviz.miners.offline import OfflineHard
from dmlviz.miners.tuples import Pairs, Triplets, tuples_within
from dmlviz.nets.fine_tuned import FineTunedNet, fine_tuned, forward_chunk, trained_state
from dmlviz.nets.models import BeforeNeck, BNNeck, freeze_batch_norm, projection_head
from dmlviz.ops import dots
from dmlviz.ops.ball import in_ball
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.ops.reductions import masked_mean
from dmlviz.ops.squared_distances import granted_threads
from dmlviz.ops.stopping import stop_check
from dmlviz.training import sampling
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.batch_recorder import BatchRecorder
from dmlviz.training.labeled_images import Augmentation, LabeledImages
from dmlviz.training.memory import CrossBatchMemory
from dmlviz.training.optimizers import Precision, build_optimizer, build_schedule
from dmlviz.training.refresh import NeedsTrainEmbeddings, refresh_in_chunks
from dmlviz.training.validation_loss import NAME as HEAD_ACCURACY
from dmlviz.training.validation_loss import fixed_tuples, head_accuracy
from dmlviz.training.validation_split import TrainingSplit, split_training_images


@dataclass(frozen=True)
class StepStats:
    """The result of one batch: loss, active share, mean distances within and between classes, images, and terms."""

    loss: float
    active: float
    positive_distance: float
    negative_distance: float
    images: int
    terms: float


@torch.no_grad()
def batch_stats(batch: LabeledBatch, value: Tensor, loss: Loss) -> dict[str, Tensor]:
    """Return the numbers of `StepStats` that are known once the loss has been called, as scalars."""
    distances = batch.distances("euclidean")
    return {
        "loss": value.detach(),
        "active": loss.active,
        "positive_distance": masked_mean(distances, batch.same_class & batch.off_diagonal),
        "negative_distance": masked_mean(distances, ~batch.same_class),
        "terms": loss.num_terms,
    }


class Trainer:
    """The state of a training: data on the device, net, loss, miner, optimizer, batches."""

    def __init__(
        self, config: TrainConfig, data: Dataset, device: torch.device, split: TrainingSplit | None = None
    ) -> None:
        self.config = config
        self.device = device
        split = split or split_training_images(config, data.train.labels)
        as_bytes = config.unfrozen_blocks > 0
        given = LabeledImages(data.train, data, device, as_bytes)
        self.train_images, self.validation_images = given.select(split.train), given.select(split.validation)
        self.scored = np.searchsorted(split.validation, split.scored)  # of the validation images, at each snapshot
        self.train_scored = np.searchsorted(split.train, split.train_scored)  # of the training images, now and then
        self.fixed_tuples = fixed_tuples(config, self.validation_images.labels[self.scored])
        self.test_images = LabeledImages(data.test, data, device, as_bytes)
        self.grid_images = None
        if DATASETS[config.dataset].of_points:
            corners = dots.draw_dots(dots.grid())
            self.grid_images = LabeledImages(Split(corners, np.zeros(len(corners), np.int64)), data, device)
        self.batches = sampling.build(config, self.train_images.labels, config.seed)
        # Renumbered from 0, so that a loss has weights for the training classes only.
        self.labels = torch.from_numpy(np.searchsorted(config.train_classes, self.train_images.labels)).to(device)
        self.second_labels = self._second_labels(config, data.train, split.train)
        self.augmentation = self._augmentation(config)
        self.classes = np.array(config.train_classes)
        self.precision = Precision(device, config.mixed_precision)
        net = self._untrained_net(config, data)
        self.net = net.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.frozen = freeze_batch_norm(self.net) if config.frozen_batch_norm else []
        # The trained module: the net, with a projection head the loss's way to the embeddings.
        self.trained: nn.Module = self.net
        if config.projection_dim:
            head = projection_head(config.embedding_dim, config.projection_dim, config.seed)
            self.trained = nn.Sequential(self.net, head.to(device))
        self.neck = next((layer for layer in self.net.modules() if isinstance(layer, BNNeck)), None)
        # What a loss on images sees.
        self.seen = self.trained if self.neck is None else BeforeNeck(self.net, self.neck)
        build = partial(
            losses.build,
            config.loss,
            num_classes=len(config.train_classes),
            num_second_classes=None if self.second_labels is None else int(self.second_labels.max()) + 1,
            seed=config.seed,
            **config.loss_params,
        )
        self.loss: Loss = build(embedding_dim=config.loss_dim).to(device)
        self.loss.curvature = config.ball
        # The same loss for each prefix (Kusupati et al. 2022): all count alike, and have weights of their own.
        self.of_prefixes: list[Loss] = [build(embedding_dim=length).to(device) for length in config.prefixes]
        self.miner = miners.build(config.miner, seed=config.seed, **config.miner_params) if config.miner else None
        self.memory = CrossBatchMemory(config.memory, config.steps, config.ball) if config.memory else None
        unfrozen = self.net.unfrozen if isinstance(self.net, FineTunedNet) else ()
        self.optimizer = build_optimizer(config, self.trained, nn.ModuleList([self.loss, *self.of_prefixes]), unfrozen)
        self.schedule = build_schedule(config, self.optimizer, len(self.train_images))
        self.steps_per_epoch = config.steps_of_epoch(len(self.train_images))
        parts: list[object] = [*self.loss.modules(), self.miner, self.batches]
        self.refreshable = [part for part in parts if isinstance(part, NeedsTrainEmbeddings)]
        self.refreshing: list[Iterator[None]] = []
        # With the inputs of its batch, and what its gradients are multiplied with.
        self.recorder: tuple[BatchRecorder, Tensor, float] | None = None

    @staticmethod
    def _untrained_net(config: TrainConfig, data: Dataset) -> nn.Module:
        if config.unfrozen_blocks:
            return fine_tuned(config, config.seed)
        features = DATASETS[config.dataset].features
        return nets.build(
            config.net,
            **config.embedding,
            channels=data.channels,
            size=data.size,
            of_points=DATASETS[config.dataset].of_points,
            features=None if features is None else features.dimensions,
            seed=config.seed,
        )

    def _second_labels(self, config: TrainConfig, train: Split, rows: np.ndarray) -> Tensor | None:
        """Return the second labels of the training images, numbered from 0, if the config wants some."""
        if not config.second_labels:
            return None
        if config.second_labels not in train.roles:
            raise UserError(
                f"The images of {config.dataset} came without {config.second_labels}: use no second_labels."
            )
        _, numbers = np.unique(train.roles[config.second_labels][rows], return_inverse=True)
        return torch.from_numpy(numbers).to(self.device)

    @staticmethod
    def _augmentation(config: TrainConfig) -> Augmentation | None:
        if not config.augmentation:
            return None
        background = float(DATASETS[config.dataset].dark_on_light)
        return Augmentation(config.augmentation, background=background, seed=config.seed)

    def train_step(self, step: int, record: bool = False) -> StepStats:
        """Train on one batch; skip the update if the loss is not finite.

        Args:
            step: The number of the batch, from 1.
            record: Whether `record_batch` follows.
        """
        self._refresh(step)
        rows = next(self.batches)
        if isinstance(self.miner, OfflineHard):
            rows = self.miner.extend_batch(rows)
        indices = torch.from_numpy(rows).to(self.device).repeat(self.config.views)
        self.trained.train()
        for layer in self.frozen:
            layer.eval()
        pixels = None
        if self.augmentation is None:
            inputs = self.train_images[indices]
        else:
            inputs, pixels = self.train_images.augment(indices, self.augmentation)
        # Without labels each image is a class of its own, of which its views are the members.
        labels = self.labels[indices] if self.config.use_labels else indices
        with self.precision.autocast():
            embeddings = self.trained(inputs)
        batch = LabeledBatch(embeddings.float(), labels, curvature=self.config.ball)
        if self.second_labels is not None:
            batch.add_labels(self.second_labels[indices])
        seen = batch
        if self.neck is not None and self.neck.entered is not None:
            seen = batch.before_neck(self.neck.entered)
        compared = seen if self.memory is None else self.memory.beside(seen.embeddings, labels, indices)
        if batch.entered is not None:
            batch.entered, compared = compared, batch
        mined = compared.entered or compared
        tuples = self.miner.mine(mined) if self.miner is not None else self._sampled(batch.labels)
        loss = self.loss.compute(compared, tuples)
        shortened = [compared.prefix(length, self.config.normalize) for length in self.config.prefixes]
        for short, of_prefix in zip(shortened, self.of_prefixes, strict=True):
            loss = loss + of_prefix.compute(short, tuples)
        loss = loss / (1 + len(shortened)) if shortened else loss
        stats = torch.stack([each.float() for each in batch_stats(batch, loss, self.loss).values()])
        value, active, within, between, terms = stats.tolist()
        self.recorder = None
        if record:
            drawn = tuples_within(tuples, len(batch))
            recorder = BatchRecorder(indices, self.labels[indices], seen.embeddings, drawn, self.loss, pixels)
            self.recorder = recorder, inputs, self.precision.gradient_scale
        if math.isfinite(value) and self.precision.update(loss, self.optimizer):
            self.loss.after_step(batch)
            for short, of_prefix in zip(shortened, self.of_prefixes, strict=True):
                of_prefix.after_step(short)
            if self.memory is not None:
                self.memory.keep(step, seen.embeddings, labels, indices)
            self.schedule.step()
        return StepStats(value, active, within, between, len(batch), terms)

    def record_batch(self, step: int, stats: StepStats) -> BatchRecord | None:
        """Return the record of the last step, if it was trained with `record`; None if a value is not finite."""
        if self.recorder is None:
            return None
        (recorder, inputs, scale), self.recorder = self.recorder, None
        with self.precision.autocast():
            batch = recorder.finish(step, stats.loss, stats.active, self.seen, inputs, scale)
        # Back to the indices and class IDs of the data set.
        return batch and replace(batch, images=self.train_images.rows[batch.images], labels=self.classes[batch.labels])

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
        """Return a copy of the net's weights by name; of a backbone those that are trained."""
        return {name: value.cpu().numpy().copy() for name, value in trained_state(self.net).items()}

    def weight_bytes(self) -> int:
        """Return the bytes of the weights of net and loss."""
        net, loss = trained_state(self.net).values(), self.loss_weights().values()
        return sum(value.nbytes for value in net) + sum(value.nbytes for value in loss)

    def embed(self, images: LabeledImages, indices: np.ndarray | None = None, exact: bool = False) -> np.ndarray:
        """Return embeddings (n × d, float32) of images; looks for a stop as it goes.

        Args:
            images: The images.
            indices: Their indices; None for all.
            exact: Whether the net computes with 32 bits in mixed precision, too, as it does later with a new picture.
        """
        selected = torch.arange(len(images)) if indices is None else torch.from_numpy(indices)
        chunks = selected.to(self.device).split(forward_chunk(self.net, self.device))
        # Chunks for each thread, not threads within an operation, which wait for each other where cores are busy.
        threads = granted_threads() if self.device.type == "cpu" else 1
        check = stop_check()

        def embed_unless_stopped(part: Tensor) -> Tensor:
            check()
            return self._embed_images(images[part], exact).cpu()

        if threads == 1:
            parts = [embed_unless_stopped(part) for part in chunks]
        else:
            with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                parts = [*pool.map(embed_unless_stopped, chunks)]
        return in_ball(torch.cat(parts).numpy(), self.config.ball)

    def loss_weights(self) -> dict[str, np.ndarray]:
        """Return a copy of the loss's learned weights by name; empty for most losses."""
        return {name: value.detach().float().cpu().numpy().copy() for name, value in self.loss.named_parameters()}

    def centers(self) -> np.ndarray | None:
        """Return the class centers that the loss learns (k × d), if it has any."""
        centers = self.loss.class_centers()
        return None if centers is None else centers.cpu().numpy()

    def grid(self) -> np.ndarray | None:
        """Return embeddings of a grid of the plane, where the images are its points."""
        return None if self.grid_images is None else self.embed(self.grid_images)

    @torch.no_grad()
    def _embed_images(self, images: Tensor, exact: bool = False) -> Tensor:
        self.net.eval()
        with nullcontext() if exact else self.precision.autocast():
            embeddings: Tensor = self.net(images)
        return embeddings.float()

    def scores(self, embeddings: np.ndarray, labels: np.ndarray, **parts: Any) -> dict[str, float]:
        """Compute the metrics of embedded images, with held-out classes also of seen and unseen ones.

        Args:
            embeddings: Embeddings (n × d).
            labels: Class IDs (n).
            **parts: Options of `metrics.evaluate` that leave out slow parts.
        """
        scores = metrics.evaluate(embeddings, labels, unseen=self.config.held_out_classes, **parts)
        accuracy = head_accuracy(self.config, embeddings, labels, self.loss_weights())
        if accuracy is not None:
            scores[HEAD_ACCURACY] = accuracy
            if self.config.held_out_classes:
                scores[f"seen/{HEAD_ACCURACY}"] = accuracy
        return scores

    @torch.no_grad()
    def validation_loss(self, embeddings: np.ndarray | None = None) -> float | None:
        """Return the loss on the fixed tuples; None where there are none, or where it is not finite.

        Args:
            embeddings: Embeddings of the validation images that snapshots score (n × d), if they are known.
        """
        fixed = self.fixed_tuples
        if fixed is None:
            return None
        embeddings = self.embed(self.validation_images, self.scored) if embeddings is None else embeddings
        seen = torch.from_numpy(embeddings[fixed.rows]).to(self.device)
        if isinstance(self.trained, nn.Sequential):  # with a projection head
            seen = self.trained.eval()[1](seen)
        tuples = None if fixed.tuples is None else type(fixed.tuples)(*(part.to(self.device) for part in fixed.tuples))
        batch = LabeledBatch(seen, fixed.labels.to(self.device), curvature=self.config.ball)
        value = float(self.loss.compute(batch, tuples))
        return value if math.isfinite(value) else None

    def probe_scores(self, embeddings: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        """Return what kNN and a linear probe make of embedded images, by embeddings of training images.

        No training image is of a held-out class, so that images of these are left out, and each score is also one of
        the seen classes.

        Args:
            embeddings: Embeddings (n × d) of images to classify.
            labels: Their class IDs (n).
        """
        known = np.isin(labels, self.config.train_classes)
        train, validation = (self._probed(images) for images in (self.train_images, self.validation_images))
        assert train is not None
        scores = probe_scores(embeddings[known], labels[known], train, validation)
        return scores | ({f"seen/{key}": scores[key] for key in scores} if self.config.held_out_classes else {})

    def _probed(self, images: LabeledImages) -> tuple[np.ndarray, np.ndarray] | None:
        """Return embeddings and labels of some images, of each class in proportion; None where there are none."""
        rows = stratified_subset(images.labels, MAX_PROBED)
        return (self.embed(images, rows), images.labels[rows]) if len(rows) else None

    def _embed_training_images(self, rows: slice) -> Tensor:
        size = forward_chunk(self.net, self.device) if isinstance(self.net, FineTunedNet) else rows.stop - rows.start
        starts = range(rows.start, rows.stop, size)
        parts = [self.train_images[start : min(start + size, rows.stop)] for start in starts]
        return torch.cat([self._embed_images(part) for part in parts])

    def _refresh(self, step: int) -> None:
        """Embed the training set for the components that need it: at once before step 1, later one chunk per step."""
        for part in self.refreshable:
            if (step - 1) % (part.every * self.steps_per_epoch) == 0:
                chunks = refresh_in_chunks(part, self._embed_training_images, self.labels)
                if step == 1:
                    deque(chunks, maxlen=0)
                else:
                    self.refreshing.append(chunks)
        self.refreshing = [chunks for chunks in self.refreshing if next(chunks, chunks) is None]
