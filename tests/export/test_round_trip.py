"""What dmlviz writes it reads again: the same points, labels and names, in every format that holds them."""

import io
import zipfile
from pathlib import Path

import faiss
import numpy as np
import pyarrow as pa
import pytest
from dmlviz_app.answers.table_rows import rows_as_csv, with_classes
from typer.testing import CliRunner

from dmlviz.cli.project import app as project_app
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.data.import_path import import_path
from dmlviz.data.table_file import Choice
from dmlviz.export import FORMATS, RunExport, save
from dmlviz.metrics.distance_histograms import distance_histogram
from dmlviz.runs.add_data import add_data
from dmlviz.runs.archive import export_run, import_run
from dmlviz.runs.store import Runs

N = 32
VECTORS = np.random.default_rng(0).normal(size=(N, 12)).astype(np.float32)
NAMES = {
    "words": ["cat", "dog", "eel", "fox"],
    "codes": ["1", "01", "1e5", "1.10"],
    "flags": ["True", "NA", "nan", "None"],
    "formulas": ["=1+1", "-x", "@a", "+b"],
    "quotes": ['say "hi"', '"quoted"', "it's", "'single'"],
    "marks": ["a,b", "a;b", "a|b", "# a"],
    "scripts": ["日本", "עברית", "ä ö", "<b>&amp;</b>"],
    "long": [f"{'x' * 300}{i}" for i in range(4)],
    "bools": [True, False, True, None],
    "missing": ["cat", "dog", "eel", None],
}
HELD = ("csv", "parquet", "projector")  # formats that hold points and classes of images


@pytest.fixture(scope="module", params=NAMES)
def kept(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    labels = [NAMES[request.param][i % 4] for i in range(N)]
    table = pa.table({"vector": VECTORS.tolist(), "label": labels, "price": np.arange(N) + 0.5})
    run = add_data(table, title="t", runs=folder, report=lambda line: None)
    return RunExport(run)


def read(path, **how):
    imported = import_path(path, **how)
    assert isinstance(imported, LabeledEmbeddings)
    return imported


def names_of(imported):
    return [imported.classes[label] for label in imported.labels]


def expected(kept):
    return [kept.classes[label] for label in kept.labels]


def test_formats_that_hold_points_are_all_tried():
    others = "python command html faiss figures film gif svg pdf png weights onnx thresholds report"
    assert set(FORMATS) - set(HELD) <= {*others.split()}


@pytest.mark.parametrize("name", HELD)
def test_an_export_is_read_again(kept, tmp_path, name):
    path = save(name, kept, tmp_path / f"x.{'zip' if name == 'projector' else name}")
    found = read(path)
    np.testing.assert_array_equal(found.embeddings, kept.coordinates if name == "csv" else VECTORS)
    assert names_of(found) == expected(kept)


def test_files_for_the_projector_are_read_unpacked_or_one_by_one(kept, tmp_path):
    with zipfile.ZipFile(save("projector", kept, tmp_path / "x.zip")) as archive:
        archive.extractall(tmp_path / "x")
    for path, labels in ((tmp_path / "x", None), (tmp_path / "x/vectors.tsv", tmp_path / "x/metadata.tsv")):
        found = read(path, labels=labels)
        np.testing.assert_array_equal(found.embeddings, VECTORS)
        assert names_of(found) == expected(kept)
        assert found.columns.column_names == ["image", "nearest"]


def test_an_archive_of_the_run_is_read_again(kept, tmp_path):
    file = io.BytesIO()
    export_run(kept.run, file)
    file.seek(0)
    copy = RunExport(import_run(file, Runs(tmp_path / "runs", tmp_path / "none")))
    np.testing.assert_array_equal(copy.embeddings, VECTORS)
    assert expected(copy) == expected(kept)
    assert copy.run.columns.equals(kept.run.columns)


def test_the_rows_of_a_table_are_read_again(kept, tmp_path):
    table = with_classes(kept.run, kept.run.columns)
    table = table.append_column("d0", pa.array(VECTORS[:, 0])).append_column("d1", pa.array(VECTORS[:, 1]))
    (tmp_path / "rows.csv").write_bytes(rows_as_csv(table, np.arange(N)))
    found = read(tmp_path / "rows.csv")
    np.testing.assert_array_equal(found.embeddings, VECTORS[:, :2])
    assert names_of(found) == expected(kept)


def test_arrays_are_read_again(kept, tmp_path):
    names = np.array(expected(kept))
    np.savez(tmp_path / "x.npz", vectors=VECTORS, labels=names)
    assert names_of(read(tmp_path / "x.npz")) == expected(kept)
    np.save(tmp_path / "v.npy", VECTORS)
    np.save(tmp_path / "labels.npy", names[:, None])
    assert names_of(read(tmp_path / "v.npy", labels=tmp_path / "labels.npy")) == expected(kept)


@pytest.mark.slow
def test_a_projected_file_is_read_again(kept, tmp_path):
    np.savez(tmp_path / "x.npz", vectors=VECTORS, labels=np.array(expected(kept)))
    done = CliRunner().invoke(
        project_app, [str(tmp_path / "x.npz"), "--csv", str(tmp_path / "out.csv"), "--method", "pca"]
    )
    assert done.exit_code == 0, done.output
    found = read(tmp_path / "out.csv")
    assert found.embeddings.shape == (N, 2)
    assert names_of(found) == expected(kept)


def test_labels_that_stand_for_none_are_named(tmp_path):
    np.savez(tmp_path / "x.npz", vectors=VECTORS, labels=np.array(["a", "?"] * (N // 2)))
    assert read(tmp_path / "x.npz", choice=Choice(missing=("?",))).classes == ("a", "no label")


@pytest.fixture(scope="module")
def far_off(tmp_path_factory):
    """A run of vectors that float32 does not hold, and the vectors."""
    vectors = VECTORS.astype(np.float64) + 1e9
    folder = tmp_path_factory.mktemp("far")
    table = pa.table({"vector": vectors.tolist(), "label": np.arange(N) % 4})
    run = add_data(table, title="far", runs=folder, report=lambda line: None)
    return RunExport(run), vectors


def tensorboard_vectors(export, folder):
    from dmlviz.export.trackers.tensorboard_run import log

    (path,) = Path(log(export, str(folder))).rglob("tensors.tsv")
    return np.loadtxt(path)


def faiss_vectors(export, folder):
    index = faiss.read_index(str(save("faiss", export, folder / "far.faiss")))
    return faiss.downcast_index(index.index).reconstruct_n(0, N)


FILES = {
    "parquet": lambda export, folder: read(save("parquet", export, folder / "far.parquet")).embeddings,
    "projector": lambda export, folder: read(save("projector", export, folder / "far.zip")).embeddings,
    "faiss": faiss_vectors,
    "tensorboard": tensorboard_vectors,
}


@pytest.mark.parametrize("read_vectors", FILES.values(), ids=FILES)
def test_neighbors_in_a_file_are_those_of_the_run_at_any_offset(read_vectors, far_off, tmp_path):
    export, vectors = far_off
    found = read_vectors(export, tmp_path).astype(np.float64)
    near = np.square(found[:, None] - found).sum(axis=2).argsort(axis=1)[:, 1:6]
    own = np.square(vectors[:, None] - vectors).sum(axis=2).argsort(axis=1)[:, 1:6]
    assert (near == own).all()
    assert (near == export.neighbors[1][:, :5]).all()


def test_a_query_and_a_histogram_are_as_exact_as_the_run_at_any_offset(far_off):
    export, vectors = far_off
    found = [export.run.neighbors_of_point(vector, 1)[0] for vector in vectors]
    assert [(one.item, one.distance) for one in found] == [(i, 0) for i in range(N)]
    labels = np.arange(N) % 4
    far, near = distance_histogram(vectors, labels), distance_histogram(vectors - 1e9, labels)
    assert (far.same == near.same).all()
    np.testing.assert_allclose(far.edges, near.edges, rtol=1e-6)
