"""Imports precomputed embeddings as a finished run without a model."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.custom_datasets import PREFIX
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import stratified_subset
from dmlviz.data.columns import FILE, columns_note, write_columns
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.runs.per_query import keep_per_query
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import Run
from dmlviz.runs.run_recorder import RunRecorder
from dmlviz.runs.store import Runs
from dmlviz.training.events import Finished, Started

if TYPE_CHECKING:
    import pyarrow

MAX_SCORED = 20_000  # embeddings


def import_embeddings(runs: Runs, vectors: LabeledEmbeddings, title: str, data: Path | None = None) -> Run:
    """Save embeddings as a run, with scores and further columns; equal embeddings are one run.

    Args:
        runs: The runs.
        vectors: Embeddings (n × d) with labels (n) and class names.
        title: Title of the run.
        data: Folder of the data sets, where the pictures of the rows go, if there are any.

    Returns:
        The finished run.

    Raises:
        UserError: For embeddings that no map can show.
    """
    from dmlviz import metrics
    from dmlviz.projection.validation import check_embeddings

    check_embeddings(vectors.embeddings)

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
    run = runs.create(config, title, vector=vectors.vector)
    rows = vectors.labeled_rows
    scores = metrics.evaluate(vectors.embeddings[rows], vectors.labels[rows]) if is_scored(vectors) else {}
    with RecordWriter(run) as writer:
        recorder = RunRecorder(writer, run, vectors.labels)
        indices = stratified_subset(vectors.labels, n)
        recorder.write(Started(steps=0, tracked_indices=indices, train_images=0, test_images=n, device="", threads=1))
        recorder.write(
            Finished(
                step=0, embeddings=vectors.embeddings, metrics=scores, net_weights={}, cpu_seconds=0.0, seconds=0.0
            )
        )
    if vectors.columns is not None and vectors.columns.num_columns:
        write_columns(vectors.columns, run.path / FILE)
    if vectors.images is not None and data is not None:
        none = {"train_images": vectors.images[:0], "train_labels": vectors.labels[:0]}
        parts = none | {"test_images": vectors.images, "test_labels": vectors.labels}
        custom_datasets.save(data, spec.name, spec.to_dict(), parts)
        DATASETS.add_search_path(data)
    if scores:
        keep_per_query(Run(run.path))
    return Run(run.path)


def is_scored(vectors: LabeledEmbeddings) -> bool:
    """Return whether scores are computed at the import: all pairs of very many rows take too long for that."""
    return vectors.comparable and len(vectors.embeddings) <= MAX_SCORED


def import_notes(vectors: LabeledEmbeddings) -> list[str]:
    """Return the report of an import: how the file was read, what is kept, and whether there are scores."""
    notes = [*vectors.notes, *columns_note([] if vectors.columns is None else vectors.columns.column_names)]
    if vectors.comparable and not is_scored(vectors):
        notes.append(f"Scores are computed up to {MAX_SCORED:,} embeddings.")
    return notes


def dataset_spec(vectors: LabeledEmbeddings, title: str) -> DatasetSpec:
    """Return the catalog entry of embeddings without images."""
    digest = hashlib.sha256("\0".join(vectors.classes).encode())
    digest.update(str(vectors.embeddings.shape).encode())
    digest.update(np.ascontiguousarray(vectors.embeddings).data)
    digest.update(np.ascontiguousarray(vectors.labels, np.int64).data)
    if vectors.columns is not None:
        digest.update(_content(vectors.columns))
    n, d = vectors.embeddings.shape
    images, pictures = vectors.images, ""
    if images is not None:
        digest.update(np.ascontiguousarray(images).data)
        pictures = "with pictures, "
    return DatasetSpec(
        name=PREFIX + digest.hexdigest()[:16],
        title=title,
        summary=f"Your own: {n:,} precomputed embeddings, {d}-d, {pictures}{vectors.class_count or 'without labels'}.",
        classes=vectors.classes,
        size=0 if images is None else images.shape[1],
        channels=3 if images is not None and images.ndim == 4 else 1,
        trainable=False,
        mean=0.0,
        std=1.0,
    )


def _content(columns: "pyarrow.Table") -> bytes:
    """Return the hash of names and values."""
    import pyarrow

    digest, sink = hashlib.sha256(), pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, columns.schema) as stream:
        stream.write_table(columns.combine_chunks())
    digest.update(sink.getvalue())
    return digest.digest()
