"""Payload of a recorded batch: arrays, positions on the run's map, and tiles."""

import hashlib
import io
from base64 import b64encode
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from dmlviz import data
from dmlviz.catalog.class_scores import prototypes
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.config import TrainConfig
from dmlviz.data.class_names import short_names
from dmlviz.data.sprite_sheet import COMPRESSION, tile
from dmlviz.errors import UserError
from dmlviz.ops.linear_projection import LinearProjection, default_projection
from dmlviz.runs import thresholds
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.tuple_difficulty import ComparingLoss, classify_tuples
from dmlviz_app.batch_explorer.protocol import BatchAnswer, ClassCenters
from dmlviz_app.server.protocol import ROUTES

COLUMNS = 20  # tiles in a row of a batch's sheet


def batch_payload(run: Run, step: int) -> BatchAnswer:
    """Build the payload of a recorded batch; raise RunNotFoundError where the run has none at that step."""
    batch = run.batch(step)
    # Behind a projection head, and before a BNNeck, lies another space than that of the run's map.
    head = run.config.projection_dim > 0 or run.config.bn_neck
    basis = default_projection(batch.embeddings_before, batch.labels) if head else projection_for(run, step)
    answer = to_json(batch, run.config, basis)
    answer["final"] = (run.path / "basis.npz").exists()
    answer["sheet"] = {
        "urls": [f"{ROUTES}/runs/{run.id}/batches/{step}.png"],
        "tile": DATASETS[run.config.dataset].size,
        "columns": COLUMNS,
        "per_sheet": 4096,
    }
    return answer


def to_json(batch: BatchRecord, config: TrainConfig, basis: LinearProjection) -> BatchAnswer:
    """Encode a batch and its tuples as JSON types; arrays are base64, row-major.

    Args:
        batch: The recorded batch.
        config: The config of its run.
        basis: The projection by which it is drawn.

    Returns:
        The answer, without what `batch_payload` adds.

    Raises:
        UserError: If its classes or loss weights are not those of the config.
    """
    if not np.isin(batch.labels, config.train_classes).all():
        raise UserError(f"The batch of step {batch.step} holds classes that its run was not trained on.")
    comparing_loss = ComparingLoss.from_config(config, batch)
    if not _weights_match(comparing_loss, batch, config):
        raise UserError(f"The batch of step {batch.step} holds weights of another loss than its run's.")
    tuples = classify_tuples(config, batch)
    positions = basis.project(batch.embeddings_before)[:, :2]
    return {
        "step": batch.step,
        "loss": batch.loss,
        "active": batch.active,
        "mean_of": _reduction(config),
        "labels": batch.labels.tolist(),
        "images": batch.images.tolist(),
        "copy_of": None if config.use_labels else np.unique(batch.images, return_inverse=True)[1].tolist(),
        "seen": "head" if config.projection_dim else "neck" if config.bn_neck else "",
        "classes": list(short_names(DATASETS[config.dataset].classes)),
        "before": encode_array(batch.embeddings_before, "<f4"),
        "places": encode_array(positions, "<f4"),
        "moved": encode_array(basis.project(batch.embeddings_after)[:, :2], "<f4"),
        "push": encode_array(-(batch.gradient @ basis.components[:2].T), "<f4"),
        "force": encode_array(np.linalg.norm(batch.gradient, axis=1), "<f4"),
        "origin": basis.project(np.zeros((1, batch.embeddings_before.shape[1])))[0, :2].tolist(),
        "view": basis.kind,
        "normalize": config.normalize and not (config.projection_dim or config.bn_neck),
        "curvature": config.ball,
        "thresholds": tuples.thresholds,
        "tuples": {
            "kind": tuples.kind,
            "by": tuples.source,
            "rows": encode_array(tuples.indices, "<i2"),
            "hardness": encode_array(tuples.difficulty, "u1"),
            "counts": list(tuples.counts),
        },
        "selected_by": _selection(config),
        "anchored": batch.is_anchored,
        "centers": _class_centers(comparing_loss, batch, basis, config.train_classes),
        "loss_of": {
            "name": comparing_loss.name,
            "title": LOSSES[comparing_loss.name].title,
            "formula": LOSSES[comparing_loss.name].formula,
            "summary": LOSSES[comparing_loss.name].summary,
            "params": dict(comparing_loss.params),
        },
    }


def projection_for(run: Run, step: int) -> LinearProjection:
    """Return the run's linear projection; while it trains, that of the last snapshot up to `step`."""
    projection = run.linear_projection
    if projection is not None:
        return projection
    steps = [snapshot_step for snapshot_step in run.snapshot_steps if snapshot_step <= step]
    labels, indices = run.labels, run.tracked_indices
    if not steps or labels is None or indices is None:
        raise RunNotFoundError(f"Run {run.id} has no picture of step {step:,} yet.")
    return default_projection(run.snapshot(steps[-1]), np.asarray(labels)[indices])


def batch_sheet(data_root: Path, run: str, step: int) -> dict[str, str]:
    """Return the sprite sheet of a batch's training images, with `COLUMNS` images per row, as a PNG in base 64.

    Raise UserError if the data set does not have these images.
    """
    file, asked = io.BytesIO(), Run(run)
    images = _pictures(asked, asked.batch(step), data_root)
    Image.fromarray(tile(images, COLUMNS)).save(file, "PNG", compress_level=COMPRESSION)
    return {"png": b64encode(file.getvalue()).decode()}


def threshold(data_root: Path, run: str, rate: float) -> dict[str, object]:
    """Return the threshold of a run for a rate of false accepts; raise UserError as `dmlviz.runs.thresholds`."""
    return asdict(thresholds.threshold(Run(run), rate, data_root))


def sheet_name(run: Run, step: int) -> str:
    """Return where in the cache the sprite sheet of a batch is kept; raise UserError for a batch that there is not."""
    return _sheet(run, run.batch(step))


def _pictures(run: Run, batch: BatchRecord, root: Path) -> np.ndarray:
    """Return the pictures that the net saw: those of the batch where they were augmented, else of the data set."""
    if run.config.augmentation:
        if batch.pixels is None or batch.pixels.shape[1] != DATASETS[run.config.dataset].size:
            raise UserError(f"The batches of {run.title} do not hold the augmented pictures that they should hold.")
        return batch.pixels
    images = _training_images(run.config.dataset, root)
    if batch.images.max() >= len(images):
        raise UserError(f"The batches of {run.title} hold images that {run.config.dataset} here does not have.")
    return np.asarray(images[batch.images])


@lru_cache(maxsize=1)  # a batch is asked for at each snapshot of a training
def _training_images(dataset: str, root: Path) -> np.ndarray:
    return data.load(dataset, root).train.images


def _weights_match(comparing_loss: ComparingLoss, batch: BatchRecord, config: TrainConfig) -> bool:
    """Return whether the loss's own weights are as many and as long as its run says."""
    classes, d = len(config.train_classes), config.embedding_dim
    rows = classes * int(comparing_loss.params.get("centers", 1))
    shapes: dict[str, tuple[int, ...]] = {"weight": (rows, d), "centers": (classes, d)}
    if "weight" in comparing_loss.learned:  # without one the bias is a single number
        shapes["bias"] = (classes,)
    return all(values.shape == shapes.get(name, values.shape) for name, values in comparing_loss.learned.items())


def _sheet(run: Run, batch: BatchRecord) -> str:
    pixels = batch.images.tobytes() if batch.pixels is None else batch.pixels.tobytes()
    name = hashlib.sha256(pixels).hexdigest()[:16]
    return f"{run.config.dataset}-batches/{name}.png"


def encode_array(values: np.ndarray, kind: str) -> str:
    """Encode an array, row-major, as base64."""
    return b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()


def _class_centers(
    comparing_loss: ComparingLoss, batch: BatchRecord, basis: LinearProjection, classes: tuple[int, ...]
) -> ClassCenters | None:
    """Return the center of each class: learned weights (scaled to the images' mean length), centers, or means."""
    representation = comparing_loss.spec.class_centers
    meaning: Literal["mean", "center", "weight"]
    if representation == "means":
        means = list(prototypes(batch.embeddings_before, batch.labels, comparing_loss.params.get("support")))
        labels, vectors = [label for label, _ in means], np.array([center for _, center in means])
        meaning = "mean"
    elif representation == "points" and "centers" in comparing_loss.learned:
        vectors, meaning = comparing_loss.learned["centers"], "center"
        labels = list(classes)
    elif representation and "weight" in comparing_loss.learned:
        weight, meaning = comparing_loss.learned["weight"], "weight"
        length = float(np.linalg.norm(batch.embeddings_before, axis=1).mean())
        vectors = weight * (length / np.maximum(np.linalg.norm(weight, axis=1, keepdims=True), 1e-30))
        labels = [classes[row * len(classes) // len(weight)] for row in range(len(weight))]
    else:
        return None
    return {"labels": labels, "places": encode_array(basis.project(vectors)[:, :2], "<f4"), "meaning": meaning}


def _selection(config: TrainConfig) -> str | None:
    """Title of the miner, or of the sampler that pairs images."""
    if config.miner is not None:
        return MINERS[config.miner].title
    sampler = SAMPLERS[config.sampler]
    return sampler.title if sampler.tuple_kind else None


def _reduction(config: TrainConfig) -> str:
    return str(config.loss_params.get("reduction", "mean"))
