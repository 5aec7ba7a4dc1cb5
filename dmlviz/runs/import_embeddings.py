"""Imports precomputed embeddings as a finished run without a model."""

import hashlib

import numpy as np

from dmlviz.catalog.custom_datasets import PREFIX
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import stratified_subset
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import Run
from dmlviz.runs.run_recorder import RunRecorder
from dmlviz.runs.store import Runs
from dmlviz.training.events import Finished, Started


def import_embeddings(runs: Runs, vectors: LabeledEmbeddings, title: str) -> Run:
    """Save embeddings as a run, with scores; equal embeddings are one run. Imports torch, for the scores.

    Args:
        runs: the runs.
        vectors: embeddings (n × d) with labels (n) and class names.
        title: title of the run.

    Returns:
        The finished run.
    """
    from dmlviz import metrics

    n, d = vectors.embeddings.shape
    spec = dataset_spec(vectors, title)
    DATASETS.register(spec.to_dict())
    config = TrainConfig(
        dataset=spec.name,
        loss="triplet",
        miner=None,
        embedding_dim=d,
        normalize=False,
        steps=0,
        eval_subset_size=max(2, n),
    )
    run = runs.create(config, title)
    scores = metrics.evaluate(vectors.embeddings, vectors.labels)
    with RecordWriter(run) as writer:
        recorder = RunRecorder(writer, run, vectors.labels)
        tracked = stratified_subset(vectors.labels, n)
        recorder.write(Started(steps=0, tracked_indices=tracked, train_images=0, test_images=n, device="", threads=1))
        recorder.write(
            Finished(
                step=0, embeddings=vectors.embeddings, metrics=scores, net_weights={}, cpu_seconds=0.0, seconds=0.0
            )
        )
    return Run(run.path)


def dataset_spec(vectors: LabeledEmbeddings, title: str) -> DatasetSpec:
    """Return the catalog entry of embeddings without images."""
    digest = hashlib.sha256("\0".join(vectors.classes).encode())
    digest.update(str(vectors.embeddings.shape).encode())
    digest.update(np.ascontiguousarray(vectors.embeddings).data)
    digest.update(np.ascontiguousarray(vectors.labels, np.int64).data)
    n, d = vectors.embeddings.shape
    return DatasetSpec(
        name=PREFIX + digest.hexdigest()[:16],
        title=title,
        summary=f"Your own: {n:,} precomputed embeddings, {d}-d, {len(vectors.classes)} classes.",
        classes=vectors.classes,
        size=0,
        trainable=False,
        mean=0.0,
        std=1.0,
    )
