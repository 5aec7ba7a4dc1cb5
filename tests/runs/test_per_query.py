"""What a click on a score needs is kept with own vectors, so that nobody waits for it."""

import os

import numpy as np
import pytest

from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.recording.dataset import recorded_dataset
from dmlviz.recording.run_writer import RunPlan, RunWriter
from dmlviz.runs import per_query
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs

POINTS, LABELS = np.random.default_rng(0).normal(size=(60, 5)), np.arange(60) % 3
CLASSES = ("a", "b", "no label")


def imported(folder):
    return import_embeddings(Runs(folder), LabeledEmbeddings(POINTS, LABELS, CLASSES), "mine")


def recorded(folder):
    spec = recorded_dataset("mine", None, LABELS, CLASSES)
    with RunWriter(RunPlan(folder, "mine", "0" * 16, spec.to_dict()), LABELS, POINTS) as writer:
        writer.snapshot(3, POINTS)
        writer.end("", 1.0, 1.0)
    return Run(writer.run.path)


@pytest.mark.parametrize("make", [imported, recorded])
def test_the_first_click_computes_nothing_unless_the_vectors_are_newer(tmp_path, monkeypatch, make):
    run, computed = make(tmp_path), []
    monkeypatch.setattr(per_query, "_per_query", lambda *of: computed.append(of) or b"anew")
    kept = per_query.per_query_bytes(run, None)
    assert (computed, len(kept)) == ([], 40 * 28)
    assert np.frombuffer(kept, "<i4")[:40].tolist() == np.flatnonzero(LABELS < 2).tolist()
    os.utime(run.path / per_query.FILE, (0, 0))
    assert per_query.per_query_bytes(run, None) == b"anew"
    (run.path / per_query.FILE).write_bytes(kept[:-3])
    assert per_query.per_query_bytes(run, None) == b"anew"
