"""npy and npz files are read as NumPy wrote them; an invalid file raises one error that names it."""

import csv
import io
import json
import re
import struct
from pathlib import Path

import dmlviz_app
import numpy as np
import pyarrow
import pytest
from pyarrow import csv as arrow_csv

import dmlviz
from dmlviz.errors import DamagedFileError
from dmlviz.runs.store import Runs, bundled_runs
from dmlviz.storage.arrays import read_array, read_arrays, read_shape
from dmlviz.storage.csv_table import safe_cell, write_csv

ARRAYS = [
    np.arange(12, dtype=np.float32).reshape(3, 4),
    np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
    np.arange(3, dtype=">i2"),
    np.array([True, False]),
    np.array(5, np.uint8),
    np.zeros((0, 3), np.float16),
    np.array("fan"),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_arrays_written_by_numpy_are_read_unchanged(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    np.savez_compressed(tmp_path / "a.npz", one=array, two=array)
    stored = read_arrays(tmp_path / "a.npz")
    assert list(stored) == ["one", "two"]
    for result in (read_array(tmp_path / "a.npy", "fiubU"), stored["one"]):
        assert (result.dtype, result.shape) == (array.dtype, array.shape)
        assert np.array_equal(result, array)
    assert read_shape(tmp_path / "a.npy") == array.shape


def test_an_array_is_memory_mapped_and_read_only(tmp_path):
    np.save(tmp_path / "a.npy", ARRAYS[0])
    array = read_array(tmp_path / "a.npy")
    assert isinstance(array, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_a_missing_file_reads_as_none(tmp_path):
    assert read_array(tmp_path / "a.npy") is None
    assert read_shape(tmp_path / "a.npy") is None


def npy(header):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"\x93NUM", "it is cut off"),
        (b"no array at all", "it is no npy file"),
        (npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }\n"), "it is cut off"),
        (npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999), }\n"), "more numbers"),
        (npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (5,), }\n"), "pickled Python objects"),
        (npy(b"{'descr': '<q9', 'fortran_order': False, 'shape': (5,), }\n"), "no kind of number"),
        (npy(b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (5,), }\n"), "holds records of named fields"),
        (npy(b"__import__('os').system('touch PWNED')\n"), "its header"),
        (npy(b"x" * 60_000), "too long"),
    ],
)
def test_an_invalid_file_raises_an_error_that_names_it(tmp_path, content, reason):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DamagedFileError, match=rf"^a\.npy cannot be read: .*{reason}"):
        read_array(tmp_path / "a.npy")


@pytest.mark.parametrize(("kinds", "shape"), [("iu", None), ("f", (3, 5)), ("f", (3,)), ("f", (None, None, None))])
def test_an_array_of_another_kind_or_shape_is_rejected(tmp_path, kinds, shape):
    np.save(tmp_path / "a.npy", ARRAYS[0])
    with pytest.raises(DamagedFileError, match=r"it holds float32|it should be"):
        read_array(tmp_path / "a.npy", kinds, shape)


def test_an_npz_truncated_at_any_byte_raises_one_error(tmp_path):
    target = io.BytesIO()
    np.savez_compressed(target, a=ARRAYS[0])
    content = target.getvalue()
    for length in range(len(content)):
        (tmp_path / "a.npz").write_bytes(content[:length])
        with pytest.raises(DamagedFileError, match=r"a\.npz"):
            read_arrays(tmp_path / "a.npz")


def test_the_schema_keeps_every_key_of_the_bundled_runs(tmp_path):
    """A new field of an event must be declared in run_schema, or readers never see it."""
    runs = Runs(tmp_path).list()
    assert len(runs) == len(list(bundled_runs().glob("*/run.json")))
    for run in runs:
        assert run.info == json.loads((run.path / "run.json").read_bytes())
        assert run.events() == [json.loads(line) for line in run.log.path.read_bytes().splitlines()]


FORMULAS = ["=1+1", '=cmd|"/c calc"!A1', "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "=-1.5", "+x"]
UNHARMED = ["-1.5", "+3", "-2e-05", "1e5", "cat", "a=b", "", "'quoted", "é", "7 - 2"]


def written(table):
    file = io.BytesIO()
    write_csv(table, file)
    return [*csv.reader(io.StringIO(file.getvalue().decode(), newline=""))]


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_texts_are_no_formulas_and_what_looks_like_a_number_stays(kind):
    texts = pyarrow.array([*FORMULAS, *UNHARMED])
    column = texts.dictionary_encode() if kind == "dictionary" else texts.cast(kind)
    rows = written(pyarrow.table({"=name": column}))
    assert rows[0] == ["'=name"]
    # csv.reader shows an empty line as no cell at all
    assert [row[0] if row else "" for row in rows[1:]] == [f"'{text}" for text in FORMULAS] + UNHARMED
    assert [safe_cell(text) for text in (*FORMULAS, *UNHARMED)] == [f"'{text}" for text in FORMULAS] + UNHARMED


def test_numbers_come_back_as_they_were():
    numbers = np.array([-1.5, 0, 2.25e-8, -3e20, np.inf])
    table = pyarrow.table(
        {"x": numbers, "n": np.arange(-2, 3), "missing": pyarrow.array([None, "-x", None, "b", None])}
    )
    file = io.BytesIO()
    write_csv(table, file)
    back = arrow_csv.read_csv(io.BytesIO(file.getvalue()))
    assert back["x"].to_pylist() == numbers.tolist()
    assert back["n"].to_pylist() == [-2, -1, 0, 1, 2]
    assert back["missing"].to_pylist() == ["", "'-x", "", "b", ""]


def test_tables_are_written_in_one_place_or_cell_by_cell_through_its_guard():
    sources = [path for package in (dmlviz, dmlviz_app) for path in Path(package.__file__).parent.rglob("*.py")]
    assert len(sources) > 100
    unguarded = []
    for path in sources:
        text = path.read_text()
        if re.search(r"csv\.(writer|DictWriter)\(", text) and "safe_cell" not in text:
            unguarded.append(path.name)
        if re.search(r"from pyarrow import .*\bcsv\b", text) and ".write_csv(pyarrow" in text:
            unguarded.append(path.name)
    assert unguarded == ["tables.py"]  # its TSV is for TensorBoard, which calculates nothing
