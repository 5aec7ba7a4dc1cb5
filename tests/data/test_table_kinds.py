"""Vectors of any type, labels of any file, tables in any packing: read alike, or refused by what they are."""

import gzip
import io
import json
import shutil
from datetime import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from dmlviz.data.columns import column_numbers, describe_columns
from dmlviz.data.embedding_file import LabeledEmbeddings, read_embeddings
from dmlviz.data.import_path import import_path, import_table
from dmlviz.data.import_report import ImportedDataset
from dmlviz.data.table_file import Choice, prepare_table
from dmlviz.errors import UserError
from dmlviz.runs.add_data import add_data

N = 12
VECTORS = np.random.default_rng(0).normal(size=(N, 4)).round(3).astype(np.float32)
LABELS = ["01", "1", "NA"] * 4
FRAME = pd.DataFrame({"embedding": VECTORS.astype(float).round(3).tolist(), "label": LABELS, "price": range(N)})
NESTED = pa.list_(pa.list_(pa.float32()))


def read(path, **how):
    imported = import_path(path, **how)
    assert isinstance(imported, LabeledEmbeddings)
    return imported


def is_whole(imported):
    np.testing.assert_allclose(imported.embeddings, VECTORS, rtol=1e-6)
    assert [imported.classes[label] for label in imported.labels] == LABELS


TYPES = {
    "list": pa.array(VECTORS.tolist(), pa.list_(pa.float64())),
    "large list": pa.array(VECTORS.tolist(), pa.large_list(pa.float32())),
    "fixed size": pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.ravel()), 4),
    "tensor": pa.FixedShapeTensorArray.from_numpy_ndarray(VECTORS.reshape(N, 2, 2)),
    "1 × d": pa.array([[row] for row in VECTORS.tolist()], NESTED),
    "d × 1": pa.array([[[x] for x in row] for row in VECTORS.tolist()], NESTED),
    "2 × 2": pa.array(VECTORS.reshape(N, 2, 2).tolist(), NESTED),
    "decimal": pa.array(
        [[Decimal(f"{x:.3f}") for x in row] for row in VECTORS.tolist()], pa.list_(pa.decimal128(9, 3))
    ),
    "list view": pa.array(VECTORS.tolist(), pa.list_view(pa.float32())),
    "[0.1, 0.2]": pa.array([str(row) for row in VECTORS.round(3).astype(float).tolist()]),
    "[0.1 0.2]": pa.array([str(row) for row in VECTORS]),
    "tensor([0.1])": pa.array([f"tensor({row.tolist()}, device='cuda:0')" for row in VECTORS]),
    "array([0.1])": pa.array([f"array({row.tolist()}, dtype=float32)" for row in VECTORS]),
    "[np.float32(0.1)]": pa.array([str(list(row)) for row in VECTORS]),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array(range(N), pa.int8()), pa.array(VECTORS.tolist())),
    "(0.1, 0.2)": pa.array([str(tuple(row.tolist())) for row in VECTORS]),
    "{0.1,0.2}": pa.array(["{" + ",".join(map(str, row.tolist())) + "}" for row in VECTORS]),
    "[[0.1, 0.2]]": pa.array([str([row.tolist()]) for row in VECTORS]),
    "0.1 0.2": pa.array([" ".join(map(str, row.tolist())) for row in VECTORS]),
    "0.1,0.2": pa.array([",".join(map(str, row.tolist())) for row in VECTORS]),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ["embedding", "v"])
def test_vectors_of_every_type_are_read(tmp_path, kind, name):
    tokens = pa.array([list(range(5000))] * N)
    texts = isinstance(TYPES[kind][0].as_py(), str)
    table = pa.table(
        {"input_ids": tokens, name: TYPES[kind], "label": LABELS} if not texts else {name: TYPES[kind], "label": LABELS}
    )
    is_whole(validated(add_data(table, runs=tmp_path / "runs", report=lambda line: None)))
    if kind not in ("list view", "dictionary"):  # Parquet has none
        parquet.write_table(table, tmp_path / "t.parquet")
        is_whole(read(tmp_path / "t.parquet"))
        is_whole(read(tmp_path / "t.parquet", choice=Choice(vector=(name,))))


def validated(run):
    from dmlviz.catalog.datasets import DATASETS

    return LabeledEmbeddings(np.asarray(run.embeddings), np.asarray(run.labels), DATASETS[run.config.dataset].classes)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["[1, 2", "[1, 2", "[1, 2"], "v of t.parquet holds vectors as texts; that in row 1 is cut off"),
        (["[1, 2, 3]", "[1, 2, ..., 3]", "[1, 2, 3]"], "that in row 2 is shortened"),
        (["[1, 2, 3]", "[1, x, 3]", "[1, 2, 3]"], r"that in row 2 is '\[1, x, 3\]'"),
        (["(3,[0,1],[0.5,2])"] * 3, r"that in row 1 is '\(3,\[0,1\].*of several lists, as a sparse vector has"),
        (["(3.20)", "4.10", "(0.5)"], r"those of t.parquet are v \(string\)"),
        (["[1, 2, 3]", None, "[1, 2, 3]"], "3 numbers in row 1 and nothing in row 2"),
        ([[[1.0, 2.0]], [[1.0]], [[1.0, 2.0]]], "2 numbers in one of its lists in row 1 and 1 numbers in row 2"),
        ([b"\x00" * 16] * 3, r"t.parquet has no column called label \(its columns are v\)"),
        ([{"a": 1.0}] * 3, r"those of t.parquet are v \(struct<a: double>\)"),
        ([["a"], ["b"], ["c"]], r"those of t.parquet are v \(list<string>\)"),
        ([[1.0, float("inf")]] * 3, "3 rows of t.parquet hold NaN, infinity or nothing"),
        ([[1.0, 1e300]] * 3, "3 rows of t.parquet hold numbers beyond"),
    ],
)
def test_vectors_that_cannot_be_read_are_refused_by_row_or_type(tmp_path, values, says):
    parquet.write_table(pa.table({"v": values}), tmp_path / "t.parquet")
    with pytest.raises(UserError, match=says):
        read(tmp_path / "t.parquet")


def test_intervals_and_references_are_texts(tmp_path):
    bins, notes = ["(0, 1]", "[1] of two", "{x}"] * 4, [f"[{i}]" for i in range(N)]
    table = {"d0": VECTORS[:, 0], "d1": VECTORS[:, 1], "bin": bins, "note": notes, "label": LABELS}
    table["none"] = pa.nulls(N, pa.list_(pa.float32()))
    parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    imported = read(tmp_path / "t.parquet")
    assert (imported.embeddings.shape, imported.columns.column_names) == ((N, 2), ["bin", "note"])


def test_months_days_and_seconds_are_written_as_iso_8601_has_them():
    parts = [(1, 2, 3_500_000_000), (0, 0, 0), (-14, 0, -5), (0, 30, 0)]
    values = [*(pa.MonthDayNano(part) for part in parts), None] * (N // 5)
    column = pa.array(values, pa.month_day_nano_interval())
    table = pa.table({"v": VECTORS[: len(values)].tolist(), "label": column, "again": column})
    imported = import_table(prepare_table(table, "t")[0], None, "t", title="t")
    names = ["P1M2DT3.5S", "PT0S", "P-14MT-0.000000005S", "P30D", None]
    assert [imported.classes[label] for label in imported.labels[:5]] == [*names[:4], "no label"]
    assert imported.columns.column("again").to_pylist()[:5] == names


DAY = 86_400_000  # ms
FAR = [-(2**62) // DAY * DAY, *(day * DAY for day in range(20)), 2**62 // DAY * DAY]


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us"), pa.timestamp("s", "UTC"), pa.timestamp("ms"), pa.date64()], ids=str
)
@pytest.mark.parametrize("role", ["label", "when"])
def test_times_that_no_calendar_has_are_numbers_and_said(kind, role):
    values = pa.array(FAR)
    table = pa.table({"v": np.eye(len(FAR)).tolist(), role: values.view(kind)})
    plain, notes = prepare_table(table, "t")
    assert notes == [f"Times beyond the years 1 to 9999 are taken as numbers: {role}."]
    imported = import_table(plain, None, "t", title="t")
    if role == "label":
        assert imported.classes[imported.labels[-1]] == str(values[-1])
    else:
        (column,) = describe_columns(imported.columns)
        assert column_numbers(imported.columns, column)[-1] == values[-1].as_py()


@pytest.mark.parametrize("year", [1, 1677, 9999])
def test_times_at_the_ends_of_the_calendar_stay_times(year):
    times = pa.array([datetime(year, 6, 1 + day) for day in range(20)], pa.timestamp("us"))
    plain, notes = prepare_table(pa.table({"v": np.eye(20).tolist(), "when": times}), "t")
    assert (notes, describe_columns(plain.select(["when"]))[0].start) == ([], datetime(year, 6, 1))


def test_extension_types_are_read_as_what_they_stand_for():
    ids = pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([bytes([i] * 16) for i in range(3)] + [None], pa.binary(16))
    )
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None, 2], pa.int8()))
    plain, _ = prepare_table(pa.table({"v": np.eye(4).tolist(), "id": ids, "label": flags}), "t")
    imported = import_table(plain, None, "t", title="t")
    assert [imported.classes[label] for label in imported.labels] == ["True", "False", "no label", "True"]
    assert imported.columns.column("id").to_pylist()[1:] == [
        f"{'01' * 4}-0101-0101-0101-{'01' * 6}",
        f"{'02' * 4}-0202-0202-0202-{'02' * 6}",
        None,
    ]


@pytest.mark.parametrize("odd", ["1", True, 1.5, 10**25, [1]])
def test_values_of_two_types_in_a_column_of_json_are_refused_by_column_and_row(tmp_path, odd):
    rows = [{"embedding": row, "label": 1} for row in VECTORS.tolist()]
    rows[4]["label"] = odd
    (tmp_path / "t.json").write_text(json.dumps(rows))
    if odd == 1.5:
        assert read(tmp_path / "t.json").classes == ("1", "1.5")
        return
    with pytest.raises(UserError, match=r"column label of t.json begins with '1' \(int\), and row"):
        read(tmp_path / "t.json")


FILES = {
    "t.csv": lambda: FRAME.to_csv(index=False).encode(),
    "t.csv.gz": lambda: gzip.compress(FRAME.to_csv(index=False).encode()),
    "t.tsv": lambda: FRAME.to_csv(index=False, sep="\t").encode(),
    "t.tsv.gz": lambda: gzip.compress(FRAME.to_csv(index=False, sep="\t").encode()),
    "t.jsonl": lambda: FRAME.to_json(orient="records", lines=True).encode(),
    "t.jsonl.gz": lambda: gzip.compress(FRAME.to_json(orient="records", lines=True).encode()),
    "t.ndjson": lambda: (FRAME.to_json(orient="records", lines=True) + "\n\n").encode(),
    "records.json": lambda: FRAME.to_json(orient="records").encode(),
    "columns.json": lambda: FRAME.to_json().encode(),
    "indented.json": lambda: json.dumps(FRAME.to_dict("list"), indent=1).encode(),
    "lines.json": lambda: FRAME.to_json(orient="records", lines=True).encode(),
    "t.parquet": lambda: FRAME.to_parquet(),
}


@pytest.mark.parametrize("name", FILES)
def test_a_table_is_read_in_every_format_and_packing(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name]())
    imported = read(tmp_path / name)
    is_whole(imported)
    assert imported.columns.column_names == ["price"]


def parts(folder, suffix):
    """Write two parts of a table below a folder, as Spark and the Hub do."""
    for number, rows in enumerate((slice(0, 5), slice(5, N))):
        part = FRAME.iloc[rows]
        path = folder / f"part-{number:05}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(part.to_parquet() if suffix == ".parquet" else part.to_csv(index=False).encode())
    (folder / "_SUCCESS").touch()
    (folder / ".part.crc").touch()
    return folder


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("name", ["items.parquet", "hub"])
def test_a_folder_of_tables_is_one_table_packed_as_a_zip_too(tmp_path, name, suffix):
    parts(tmp_path / name / "data", suffix)
    (tmp_path / name / "README.md").write_text("x")
    imported = read(tmp_path / name)
    is_whole(imported)
    assert "one table of 2 files" in " ".join(imported.notes)
    shutil.make_archive(str(tmp_path / "z"), "zip", tmp_path / name)
    is_whole(read(tmp_path / "z.zip", follow_paths=False))


def test_what_folders_and_files_are_called_is_a_column_and_other_tables_are_refused(tmp_path):
    for split in ("train", "test"):
        for label in ("01", "1"):
            folder = tmp_path / "t" / f"label={label}"
            folder.mkdir(parents=True, exist_ok=True)
            FRAME[["embedding"]].to_parquet(folder / f"{split}-00000-of-00001.parquet")
    imported = read(tmp_path / "t")
    assert imported.classes == ("01", "1")
    assert imported.columns.column("split").to_pylist() == (["test"] * N + ["train"] * N) * 2
    FRAME.rename(columns={"price": "cost"}).to_parquet(tmp_path / "t" / "a.parquet")
    with pytest.raises(UserError, match="holds the parts of one; in t, only one of a"):
        read(tmp_path / "t")
    (tmp_path / "p.parquet").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n")
    with pytest.raises(UserError, match="only a pointer of Git LFS"):
        read(tmp_path / "p.parquet")


NAMES = ["cat", "dog", "eel"] * 4
GAP = ["cat", "", *NAMES[2:]]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("l.txt", "\n".join(NAMES), NAMES),
        ("l.txt", "\n".join(NAMES) + "\n\n", NAMES),
        ("l.tsv", "word\n" + "\n".join(NAMES) + "\n", NAMES),
        ("l.csv", "anything\n" + "\n".join(NAMES), NAMES),
        ("l.tsv", "\n".join(GAP) + "\n", GAP),
        ("l.tsv", "word\n" + "\n".join(GAP), GAP),
        ("l.txt", "word\n" + "\n".join([*NAMES[:-1], "", ""]), [*NAMES[:-1], ""]),
        ("l.txt", "\r\n".join(LABELS), LABELS),
        ("l.csv", '"a, b"\n' * N, ["a, b"] * N),
        ("l.txt", "a, b\n" * N, ["a, b"] * N),
        ("metadata.tsv", "label\tcount\n" + "".join(f"{k}\t{i}\n" for i, k in enumerate(LABELS)), LABELS),
        ("metadata.tsv", "word\tn\n" + "".join(f"{k}\t{i}\n" for i, k in enumerate(NAMES)), NAMES),
        ("l.csv", "id,class\n" + "".join(f"{i},{k}\n" for i, k in enumerate(LABELS)), LABELS),
        ("l.csv", pd.DataFrame({"label": LABELS}).to_csv(), LABELS),
        ("l.json", json.dumps([{"label": k} for k in LABELS]), LABELS),
        ("l.json", json.dumps(LABELS), LABELS),
        ("l.npy", np.array(NAMES)[:, None], NAMES),
        ("l.npy", np.arange(N)[None], [str(i) for i in range(N)]),
    ],
)
def test_a_file_of_labels_is_never_shifted(tmp_path, name, content, expected):
    np.savetxt(tmp_path / "v.tsv", VECTORS, delimiter="\t")
    if isinstance(content, np.ndarray):
        np.save(tmp_path / name, content)
    else:
        (tmp_path / name).write_bytes(content.encode())
    found = read_embeddings(tmp_path / "v.tsv", tmp_path / name)
    assert [found.classes[label] for label in found.labels] == [label or "no label" for label in expected]
    assert name in found.notes[0]


def test_the_column_of_labels_is_chosen_in_their_own_file(tmp_path):
    FRAME.drop(columns="label").to_parquet(tmp_path / "v.parquet")
    (tmp_path / "l.csv").write_text("kind,label\n" + "".join(f"{k},x\n" for k in LABELS))
    found = read_embeddings(tmp_path / "v.parquet", tmp_path / "l.csv", Choice(label="kind"))
    is_whole(found)
    assert found.columns.column_names == ["price", "label"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("l.txt", "a\n" * (N + 2), "l.txt has 14 lines or rows for 12 vectors"),
        ("l.txt", "word\n" + "\n".join(NAMES[:-1]), "l.txt has 12 lines or rows for 12 vectors"),
        ("l.csv", "a,b\n" + "x,y\n" * N, "is called label or class; those of l.csv are a, b"),
        ("l.csv", "label,b\n" + "x,y\n" * 5, "l.csv has 5 lines or rows"),
        ("l.npy", np.zeros((N, 14)), r"got labels of shape \(12, 14\) for 12 vectors"),
        ("l.npy", np.array(NAMES, object), "holds pickled Python objects"),
        ("l.doc", "a", "A file of labels ends in"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, name, content, says):
    np.save(tmp_path / "v.npy", VECTORS)
    if isinstance(content, np.ndarray):
        np.save(tmp_path / name, content, allow_pickle=True)
    else:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=says):
        read_embeddings(tmp_path / "v.npy", tmp_path / name)


@pytest.mark.parametrize("label", [[["a", "b"]] * N, [[1, 0]] * N, [{"a": 1}] * N])
def test_a_label_that_is_no_single_value_is_refused_by_its_type(tmp_path, label):
    parquet.write_table(pa.table({"embedding": VECTORS.tolist(), "label": label}), tmp_path / "t.parquet")
    with pytest.raises(UserError, match=r"column label of t.parquet holds (list|struct)<"):
        read(tmp_path / "t.parquet")


def png():
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (9, 9, 3), np.uint8)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize(
    "values",
    [
        [f"https://example.org/{i}.jpg" for i in range(N)],
        [f"moved/{i}.png" for i in range(N)],
        [bytes([i] * 16) for i in range(N)],
        [{"bytes": b"RIFF" + bytes(20), "path": f"{i}.wav"} for i in range(N)],
        [{"bytes": None, "path": f"{i}.wav"} for i in range(N)],
    ],
)
def test_pictures_that_cannot_be_had_are_a_note_beside_the_map(tmp_path, values):
    table = {"embedding": VECTORS.tolist(), "image": values, "label": LABELS}
    parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    imported = read(tmp_path / "t.parquet")
    is_whole(imported)
    assert imported.images is None
    assert any("The map has no pictures, as those of column image" in note for note in imported.notes)
    kept = imported.columns.column_names == ["image"]
    assert kept or "image (" in imported.notes[0]
    with pytest.raises(UserError, match="column image of t"):
        read(tmp_path / "t.parquet", choice=Choice(image="image"))


def test_pictures_are_left_away_where_a_person_says_so_and_paths_may_be_of_windows(tmp_path):
    (tmp_path / "images/cat").mkdir(parents=True)
    paths = []
    for i in range(N):
        (tmp_path / f"images/cat/{i}.png").write_bytes(png())
        paths.append(f"images\\cat\\{i}.png")
    FRAME.assign(path=paths).to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").images.shape[0] == N
    without = read(tmp_path / "t.parquet", choice=Choice(pictures=False))
    assert without.images is None
    assert without.columns.column_names == ["price", "path"]
    pd.DataFrame({"path": paths, "label": ["a", "b"] * 6}).to_csv(tmp_path / "t.csv", index=False)
    assert isinstance(import_path(tmp_path / "t.csv"), ImportedDataset)
