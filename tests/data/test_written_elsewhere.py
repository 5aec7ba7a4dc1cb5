"""Tables and word vectors as other programs write them: read as they are, or refused with what to do."""

import json
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, orc
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from dmlviz.data.import_path import import_path
from dmlviz.data.table_file import Choice
from dmlviz.errors import UserError

VECTORS = np.random.default_rng(0).normal(size=(30, 4)).round(3).astype(np.float32)
FRAME = pd.DataFrame(VECTORS, columns=[f"e{i}" for i in range(4)]).assign(label=["01", "1", "cat"] * 10)
TABLE = pa.Table.from_pandas(FRAME)
ROWS = [{"embedding": row.tolist(), "label": label} for row, label in zip(VECTORS, FRAME.label, strict=True)]


def write_stream(path):
    with ipc.new_stream(path, TABLE.schema) as file:
        file.write_table(TABLE)


def write_arff(path):
    names = [f"@attribute 'e {i}' {kind}" for i, kind in enumerate(("REAL", "numeric", "Integer", "real"))]
    rows = [", ".join((*map(str, row.tolist()), f"'{label}'")) for row, label in zip(VECTORS, FRAME.label, strict=True)]
    path.write_text("\n".join(["% c", "@RELATION r", *names, "@attribute class {'01','1',cat}", "@DATA", *rows]))


def write_orange(path):
    head = pd.DataFrame([["c"] * 4 + ["d"], [""] * 4 + ["class"]], columns=FRAME.columns)
    pd.concat([head, FRAME.astype(str)]).to_csv(path, sep="\t", index=False)


WRONG = {
    "two labels.svm": b"1,2 1:.5\n0 1:.3\n",
    "sparse.arff": b"@relation r\n@attribute a real\n@attribute b {x}\n@data\n{0 1}\n",
}
WRITERS = {
    "a.tab": lambda path: FRAME.to_csv(path, sep="\t", index=False),
    "orange.tab": write_orange,
    "a.arff": write_arff,
    "a.feather": lambda path: feather.write_feather(FRAME, path),
    "file.arrow": lambda path: feather.write_feather(TABLE, path, compression="lz4"),
    "stream.arrow": write_stream,
    "a.orc": lambda path: orc.write_table(TABLE, path),
    **{f"{way}.json": partial(FRAME.to_json, orient=way) for way in "split records index columns values table".split()},
    "numbered.json": lambda path: FRAME.set_axis([*"0123", "label"], axis=1).to_json(path, orient="index"),
    "api.json": lambda path: path.write_text(json.dumps({"model": "m", "data": ROWS, "usage": {"tokens": 3}})),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_table_is_read_as_it_was_written(tmp_path, name):
    WRITERS[name](tmp_path / name)
    found = import_path(tmp_path / name)
    np.testing.assert_array_equal(found.embeddings, VECTORS)
    assert [found.classes[label] for label in found.labels] == FRAME.label.tolist()


@pytest.mark.parametrize("head", ["", "30 4\n"], ids=["GloVe", "word2vec"])
def test_word_vectors_have_words_which_may_hold_spaces(tmp_path, head):
    words = [f"at {i} ." for i in range(30)]
    lines = [
        f"{word if head else word.replace(' ', '_')} {' '.join(map(str, row))} \n"
        for word, row in zip(words, VECTORS, strict=True)
    ]
    (tmp_path / "w.vec").write_text(head + "".join(lines))
    found = import_path(tmp_path / "w.vec")
    np.testing.assert_array_equal(found.embeddings, VECTORS)
    assert found.columns["word"].to_pylist()[3].replace("_", " ") == "at 3 ."
    (tmp_path / "w.vec").write_text(head + "".join(lines[:5]) + "cut 0.1 0.2\n")
    with pytest.raises(UserError, match=f"line {6 + bool(head)} of w.vec"):
        import_path(tmp_path / "w.vec")


def test_sparse_rows_and_vectors_by_name_are_read(tmp_path):
    names = [f"{a}{b}" for a in "abcdef" for b in "vwxyz"]
    dump_svmlight_file(VECTORS, np.arange(30) % 3, str(tmp_path / "a.svm"), query_id=np.arange(30) // 5)
    (tmp_path / "a.json").write_text(json.dumps(dict(zip(names, VECTORS.tolist(), strict=True))))
    rows, named = import_path(tmp_path / "a.svm"), import_path(tmp_path / "a.json")
    np.testing.assert_array_equal((rows.embeddings, named.embeddings), (VECTORS, VECTORS))
    assert (rows.classes, rows.columns["qid"][7].as_py(), named.columns["name"][7].as_py()) == (
        ("0", "1", "2"),
        1,
        "bx",
    )


@pytest.mark.parametrize("mark", ["-999", "-9999", "?"])
@pytest.mark.parametrize("column", ["e1", "price"])
def test_what_stands_for_nothing_among_numbers_is_said_or_nothing(tmp_path, column, mark):
    frame = FRAME.assign(price=np.arange(30.0)).astype({column: object})
    frame.loc[[3, 7], column] = mark if mark == "?" else float(mark)
    frame.to_csv(tmp_path / "t.csv", index=False)
    if mark != "?":
        frame.astype({column: float}).to_parquet(tmp_path / "t.parquet")
        for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
            assert f"{mark} is a number in " in " ".join(import_path(path).notes)
    for path in tmp_path.iterdir():
        if column == "price":
            assert import_path(path, choice=Choice(missing=(mark,))).columns["price"].null_count == 2
        else:
            with pytest.raises(UserError, match="row 4, column e1"):
                import_path(path, choice=Choice(missing=(mark,)))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.pkl", "could run code"),
        ("a.pt", "tensor.float"),
        ("a.h5", "numpy.savez"),
        ("a.xlsx", "CSV UTF-8"),
        ("a.mat", "numpy.savez"),
        ("emnist-letters.mat", "gzip.zip"),
        ("data_batch_1", r"CIFAR's own files, save the arrays by numpy.savez"),
        ("a.sav", "write it as CSV"),
        ("two labels.svm", "row 1 of two labels.svm is '1,2 1:.5'"),
        ("sparse.arff", "row 1 is '{0 1}'"),
        ("two.zip", "two.zip holds in/inner.zip"),
        ("arrays.zip", "arrays.zip holds v.npy"),
        ("glove.txt", r"\.vec"),
        ("a.7z", "unpack it"),
        ("s.npz", "toarray"),
    ],
)
def test_what_is_not_read_is_refused_with_what_to_do(tmp_path, name, words):
    (tmp_path / name).write_bytes(WRONG.get(name, b"x"))
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr({"two.zip": "in/inner.zip", "arrays.zip": "v.npy"}[name], b"x")
    if name == "s.npz":
        sparse.save_npz(tmp_path / name, sparse.csr_matrix(VECTORS))
    for path in (tmp_path / name, *[tmp_path] * name.startswith(("emnist", "data_batch"))):
        with pytest.raises(UserError, match=words):
            import_path(path)


@pytest.mark.parametrize("shape", [(30, 12, 12), (30, 12, 12, 3), (30, 3, 12, 12), (30, 12, 13)])
def test_an_archive_of_vectors_keeps_the_pictures_beside_them(tmp_path, shape):
    pictures = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    np.savez(tmp_path / "a.npz", vectors=VECTORS, labels=FRAME.label.to_numpy(str), x=pictures)
    found, bare = import_path(tmp_path / "a.npz"), import_path(tmp_path / "a.npz", choice=Choice(pictures=False))
    np.testing.assert_array_equal((found.embeddings, bare.embeddings), (VECTORS, VECTORS))
    assert "Left out: 1, x" in bare.notes[0]
    assert (bare.images is None, found.images is None, found.notes == bare.notes) == (True, *[shape[2] == 13] * 2)
    if shape[2] == 12:
        np.testing.assert_array_equal(found.images, np.moveaxis(pictures, 1, 3) if shape[1] == 3 else pictures)
    np.savez(tmp_path / "a.npz", vectors=VECTORS, x=pictures - 7.0)
    assert "undo what normalizes them" in "".join(import_path(tmp_path / "a.npz").notes) or shape[2] == 13


def write_views(frame, path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    words = table["species"].cast("string").combine_chunks().dictionary_encode()
    views = pa.DictionaryArray.from_arrays(words.indices, words.dictionary.cast(pa.string_view()))
    feather.write_feather(table.set_column(table.column_names.index("species"), "species", views), str(path))


FORMATS = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "index.csv": lambda frame, path: frame.to_csv(path),
    "end.csv": lambda frame, path: frame.assign(**{"": None}).to_csv(path, index=False),
    "t.json": lambda frame, path: frame.assign(date=range(10**12, 10**12 + 18)).to_json(path, orient="records"),
    "t.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True, date_format="iso"),
    "t.parquet": lambda frame, path: frame.to_parquet(path),
    "t.feather": write_views,
}


@pytest.mark.parametrize("name", FORMATS)
def test_one_table_has_the_same_label_and_vector_in_every_format(tmp_path, name):
    frame = pd.DataFrame({"size": [1.5, 2.0, 4.0] * 6, "weight": [3.25, 1.0, 2.0] * 6})
    frame = frame.assign(date=pd.date_range("2024-01-01", periods=18), flag=[True, False] * 9, source="lab")
    frame["species"] = ["setosa", "virginica", "versicolor"] * 6
    FORMATS[name](frame, tmp_path / name)
    read = import_path(tmp_path / name)
    np.testing.assert_array_equal(read.embeddings, frame[["size", "weight"]])
    assert [read.classes[label] for label in read.labels] == frame["species"].tolist()
    assert {"date", "flag", "source"} <= {*read.columns.column_names}
