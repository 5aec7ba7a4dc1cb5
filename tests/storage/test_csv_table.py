"""No table that is written as CSV holds a text that a spreadsheet would calculate, and numbers are unharmed."""

import csv
import io
import re
from pathlib import Path

import dmlviz_app
import numpy as np
import pyarrow
import pytest
from pyarrow import csv as arrow_csv

import dmlviz
from dmlviz.storage.csv_table import safe_cell, write_csv

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
