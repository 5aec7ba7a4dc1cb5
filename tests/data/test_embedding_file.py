"""Embeddings from every file format, and the errors of invalid files."""

import io

import numpy as np
import pyarrow
import pytest
from pyarrow import csv, parquet

from dmlviz.config import TrainConfig
from dmlviz.data.embedding_file import read_embeddings
from dmlviz.data.import_path import import_path
from dmlviz.errors import UserError

VECTORS = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
NAMES = np.array(["cat", "dog", "eel"])[np.arange(12) % 3]


def columns(**more):
    return {f"d{i}": VECTORS[:, i] for i in range(3)} | more


def npy(path):
    np.save(path / "v.npy", VECTORS)
    np.save(path / "labels.npy", np.arange(12) % 3)
    return path / "v.npy", path / "labels.npy"


def npz(path):
    np.savez(path / "v.npz", embeddings=VECTORS, y=NAMES)
    return (path / "v.npz",)


def csv_of(path):
    csv.write_csv(pyarrow.table({"Label": NAMES} | columns()), path / "v.csv")
    return (path / "v.csv",)


def headless(path):
    lines = [f"{name},{','.join(map(str, row))}" for name, row in zip(NAMES, VECTORS.tolist(), strict=True)]
    (path / "v.csv").write_text("\n".join(lines))
    return (path / "v.csv",)


def tabs_and_a_file(path):
    np.savetxt(path / "v.tsv", VECTORS, delimiter="\t", fmt="%.9g")
    (path / "names.csv").write_text("label\n" + "\n".join(NAMES))
    return path / "v.tsv", path / "names.csv"


def parquet_flat(path):
    parquet.write_table(pyarrow.table(columns(target=NAMES)), path / "v.parquet")
    return (path / "v.parquet",)


def parquet_lists(path):
    table = pyarrow.table({"id": np.arange(12), "vector": VECTORS.tolist(), "class": NAMES})
    parquet.write_table(table, path / "v.parquet")
    return (path / "v.parquet",)


@pytest.mark.parametrize("make", [npy, npz, csv_of, headless, tabs_and_a_file, parquet_flat, parquet_lists])
def test_every_file_format_gives_the_same_vectors(tmp_path, make):
    found = read_embeddings(*make(tmp_path))
    np.testing.assert_allclose(found.embeddings, VECTORS, rtol=1e-6)
    assert found.embeddings.dtype == np.float32
    assert found.labels.tolist() == (np.arange(12) % 3).tolist()
    assert found.classes == (("0", "1", "2") if make is npy else ("cat", "dog", "eel"))


LYING = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 999), }".ljust(127) + b"\n"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("v.npy", np.zeros(3), "n × d array of real numbers"),
        ("v.npy", np.zeros((3, 0)), "n × d array of real numbers"),
        ("v.npy", np.array([["a"]]), "n × d array of real numbers"),
        ("v.npy", np.array([[1.0, np.nan]] * 4), "4 rows of v.npy hold NaN"),
        ("v.npy", np.zeros((250_001, 2), np.int8), "up to 250,000 vectors"),
        ("v.npy", np.zeros((2, 5000), np.int8), "up to 4,096 dimensions"),
        ("v.npy", np.zeros((5, 2)), "one label; labels.txt has 4 lines or rows for 5 vectors"),
        ("v.npy", LYING, "could not be read as npy"),
        ("v.npy", b"hello", "could not be read as npy"),
        ("v.npz", b"PK\x03\x04", "could not be read as npz"),
        ("v.parquet", b"PAR1xxxxPAR1", "could not be read as parquet"),
        ("v.csv", b"", "v.csv is empty"),
        ("v.csv", b"word\nhello\nyou\n", "has columns of numbers; those of v.csv are word"),
        ("v.csv", b"a,b\n1,2\n,3\na,b\n4,5\n", "Row 3 of column a is no number: 'a'"),
        ("v.csv", "a,b\n1,2\n1,\u22123\n".encode() + b"-,-\n", "Row 3 of column a is no number: '-'"),
        ("v.npy", np.array([[1.0, np.nan], *[[1.0, 2.0]] * 3]), r"1 row of v.npy holds NaN.* \(nan\): remove it"),
        ("v.npy", np.array([[1.0, 8e299]] * 4), r"4 rows of v.npy hold numbers beyond ±1e\+150, .* \(8e\+299\)"),
        ("v.npy", np.full((4, 2), 1j), "of real numbers; .* the real parts beside the imaginary ones"),
        ("v.xyz", b"", r"A file of vectors ends in \.npy"),
    ],
)
def test_an_invalid_file_of_embeddings_is_one_sentence(tmp_path, name, content, says):
    path, labels = tmp_path / name, tmp_path / "labels.txt"
    if isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        path.write_bytes(content)
    labels.write_text("a\nb\na\nb\n")
    with pytest.raises(UserError, match=says) as caught:
        read_embeddings(path, labels)
    assert "\n" not in str(caught.value)


def test_a_pickle_is_never_loaded(tmp_path):
    file = io.BytesIO()
    np.save(file, np.array([{"a": print}], dtype=object), allow_pickle=True)
    (tmp_path / "v.npy").write_bytes(file.getvalue())
    with pytest.raises(UserError, match="could not be read"):
        read_embeddings(tmp_path / "v.npy")


def test_vectors_without_labels_are_of_one_class(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS)
    read = read_embeddings(tmp_path / "v.npy")
    assert not read.labeled
    assert read.classes == ("no label",)
    assert read.labels.tolist() == [0] * 12


def test_embeddings_cannot_be_trained_on(tmp_path):
    from dmlviz.catalog.datasets import DATASETS
    from dmlviz.runs.import_embeddings import dataset_spec

    declared = dataset_spec(read_embeddings(*npz(tmp_path)), "Mine")
    DATASETS.register(declared.to_dict())
    with pytest.raises(UserError, match="cannot be trained on"):
        TrainConfig(dataset=declared.name)
    assert TrainConfig(dataset=declared.name, steps=0).steps == 0


@pytest.mark.parametrize(
    "names", [("arr_0", "arr_1"), ("data", "target"), ("train_embeddings", "train_labels"), ("f", "id")]
)
def test_arrays_of_any_name_are_told_by_their_shapes(tmp_path, names):
    np.savez(tmp_path / "v.npz", **dict(zip(names, (VECTORS, NAMES), strict=True)))
    read = import_path(tmp_path / "v.npz")
    np.testing.assert_array_equal(read.embeddings, VECTORS)
    assert [read.classes[label] for label in read.labels] == NAMES.tolist()
    np.savez(tmp_path / "v.npz", f=VECTORS, files=[f"{i}.png" for i in range(12)])
    assert not import_path(tmp_path / "v.npz").labeled
    np.savez(tmp_path / "v.npz", f=VECTORS, g=VECTORS, label=NAMES)
    with pytest.raises(UserError, match=r"one array of n × d numbers, or one called vectors; v.npz has f \(12, 3\), g"):
        import_path(tmp_path / "v.npz")


@pytest.mark.parametrize("made", ["gray", "share", "color", "torch", "one channel"])
def test_an_array_of_images_with_labels_is_a_data_set(tmp_path, made):
    images = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), np.uint8)
    images[:, 0, 0], images[0, 1, 1] = np.arange(40)[:, None], 255
    gray = images[..., 0]
    given = {"gray": gray, "share": gray / 255, "color": images, "torch": images.transpose(0, 3, 1, 2)}
    np.savez(tmp_path / "i.npz", imgs=given.get(made, gray[..., None]), ids=[["cat", "dog"][i % 2] for i in range(40)])
    read = import_path(tmp_path / "i.npz")
    assert (read.declared.classes, len(read.parts["test_images"])) == (("cat", "dog"), 8)
    expected = images if made in ("color", "torch") else gray
    for image, label in zip(read.parts["train_images"], read.parts["train_labels"], strict=True):
        row = int(image.ravel()[0])
        np.testing.assert_array_equal(image, expected[row])
        assert label == row % 2
    np.savez(tmp_path / "i.npz", imgs=gray / 255 - 0.5, ids=np.arange(40) % 2)
    with pytest.raises(UserError, match=r"Pixels are 0 to 255, or 0 to 1; imgs of i.npz has -0.5 to"):
        import_path(tmp_path / "i.npz")
    for kind in (bool, np.uint8, np.float32):  # black and white
        np.savez(tmp_path / "i.npz", imgs=(gray > 127).astype(kind), ids=np.arange(40) % 2)
        assert {*np.unique(import_path(tmp_path / "i.npz").parts["train_images"]).tolist()} == {0, 255}
