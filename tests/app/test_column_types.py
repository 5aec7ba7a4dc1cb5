"""Every type of Arrow, with any content, can be colored by, filtered, sorted, searched and saved; or it is said."""

import itertools
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dmlviz_app.answers.columns import column_bytes, column_infos, columns_of
from dmlviz_app.answers.table_rows import Condition, Filter, matching_rows, rows_as_csv, sorted_rows, with_classes
from pyarrow import compute, parquet
from streamlit.testing.v1 import AppTest

from dmlviz.data.columns import clean_columns, describe_columns
from dmlviz.runs.add_data import add_data

N = 24
VECTORS = np.random.default_rng(0).normal(size=(N, 3))
LONG = "x" * 5000
DAY = datetime(2024, 1, 31, 12, 30, 1, 250_000)
EXTREMES = [float("inf"), float("-inf"), 1e300, -1e300, float("nan"), 5e-324]
# The values of each type that contents are made of.
VALUES = {
    pa.null(): [None],
    pa.bool_(): [True, False],
    pa.int8(): [*range(-5, 20)],
    pa.uint64(): [2**64 - 1, 2**63, 0, *range(20)],
    pa.int64(): [-(2**63), 2**53 + 1, *range(20)],
    pa.float16(): [np.float16(x) for x in (1.5, 2.5, float("inf"), float("nan"))],
    pa.float32(): [1.5, 3e38, float("inf"), float("-inf")],
    pa.float64(): [*EXTREMES, *(x / 7 for x in range(20))],
    pa.decimal128(12, 2): [Decimal("1.10"), Decimal("-999999999.99"), Decimal(0)],
    pa.decimal256(50, 10): [Decimal(10) ** 30, Decimal("0.1")],
    pa.string(): ["a", "", LONG, "nan", "1", "=1+1", 'say "hi"', "a,b\nc", "日本", "<b>"],
    pa.large_string(): ["a", "b"],
    pa.string_view(): ["a", "b"],
    pa.dictionary(pa.int8(), pa.string()): ["b", "a"],
    pa.dictionary(pa.int32(), pa.int64()): [3, 1, 2],
    pa.dictionary(pa.int16(), pa.float64()): [0.5, 1.5],
    pa.date32(): [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)],
    pa.date64(): [date(2024, 1, 1) + timedelta(days=i) for i in range(20)],
    pa.timestamp("s"): [datetime(1, 1, 1), datetime(9999, 12, 31)],
    pa.timestamp("ns"): [DAY + timedelta(days=i) for i in range(20)],
    pa.timestamp("us", "Europe/Oslo"): [(DAY + timedelta(hours=i)).replace(tzinfo=UTC) for i in range(20)],
    pa.time32("ms"): [time(0), time(23, 59, 59, 999_000)],
    pa.time64("ns"): [time(i) for i in range(20)],
    pa.duration("us"): [timedelta(days=-1), timedelta(0), *(timedelta(hours=i) for i in range(20))],
    pa.duration("s"): [timedelta(days=10_000)],
    pa.month_day_nano_interval(): [pa.MonthDayNano([1, 2, 3])],
    pa.binary(): [b"", b"\xff"],
    pa.large_binary(): [b"a"],
    pa.binary(2): [b"ab"],
    pa.list_(pa.string()): [["a"], []],
    pa.list_(pa.int64()): [[1], [1, 2]],
    pa.large_list(pa.float32()): [[1.0]],
    pa.list_(pa.float32(), 2): [[1.0, 2.0]],
    pa.struct([("a", pa.int64())]): [{"a": 1}],
    pa.map_(pa.string(), pa.int64()): [[("a", 1)]],
    pa.run_end_encoded(pa.int32(), pa.int64()): [1, 2],
    pa.fixed_shape_tensor(pa.float32(), [2, 2]): [[1.0, 2.0, 3.0, 4.0]],
    pa.uuid(): [bytes(range(16))],
    pa.bool8(): [True, False],
    pa.json_(): ['{"a": 1}'],
}
CONTENTS = {
    "mixed": lambda values: [*itertools.islice(itertools.cycle([*values, None]), N)],
    "all missing": lambda values: [None] * N,
    "one value": lambda values: [values[-1]] * N,
    "one of many": lambda values: [values[0], *[None] * (N - 1)],
}


def column(kind, values):
    if isinstance(kind, pa.BaseExtensionType):
        storage = pa.array([v if v is None or not isinstance(v, bool) else int(v) for v in values], kind.storage_type)
        return pa.ExtensionArray.from_storage(kind, storage)
    if pa.types.is_run_end_encoded(kind):
        return compute.run_end_encode(pa.array(values, kind.value_type))
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


def use_every_way(run, folder):
    """Do with each column of a run what the page does; return the columns."""
    table, columns = with_classes(run, run.columns), columns_of(run, folder)
    matching_rows(table, columns, Filter(text="1"))
    rows_as_csv(table, np.arange(N))
    table.to_pandas()
    numbers = {}
    for info in column_infos(run, folder):
        values = np.frombuffer(column_bytes(run, folder, info["name"]), "<f4")
        assert len(values) == N
        assert not np.isinf(values).any()
        if info["values"] is not None:
            assert all(isinstance(value, str) for value in info["values"])
        numbers[info["name"]] = values
    for one in columns:
        for descending in (False, True):
            assert sorted(sorted_rows(table, np.arange(N), one.name, descending).tolist()) == list(range(N))
        whole = Condition(one.name) if one.kind == "number" else Condition(one.name, values=one.values)
        found = matching_rows(table, columns, Filter(conditions=(whole,)))
        if one.name in numbers and (one.values or one.kind == "number"):
            assert found.tolist() == np.flatnonzero(~np.isnan(numbers[one.name])).tolist()
    return columns


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_a_column_of_any_type_and_content_is_used_or_named(tmp_path, kind):
    contents = {name: fill(VALUES[kind]) for name, fill in CONTENTS.items()}
    columns = {name: column(kind, values) for name, values in contents.items()}
    said = []
    table = pa.table({"emb": VECTORS.tolist(), "label": ["a"] * N} | columns)
    run = add_data(table, vector="emb", runs=tmp_path / "runs", report=said.append)
    used = {} if run.columns is None else {one.name: one for one in use_every_way(run, tmp_path)}
    for name, values in contents.items():
        if name not in used:
            assert re.search(rf"Left out: .*\b{name} \(", said[0]), name
            continue
        missing = run.columns.column(name).null_count
        assert missing == sum(value is None for value in values) or pa.types.is_floating(kind), name
        assert used[name].kind in ("number", "category", "text"), name


def pandas_columns():
    """Return columns as pandas has them, and what the legend or the ends of the scale are to be."""
    hours = pd.to_timedelta(np.arange(N), unit="h")
    sizes = pd.Categorical(["s", "m", "l"] * (N // 3), ["s", "m", "l"], ordered=True)
    return {
        "cut": (pd.cut(np.arange(N) - 5.0, [-9, 0, 5, 50]), ("(-9, 0]", "(0, 5]", "(5, 50]")),
        "missing cut": (pd.cut(np.arange(N), [0, 5, 10]), ("(0, 5]", "(5, 10]")),
        "sizes": (sizes, ("s", "m", "l")),
        "categories": (pd.Categorical([3, 1, None] * (N // 3)), ("1", "3")),
        "period": (pd.period_range("2020-01", periods=N, freq="M"), (0, 700)),
        "few periods": (pd.PeriodIndex(["2020-01", "2019-05"] * (N // 2), freq="M"), None),
        "hours": (hours, (0, (N - 1) * 3600)),
        "sparse": (pd.arrays.SparseArray([0.0] * (N - 1) + [1.5]), (0, 1.5)),
        "nullable": (pd.array([*range(N - 1), None], dtype="Int64"), (0, N - 2)),
        "flags": (pd.array([True, None] * (N // 2), dtype="boolean"), ("true",)),
        "arrow": (pd.array(["b", None] * (N // 2), dtype=pd.ArrowDtype(pa.string())), ("b",)),
        "zones": (pd.date_range("2024", periods=N, freq="D", tz="Asia/Tokyo"), (0, N - 1)),
        "objects": (pd.Series([date(2024, 1, 1 + i) for i in range(N)], dtype=object), (0, N - 1)),
        "long": ([LONG, "b"] * (N // 2), ("b", "x" * 200)),
    }


@pytest.mark.parametrize("name", pandas_columns())
def test_a_column_of_pandas_keeps_its_order_and_its_ends(tmp_path, name):
    values, expected = pandas_columns()[name]
    said = []
    frame = pd.DataFrame({"emb": list(VECTORS), "c": values, "label": "a"})
    run = add_data(frame, vector="emb", runs=tmp_path / "runs", report=said.append)
    (one,) = use_every_way(run, tmp_path)
    if expected is not None:
        assert expected == (one.values or (one.low, one.high)) or abs(one.high - expected[1]) < 31
    assert ("cut after 200" in " ".join(said)) == (name == "long")


@pytest.mark.slow
def test_a_million_categories_are_texts_and_a_long_dictionary_is_no_legend():
    count = 1_000_000
    texts = pa.array([f"t{i}" for i in range(1500)])
    codes = pa.array(np.arange(count, dtype=np.int32) % 1500)
    ordered = pa.DictionaryArray.from_arrays(codes, texts, ordered=True)
    table, left_out, _ = clean_columns(pa.table({"a": pa.array(np.arange(count)).cast("string"), "b": ordered}))
    assert [one.kind for one in describe_columns(table)] == ["text", "text"]
    assert left_out == []


def test_more_columns_than_are_kept_are_named():
    table, left_out, notes = clean_columns(pa.table({f"c{i}": [i] for i in range(70)}))
    assert table.num_columns == 64
    assert left_out == [f"c{i}" for i in range(64, 70)]
    assert notes == ["A table keeps 64 columns beside its vectors and pictures."]


@pytest.mark.parametrize(
    "make",
    [
        lambda frame: frame,
        lambda frame: frame.set_index("label"),
        lambda frame: frame.set_index(["label", "price"]),
        lambda frame: frame.iloc[::-1].iloc[::-1],
        lambda frame: frame.assign(label=frame["label"].astype("category")),
        pa.Table.from_pandas,
        lambda frame: pa.Table.from_pandas(frame.set_index("label")),
        lambda frame: pa.RecordBatch.from_pandas(frame),
        lambda frame: pa.RecordBatchReader.from_batches(
            pa.Table.from_pandas(frame).schema, pa.Table.from_pandas(frame).to_batches(7)
        ),
        lambda frame: Stream(pa.Table.from_pandas(frame)),
    ],
)
def test_a_table_of_any_library_has_its_labels_and_columns(tmp_path, make):
    frame = pd.DataFrame({"emb": list(VECTORS), "label": ["a", "b"] * (N // 2), "price": np.arange(N) + 0.5})
    run = add_data(make(frame), runs=tmp_path / "runs", report=lambda line: None)
    assert run.labels.tolist() == [0, 1] * (N // 2)
    assert run.columns.column_names == ["price"]
    np.testing.assert_allclose(run.embeddings, VECTORS, rtol=1e-6)


class Stream:
    """A table of another library, which hands it over by Arrow's interface, as polars and DuckDB do."""

    def __init__(self, table):
        self.__arrow_c_stream__ = table.__arrow_c_stream__


@pytest.mark.slow
def test_widgets_and_list_of_the_page_take_every_column(tmp_path):
    columns = {}
    for number, (kind, values) in enumerate(VALUES.items()):
        columns |= {f"{kind} {name} {number}": column(kind, make(values)) for name, make in [*CONTENTS.items()][::3]}
    names, widgets = [*columns], 0
    for part in range(0, len(names), 60):
        kept, _, _ = clean_columns(pa.table({name: columns[name] for name in names[part : part + 60]}))
        parquet.write_table(kept, tmp_path / f"{part}.parquet")
        page = AppTest.from_function(_widgets, args=(str(tmp_path / f"{part}.parquet"),)).run(timeout=30)
        assert not page.exception
        widgets += len(page.slider) + len(page.multiselect)
    assert widgets > 30


def _widgets(path):
    import streamlit as st
    from dmlviz_app.explore.table import _condition_widget
    from pyarrow import parquet

    from dmlviz.data.columns import describe_columns

    table = parquet.read_table(path)
    for column in describe_columns(table):
        if column.kind != "text":
            _condition_widget("run", column)
    st.dataframe(table.to_pandas())
