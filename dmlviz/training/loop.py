"""The training loop: `train(config)` yields events. No files, no threads."""

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dmlviz import losses
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, data_root, load, stratified_subset
from dmlviz.data.corrections import as_trained
from dmlviz.errors import UserError
from dmlviz.metrics.probes import PROBES
from dmlviz.ops.stopping import WorkStoppedError, stoppable
from dmlviz.ops.torch_state import default_device
from dmlviz.training.batch_record import recorded_steps
from dmlviz.training.events import Embedded, Event, Failed, Finished, Snapshot, Started, Step, Stopped, Stopping
from dmlviz.training.iterator import Training
from dmlviz.training.labeled_images import LabeledImages
from dmlviz.training.trainer import Trainer
from dmlviz.training.validation_split import TrainingSplit, misfit_among, split_training_images

STOPPED_BY_USER = "stopped by hand"
TRAIN_SCORES_EVERY = 5  # snapshots: the scores of training images change little from one to the next
QUICK = {"clustering": False, "full_ranking": False, "verification": False}  # without the slow metrics


def train(
    config: TrainConfig,
    *,
    data: Dataset | None = None,
    device: str | torch.device | None = None,
    stop: Callable[[], bool] | None = None,
    root: Path | None = None,
) -> Training:
    """Train an embedding net and yield its events: Started, a Snapshot of the untrained net, Steps, Snapshots, an end.

    Some Steps are followed by a BatchRecord. The end is Finished, Stopped (by `stop` or by max_seconds, after a
    Stopping) or Failed (the training diverged; the last Snapshot has the last finite embeddings). Finished and Stopped
    come after an Embedded with all test images, so that no Snapshot repeats their step; stopped while these are scored,
    the Stopping follows the Embedded. Closing the iterator stops the training. In a notebook, it shows itself as a live
    map.

    Snapshots are scored on validation images, which are held out of the training images. Test images are scored
    once, at the end; without validation images (`Started.validation_images` is 0) snapshots score test images.

    On the CPU, equal configs give bit-identical results, for the same machine and number of threads.

    Args:
        config: The settings.
        data: The data set; loaded by name when None.
        device: A torch device; by default a GPU if there is one.
        stop: Called between batches and between parts of the scores; True stops the training.
        root: Folder of the data sets and of their corrections; the default one when None.

    Returns:
        The events of `dmlviz.training.events`, in order: an iterator.

    Raises:
        UserError: If the config does not fit its data, e.g. too few images of a class.

    Examples:
        >>> config = TrainConfig(dataset="digits", net="mlp", steps=2, num_snapshots=1, eval_subset_size=50)
        >>> [type(event).__name__ for event in train(config)]
        ['Started', 'Snapshot', 'Step', 'BatchRecord', 'Step', 'BatchRecord', 'Embedded', 'Finished']
    """
    data = load(config.dataset, root) if data is None else data
    seen = as_trained(data, config, data_root(root))
    split = split_training_images(config, seen.train.labels)
    if said := misfit_among(config, seen.train.labels, split.train):
        raise UserError(said)
    return Training(_events(config, seen, split, device, stop), config, data)


def _events(
    config: TrainConfig,
    data: Dataset,
    split: TrainingSplit,
    device: str | torch.device | None,
    stop: Callable[[], bool] | None,
) -> Iterator[Event]:
    clock = _Clock()
    trainer = Trainer(config, data, torch.device(device) if device else default_device(), split)
    tracked = stratified_subset(data.test.labels, config.eval_subset_size)
    snapshots, recorded = set(snapshot_steps(config.steps, config.num_snapshots)), set(recorded_steps(config))
    with_train_scores = set(sorted(snapshots)[1::TRAIN_SCORES_EVERY])  # not of the untrained net: somebody waits for it
    trained = [parameter.numel() for parameter in trainer.net.parameters() if parameter.requires_grad]
    checkpoints = checkpoint_steps(sorted(snapshots), sum(trained))
    yield Started(
        steps=config.steps,
        tracked_indices=tracked,
        train_images=len(trainer.train_images),
        validation_images=len(trainer.validation_images),
        scored_indices=trainer.validation_images.rows[trainer.scored],
        test_images=len(data.test),
        device=str(trainer.device),
        precision=trainer.precision.name,
        threads=torch.get_num_threads(),
        validation_tuples=0 if trainer.fixed_tuples is None else trainer.fixed_tuples.count,
        tuple_kind="triplets" if trainer.fixed_tuples is None else trainer.fixed_tuples.kind,
        weight_bytes=trainer.weight_bytes(),
    )
    step, reason = 0, ""
    while True:
        if step in snapshots:
            try:
                with stoppable(stop if step else None):  # the untrained net is shown even so
                    snapshot = _snapshot(trainer, step, tracked, step in with_train_scores, step in checkpoints)
            except WorkStoppedError:
                reason = STOPPED_BY_USER
                break
            yield snapshot
            if isinstance(snapshot, Failed):
                return
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
        stats = trainer.train_step(step, record=step in recorded)
        if not math.isfinite(stats.loss):
            yield Failed(step=step, reason=_divergence_message(config, step, f"a loss of {stats.loss}"))
            return
        yield Step(
            step=step,
            loss=stats.loss,
            active=stats.active,
            positive_distance=stats.positive_distance,
            negative_distance=stats.negative_distance,
            images_per_second=stats.images / (time.perf_counter() - started),
            cpu_seconds=clock.cpu_seconds(),
            terms_per_image=stats.terms / max(1, stats.images),
        )
        if step in recorded:
            batch = trainer.record_batch(step, stats)
            if batch is not None:
                yield batch
    if reason:
        yield Stopping(step=step)
    try:
        with stoppable(stop if reason != STOPPED_BY_USER else None):
            embeddings = trainer.embed(trainer.test_images, exact=True)
    except WorkStoppedError:
        reason = STOPPED_BY_USER
        yield Stopping(step=step)
        embeddings = trainer.embed(trainer.test_images, exact=True)
    if not np.isfinite(embeddings).all():
        yield Failed(step=step, reason=_divergence_message(config, step, "NaN or infinite embeddings"))
        return
    embedded = Embedded(
        step=step,
        embeddings=embeddings,
        net_weights=trainer.weights(),
        loss_weights=trainer.loss_weights(),
        centers=trainer.centers(),
        grid=trainer.grid(),
    )
    yield embedded
    try:
        with stoppable(stop if reason != STOPPED_BY_USER else None):
            scores = _final_scores(trainer, embeddings, None if reason != STOPPED_BY_USER else tracked)
    except WorkStoppedError:
        reason = STOPPED_BY_USER
        yield Stopping(step=step)
        scores = _final_scores(trainer, embeddings, tracked)
    end = Stopped if reason else Finished
    yield end(
        step=step,
        embeddings=embeddings,
        **scores,
        net_weights=embedded.net_weights,
        loss_weights=embedded.loss_weights,
        cpu_seconds=clock.cpu_seconds(),
        seconds=clock.seconds(),
        centers=embedded.centers,
        grid=embedded.grid,
        reason=reason,
    )


def _snapshot(
    trainer: Trainer, step: int, tracked: np.ndarray, with_train_scores: bool, with_weights: bool
) -> Snapshot | Failed:
    """Embed the tracked test images and score the net; Failed where an embedding is not finite."""
    embeddings = trainer.embed(trainer.test_images, tracked)
    if not np.isfinite(embeddings).all():
        return Failed(step=step, reason=_divergence_message(trainer.config, step, "NaN or infinite embeddings"))
    scores, validation_loss = {}, None
    if len(trainer.scored):
        validation = trainer.embed(trainer.validation_images, trainer.scored)
        scores = trainer.scores(validation, trainer.validation_images.labels[trainer.scored], **QUICK)
        validation_loss = trainer.validation_loss(validation)
    train = (trainer.train_images, trainer.train_scored)
    return Snapshot(
        step=step,
        embeddings=embeddings,
        metrics=scores or trainer.scores(embeddings, trainer.test_images.labels[tracked], **QUICK),
        train_metrics=_scores_of(trainer, *train) if with_train_scores else {},
        centers=trainer.centers(),
        grid=trainer.grid(),
        net_weights=trainer.weights() if with_weights else None,
        read_weights=None if with_weights else trainer.weights,
        validation_loss=validation_loss,
    )


def _final_scores(trainer: Trainer, embeddings: np.ndarray, rows: np.ndarray | None) -> dict[str, Any]:
    """Score the test images, validation images and training images at the end.

    After Stop a user waits: only the test images at `rows` search all others then, no more validation images are scored
    than at a snapshot, and the slowest metrics, which no page shows, are left out: `dmlviz evaluate` computes them. The
    probes of a training without labels embed all training images, so that they are NaN after Stop.
    """
    labels, in_full = trainer.test_images.labels, rows is None
    scores = trainer.scores(embeddings, labels, full_ranking=in_full, verification=in_full, rows=rows)
    if not trainer.config.use_labels:  # what was learned without labels is read out with labels
        scores |= trainer.probe_scores(embeddings, labels) if in_full else dict.fromkeys(PROBES, math.nan)
    return {
        "metrics": scores,
        "validation_loss": trainer.validation_loss(),
        "validation_metrics": _scores_of(trainer, trainer.validation_images, None if in_full else trainer.scored),
        "train_metrics": _scores_of(trainer, trainer.train_images, trainer.train_scored),
    }


def _scores_of(trainer: Trainer, images: LabeledImages, indices: np.ndarray | None = None) -> dict[str, float]:
    """Return the scores of the images at `indices`, or of all; empty without images."""
    labels = images.labels if indices is None else images.labels[indices]
    return trainer.scores(trainer.embed(images, indices), labels, **QUICK) if len(labels) else {}


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


def _divergence_message(config: TrainConfig, step: int, symptom: str) -> str:
    caveat = losses.LOSSES[config.loss].caveat
    advice = caveat or f"try a smaller learning rate than {config.learning_rate:g}, or normalize=true."
    return f"The training diverged: step {step:,} gave {symptom}. " + advice[0].upper() + advice[1:]


class _Clock:
    """Wall and processor time in seconds since its creation."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def seconds(self) -> float:
        return time.perf_counter() - self._wall

    def cpu_seconds(self) -> float:
        return time.process_time() - self._cpu
