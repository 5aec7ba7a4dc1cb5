"""Vectors that were given ready, as a finished run without a net: to be drawn, searched and scored like any other."""

import hashlib

import numpy as np

from dmlviz.catalog.custom_datasets import PREFIX
from dmlviz.catalog.datasets import DATASETS, DatasetSpec
from dmlviz.config import TrainConfig
from dmlviz.data import stratified_subset
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.writer import RecordWriter, RunRecorder
from dmlviz.training.events import Finished, Started


def import_embeddings(runs: Runs, vectors: LabeledEmbeddings, title: str) -> Run:
    """Keep them in a runs folder, scored; the same vectors are the same run. Loads torch, for the scores."""
    from dmlviz import metrics

    n, d = vectors.embeddings.shape
    declared = dataset_spec(vectors, title)
    DATASETS.register(declared.to_dict())
    config = TrainConfig(
        dataset=declared.name,
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
    """What they are like: no images, and nothing to train on."""
    digest = hashlib.sha256("\0".join(vectors.classes).encode())
    digest.update(str(vectors.embeddings.shape).encode())
    digest.update(np.ascontiguousarray(vectors.embeddings).data)
    digest.update(np.ascontiguousarray(vectors.labels, np.int64).data)
    n, d = vectors.embeddings.shape
    return DatasetSpec(
        name=PREFIX + digest.hexdigest()[:16],
        title=title,
        summary=f"Your own: {n:,} vectors of {d} dimensions in {len(vectors.classes)} classes, given ready.",
        classes=vectors.classes,
        size=0,
        mean=0.0,
        std=1.0,
    )
