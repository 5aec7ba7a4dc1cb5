"""A hostile file is read, or refused with a sentence. The generator is `hostile.py`."""

import numpy as np
import pyarrow as pa
import pytest
from hostile import new_table, run
from pyarrow import parquet

from dmlviz.data.embedding_file import read_embeddings
from dmlviz.errors import UserError


def test_hostile_files_break_no_promise(monkeypatch):
    monkeypatch.setenv("DMLVIZ_DATA", "")  # put back afterwards
    table = new_table()
    run(table, 12, seed=3)
    assert table.broken == []
    assert len(table.cases) == 4


def test_long_lists_in_a_parquet_file_are_refused_before_they_are_unpacked(tmp_path):
    values = pa.array(np.zeros(300 * 300_000, np.int8))
    path = tmp_path / "vectors.parquet"
    table = pa.table({"vector": pa.FixedSizeListArray.from_arrays(values, 300_000)})
    parquet.write_table(table, path, use_dictionary=False, write_statistics=False)
    with pytest.raises(UserError, match="holds 300 of 300,000"):
        read_embeddings(path)


def test_lists_in_a_parquet_file_become_vectors_and_texts_become_labels(tmp_path):
    vectors = np.arange(24, dtype=np.float32).reshape(6, 4)
    for kind in (pa.array(vectors.tolist()), pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 4)):
        path = tmp_path / "vectors.parquet"
        parquet.write_table(pa.table({"vector": kind, "label": ["b", "a", "b", None, "a", "b"]}), path)
        read = read_embeddings(path)
        assert np.array_equal(read.embeddings, vectors)
        assert [read.classes[label] for label in read.labels] == ["b", "a", "b", "no label", "a", "b"]


def test_an_npz_that_unpacks_to_more_than_a_file_may_hold_is_refused_by_its_header(tmp_path):
    path = tmp_path / "vectors.npz"
    np.savez_compressed(path, vectors=np.zeros((300_000, 10), np.float32), labels=np.zeros(3))
    with pytest.raises(UserError, match="holds 300,000 of 10: keep fewer"):
        read_embeddings(path)


def test_a_table_of_far_too_many_lines_or_one_endless_line_is_refused_before_it_is_parsed(tmp_path):
    path = tmp_path / "vectors.csv"
    path.write_bytes(b"x,y,label\n" + b"1,2,a\n" * 2_600_000)
    with pytest.raises(UserError, match="up to 250,000 vectors"):
        read_embeddings(path)
    path.write_bytes(b"1" * 2_000_000)
    with pytest.raises(UserError, match="A line of a table has up to 1,000,000 characters"):
        read_embeddings(path)


def test_control_characters_of_a_table_stay_out_of_the_sentence(tmp_path):
    path = tmp_path / "vectors.csv"
    path.write_bytes("a,b,label\n1,2,x\n1,2,\x1b[2J,4,5\n".encode("utf-16"))
    with pytest.raises(UserError) as caught:
        read_embeddings(path)
    assert str(caught.value).isprintable()
