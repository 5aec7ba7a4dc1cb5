"""Tables and word vectors as other programs write them: read as they are, or refused with what to do."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, orc
from scipy import sparse

from dmlviz.data.import_path import import_path
from dmlviz.errors import UserError

VECTORS = np.random.default_rng(0).normal(size=(30, 4)).round(3).astype(np.float32)
FRAME = pd.DataFrame(VECTORS, columns=[f"e{i}" for i in range(4)]).assign(label=["01", "1", "cat"] * 10)
TABLE = pa.Table.from_pandas(FRAME)
ROWS = [{"embedding": row.tolist(), "label": label} for row, label in zip(VECTORS, FRAME.label, strict=True)]


def write_stream(path):
    with ipc.new_stream(path, TABLE.schema) as file:
        file.write_table(TABLE)


WRITERS = {
    "a.feather": lambda path: feather.write_feather(FRAME, path),
    "file.arrow": lambda path: feather.write_feather(TABLE, path, compression="lz4"),
    "stream.arrow": write_stream,
    "a.orc": lambda path: orc.write_table(TABLE, path),
    "split.json": lambda path: FRAME.to_json(path, orient="split"),
    "table.json": lambda path: FRAME.to_json(path, orient="table"),
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


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.pkl", "could run code"),
        ("a.pt", "tensor.float"),
        ("a.h5", "numpy.savez"),
        ("a.xlsx", "CSV UTF-8"),
        ("a.sav", "write it as CSV"),
        ("glove.txt", r"\.vec"),
        ("a.7z", "unpack it"),
        ("s.npz", "toarray"),
    ],
)
def test_what_is_not_read_is_refused_with_what_to_do(tmp_path, name, words):
    (tmp_path / name).write_bytes(b"x")
    if name == "s.npz":
        sparse.save_npz(tmp_path / name, sparse.csr_matrix(VECTORS))
    with pytest.raises(UserError, match=words):
        import_path(tmp_path / name)
