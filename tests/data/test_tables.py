"""Tables as data: which columns are vectors, pictures, labels and roles; sentences for what cannot be read."""

import io
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import csv, parquet

from dmlviz import data
from dmlviz.data import sprite_sheet
from dmlviz.data.class_names import short_names
from dmlviz.data.columns import column_numbers, describe_columns
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.data.import_path import import_path
from dmlviz.data.import_report import ImportedDataset
from dmlviz.data.table_file import Choice
from dmlviz.errors import UserError
from dmlviz.runs.add_data import add_data
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.store import Runs

N = 30
VECTORS = np.random.default_rng(0).normal(size=(N, 4)).astype(np.float32)
MORE = {
    "price": np.linspace(1, 9, N),
    "shop": [("Oslo", "Lima", None)[i % 3] for i in range(N)],
    "stars": np.arange(N) % 5,
    "title": [f"thing {i % 9}" for i in range(N)],
}


def png(number, size=12):
    pixels = np.random.default_rng(number).integers(0, 256, (size, size, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def write(path, table, suffix=".parquet"):
    path = path / f"things{suffix}"
    if suffix == ".parquet":
        parquet.write_table(pa.table(table), path)
    else:
        csv.write_csv(pa.table(table), path)
    return path


def read(path, **how) -> LabeledEmbeddings:
    imported = import_path(path, **how)
    assert isinstance(imported, LabeledEmbeddings)
    return imported


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_counted_columns_are_the_vector_and_all_others_are_kept(tmp_path, suffix):
    vectors = {f"d{i}": VECTORS[:, i] for i in range(4)}
    imported = read(write(tmp_path, {"label": [f"class {i % 2}" for i in range(N)]} | vectors | MORE, suffix))
    np.testing.assert_allclose(imported.embeddings, VECTORS, rtol=1e-6)
    assert imported.classes == ("class 0", "class 1")
    assert imported.columns is not None
    assert imported.columns.column_names == ["price", "shop", "stars", "title"]


def test_a_column_of_lists_is_the_vector_and_labels_are_optional(tmp_path):
    imported = read(write(tmp_path, {"vector": VECTORS.tolist()} | MORE))
    assert imported.embeddings.shape == (N, 4)
    assert not imported.labeled
    assert imported.columns is not None
    assert "price" in imported.columns.column_names


def test_the_only_words_that_recur_are_labels_whatever_other_words_there_are(tmp_path):
    notes = [f"note {i}" for i in range(N)]
    imported = read(write(tmp_path, {"vector": VECTORS.tolist(), "note": notes, "Shop (€)": MORE["shop"]}))
    assert imported.classes == ("Lima", "Oslo", "no label")


def test_coordinates_that_are_given_are_chosen_by_name(tmp_path):
    path = write(
        tmp_path, {"x": VECTORS[:, 0], "y": VECTORS[:, 1], "vector": VECTORS.tolist(), "kind": ["a", "b"] * 15}
    )
    imported = read(path, choice=Choice(vector=("x", "y"), label="kind"))
    assert imported.embeddings.shape == (N, 2)
    assert imported.classes == ("a", "b")


def test_x_and_y_are_coordinates_and_y_is_no_label(tmp_path):
    imported = read(write(tmp_path, {"x": VECTORS[:, 0], "y": VECTORS[:, 1], "label": ["a", "b"] * 15}))
    np.testing.assert_array_equal(imported.embeddings, VECTORS[:, :2])
    assert imported.classes == ("a", "b")


def test_numbers_with_names_of_their_own_are_the_vector_and_stay_to_color_by(tmp_path):
    imported = read(write(tmp_path, {"width": VECTORS[:, 0], "height": VECTORS[:, 1], "label": ["a", "b"] * 15}))
    assert imported.embeddings.shape == (N, 2)
    assert imported.columns is not None
    assert imported.columns.column_names == ["width", "height"]


def test_a_table_of_embeddings_becomes_a_run_with_its_columns(tmp_path):
    imported = read(write(tmp_path, {"vector": VECTORS.tolist()} | MORE))
    run = import_embeddings(Runs(tmp_path / "runs", tmp_path / "none"), imported, "things")
    assert run.metrics == {}, "without labels there is no score"
    price, shop, stars, title = describe_columns(run.columns)
    assert (price.kind, price.low, price.high) == ("number", 1, 9)
    assert (shop.kind, shop.values) == ("category", ("Lima", "Oslo"))
    assert (stars.kind, stars.values) == ("category", ("0", "1", "2", "3", "4"))
    assert title.kind == "category"
    np.testing.assert_array_equal(column_numbers(run.columns, shop)[:4], [1, 0, np.nan, 1])
    np.testing.assert_allclose(column_numbers(run.columns, price), MORE["price"], rtol=1e-6)


def test_a_table_that_no_map_can_show_leaves_no_run(tmp_path):
    for scale in (1e-40, 1e25):
        table = pa.table({f"d{i}": scale * np.arange(12.0) for i in range(3)} | {"label": ["a", "b"] * 6})
        with pytest.raises(UserError):
            add_data(table, runs=tmp_path / "runs")
    assert Runs(tmp_path / "runs", tmp_path / "none").list() == []


def test_more_than_65_535_classes_are_refused_and_thousands_are_not(tmp_path):
    count = 66_000
    table = {"vector": np.zeros((count, 1), np.float32).tolist(), "label": np.arange(count)}
    with pytest.raises(UserError, match=r"up to 65,535 classes; things\.parquet has 66,000"):
        read(write(tmp_path, table))
    table = {name: values[:5000] for name, values in table.items()}
    imported = read(write(tmp_path, table))
    assert len(imported.classes) == 5000
    assert imported.labels.max() == 4999


def test_pictures_in_a_table_become_a_data_set_with_split_columns_and_roles(tmp_path):
    split = ["train"] * 20 + ["query"] * 4 + ["gallery"] * 6
    image = [{"bytes": png(i), "path": None} for i in range(N)]  # as Hugging Face keeps them
    label = [i % 5 for i in range(20)] + [10 + i % 2 for i in range(10)]
    table = {"image": image, "label": label, "split": split, "camera": np.arange(N) % 3} | MORE
    imported = import_path(write(tmp_path, table))
    assert isinstance(imported, ImportedDataset)
    assert imported.report["notes"][0] == "Pictures: image. Label: label."
    assert imported.report["notes"][3] == "The split is that of column split."
    assert imported.declared.class_split is not None
    assert imported.declared.class_split.disjoint
    assert imported.declared.classes == ("0", "1", "2", "3", "4", "10", "11")
    loaded = data.load(imported.save(tmp_path / "data"), tmp_path / "data")
    assert loaded.train.images.shape == (20, 12, 12, 3)
    assert loaded.test.roles["query"].tolist() == [1] * 4 + [0] * 6
    assert loaded.test.roles["camera"].tolist() == [i % 3 for i in range(20, N)]


def test_pictures_by_path_are_read_beside_the_table_and_bad_ones_are_left_out(tmp_path):
    for i in range(N):
        (tmp_path / f"{i}.png").write_bytes(png(i) if i else b"no picture")
    table = {"file": [f"{i}.png" for i in range(N)], "label": ["a", "b"] * 15}
    imported = import_path(write(tmp_path, table, ".csv"), side=96)
    assert isinstance(imported, ImportedDataset)
    assert imported.declared.size == 96
    assert imported.report["left_out"][0]["names"] == ["row 1"]
    with pytest.raises(UserError, match=r"column file of things\.csv, row 1: a path, which a server does not follow"):
        import_path(tmp_path / "things.csv", follow_paths=False)


def test_vectors_with_pictures_are_a_run_that_shows_them(tmp_path):
    table = {"image": [png(i) for i in range(N)], "vector": VECTORS.tolist(), "label": ["a", "b"] * 15}
    imported = read(write(tmp_path, table))
    run = import_embeddings(Runs(tmp_path / "runs", tmp_path / "none"), imported, "things", tmp_path / "data")
    loaded = data.load(run.config.dataset, tmp_path / "data")
    assert loaded.test.images.shape == (N, 12, 12, 3)
    assert len(loaded.train) == 0


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"vector": [[1.0, 2.0]] * 3 + [[1.0]]}, "column vector has 2 numbers in row 1 and 1 numbers in row 4"),
        ({"d0": [1.0, 2.0], "d1": [1.0, float("nan")]}, "the first in row 2, column d1"),
        ({"image": [b"x"] * 4}, "has no column called label"),
        ({"image": [b"x"] * 4, "label": ["a", "a", None, "b"]}, "column image of things.parquet, row 1: not a PNG"),
        ({"image": [b"x"] * 4, "label": pa.array([None] * 4, "string")}, "no row of things.parquet has a label"),
        ({"v": ["[1 2 ... 3]"] * 3}, "Column v of things.parquet holds vectors as texts; that in row 1 is shortened"),
        ({"image": [b"x"] * 4, "label": list("aabb")}, "column image of things.parquet, row 1: not a PNG"),
        ({"v": [b"\0" * 32] * 4, "label": list("aabb")}, "where the bytes are a vector, store a list of numbers"),
        ({"label": ["a"]}, "has columns of numbers; those of things.parquet are label (string)"),
        ({"label": pa.array([], "string")}, "things.parquet has none"),
    ],
)
def test_a_bad_table_is_one_sentence_that_names_column_and_row(tmp_path, table, says):
    with pytest.raises(UserError) as caught:
        import_path(write(tmp_path, table))
    assert says in str(caught.value)


def test_a_split_or_a_column_that_is_not_there_is_named(tmp_path):
    image = [png(i) for i in range(6)]
    table = {"image": image, "label": list("aabbab"), "split": ["train", "trian", *["test"] * 4]}
    with pytest.raises(UserError, match="column split has 'trian' in row 2"):
        import_path(write(tmp_path, table))
    with pytest.raises(UserError, match=r"things\.parquet has no column 'kind'; its columns are image, label, split"):
        import_path(tmp_path / "things.parquet", choice=Choice(label="kind"))


def test_tables_of_pandas_and_hugging_face_are_read_as_they_are(tmp_path):
    frame = pa.table({"vector": VECTORS.tolist(), "label": ["a", "b"] * 15, "price": MORE["price"]}).to_pandas()
    said = []
    run = add_data(frame, title="frame", runs=tmp_path / "runs", report=said.append)
    assert run.columns.column_names == ["price"]
    assert said == [
        "Label: label (2 values, 0 missing). "
        "Vector: vector, lists of 4 numbers (30 rows; choose others with --vector).",
        "Columns to color and search by: price.",
    ]
    with pytest.raises(UserError, match="a table of Arrow, pandas, polars or Hugging Face; got list"):
        add_data([1, 2], runs=tmp_path / "runs")
    with pytest.raises(UserError, match=r"got ndarray: see arrays with dmlviz\.show"):
        add_data(VECTORS, runs=tmp_path / "runs")
    with pytest.raises(UserError, match="column price holds float, str"):
        add_data(frame.assign(price=[1.0, "cheap"] * 15), runs=tmp_path / "runs")
    with pytest.raises(UserError, match="There is no file"):
        add_data(tmp_path / "nothing.csv", runs=tmp_path / "runs")


def test_a_dataset_of_hugging_face_with_images_and_class_names(tmp_path):
    hugging_face = pytest.importorskip("datasets")  # the extra `huggingface`
    features = hugging_face.Features(
        {"image": hugging_face.Image(), "label": hugging_face.ClassLabel(names=["cat", "dog"])}
    )
    rows = {"image": [{"bytes": png(i), "path": None} for i in range(N)], "label": [i % 2 for i in range(N)]}
    dataset = hugging_face.Dataset.from_dict(rows, features=features).select(range(4, N))
    dataset.save_to_disk(str(tmp_path / "saved"))
    dataset.to_parquet(str(tmp_path / "pets.parquet"))
    names = {
        add_data(source, title="pets", data=tmp_path / "data")
        for source in (dataset, tmp_path / "saved", tmp_path / "pets.parquet")
    }
    assert len(names) == 1, "however it comes, it is the same data set"
    loaded = data.load(names.pop(), tmp_path / "data")
    assert loaded.classes == ("cat", "dog")
    assert len(loaded.train) + len(loaded.test) == N - 4
    splits = hugging_face.DatasetDict(train=dataset.select(range(16)), test=dataset.select(range(16, 26)))
    splits.save_to_disk(str(tmp_path / "splits"))
    (name,) = {add_data(source, data=tmp_path / "data") for source in (splits, tmp_path / "splits")}
    loaded = data.load(name, tmp_path / "data")
    assert (len(loaded.train), len(loaded.test)) == (16, 10)
    with pytest.raises(UserError, match="one that is streamed: load it without streaming=True"):
        add_data(dataset.to_iterable_dataset(), data=tmp_path / "data")


def test_rows_are_numbered_as_in_the_file_and_classes_too_small_to_train_on_are_left_out(tmp_path):
    image = [b"no picture", *(png(i) for i in range(10))]
    imported = import_path(write(tmp_path, {"image": image, "label": list("aaaabbbbbcc")}))
    assert isinstance(imported, ImportedDataset)
    assert imported.declared.classes == ("a", "b", "c")
    imported = import_path(write(tmp_path, {"image": image, "label": list("aaaabbbbbbc")}))
    assert isinstance(imported, ImportedDataset)
    assert imported.declared.classes == ("a", "b")
    assert [entry["names"] for entry in imported.report["left_out"]] == [["row 1"], ["row 11"]]
    with pytest.raises(UserError, match="got 1 among 9 classes: add images"):
        import_path(write(tmp_path, {"image": image, "label": list("xaabcdefghi")}))
    with pytest.raises(UserError, match="column split has 'x' in row 3"):
        import_path(write(tmp_path, {"image": image, "label": list("aaaabbbbbbb"), "split": ["test"] * 2 + ["x"] * 9}))


def test_large_images_are_reduced_for_the_page():
    images = np.zeros((3, 224, 224, 3), np.uint8)
    images[1, :, 112:] = 200
    assert sprite_sheet.tile_side(images) == 64
    (tiles,) = [sprite_sheet.tiles([sprite_sheet.encode_sheet(images, 0)], 64)]
    assert tiles.shape == (100, 64, 64, 3)
    assert tiles[1, :, :32].max() == 0
    assert tiles[1, :, 32:].min() == 200


NUMBERS = np.arange(N) % 7 + 0.5


@pytest.mark.parametrize(
    ("names", "vector"),
    [
        (["x", "y", "cluster", "age"], "x, y"),
        (["lat", "lon", "pop"], "lon, lat"),
        (["umap_x", "umap_y", "price"], "umap_x, umap_y"),
        (["pca1", "pca2", "q2019", "q2020", "q2021"], "pca1, pca2"),
        (["x", "y", "d0", "d1", "d2"], "d0, d1, d2"),
        (["id", "price", "weight"], "price, weight, as they are, not scaled"),
        (["", "width", "height"], "width, height, as they are, not scaled"),
    ],
)
def test_coordinates_and_series_are_the_vector_and_the_report_names_it(tmp_path, names, vector):
    imported = read(write(tmp_path, dict.fromkeys(names, NUMBERS) | {"kind": ["a", "b"] * 15}))
    understood = f"Label: kind (2 values, 0 missing). Vector: {vector} (30 rows; choose others with --vector)."
    assert imported.notes[0] == understood
    assert imported.columns is None or "column" not in imported.columns.column_names, "row numbers are no column"


def test_long_labels_that_begin_alike_stay_different_classes(tmp_path):
    labels = [f"https://example.org/a/very/long/shared/prefix/of/classes/{i % 5}" for i in range(N)]
    imported = read(write(tmp_path, {"vector": VECTORS.tolist(), "label": labels}))
    assert len(set(imported.classes)) == 5
    assert list(imported.classes) == labels[:5]
    assert all(len(name) <= 40 and name.endswith(str(i)) for i, name in enumerate(short_names(imported.classes)))
    np.testing.assert_array_equal(imported.labels, np.arange(N) % 5)


def test_equal_names_are_numbered():
    middle = [f"{'a' * 30}{i}{'b' * 30}" for i in range(3)]
    assert len(set(short_names((*middle, f"{'a' * 19}…{'b' * 19}")))) == 4


@pytest.mark.parametrize("missing", [None, "", float("nan")])
def test_rows_without_a_label_are_told_apart_from_the_classes_and_are_not_scored(tmp_path, missing):
    labels = np.arange(N) % 2
    given = [
        missing if i < 6 else (float(label) if missing != missing else str(label)) for i, label in enumerate(labels)
    ]
    vectors = (VECTORS[:, :2] * 0.01 + 9 * np.eye(2)[labels]).astype(np.float32)
    imported = read(write(tmp_path, {"vector": vectors.tolist(), "label": given}))
    assert imported.classes == ("0", "1", "no label")
    assert imported.notes[-1].startswith("6 of 30 rows have no label: they are gray")
    run = import_embeddings(Runs(tmp_path / "runs", tmp_path / "none"), imported, "things")
    assert run.metrics["precision_at_1"] == 1
    assert run.metrics["queries"] == 24


def test_pictures_without_a_label_or_beside_a_vector_without_a_picture_are_counted(tmp_path):
    image = [png(i) for i in range(N)]
    imported = import_path(write(tmp_path, {"image": image, "label": [None, *"ab" * 14, "a"]}))
    assert imported.report["left_out"] == [{"reason": "without a label", "count": 1, "names": ["row 1"]}]
    assert imported.declared.classes == ("a", "b")
    imported = read(write(tmp_path, {"image": [None, *image[1:]], "vector": VECTORS.tolist()}))
    assert imported.images.shape[0] == N
    assert imported.notes[-1] == "Rows with an empty picture: 1, nothing is there (row 1)."


@pytest.mark.parametrize(
    ("content", "notes"),
    [
        ("d0;d1;kind\n0,5;1,5;a\n2,5;3,5;b\n".encode("utf-8-sig"), ["Numbers are read with decimal commas."]),
        (b"d0|d1|kind\n0.5|1.5|a\n2.5|3.5|b\n", []),
        ("d0\td1\tkind\n0.5\t1.5\ta\n2.5\t3.5\tb\n".encode("utf-16"), []),
        (b'v,kind\n"[0.5, 1.5]",a\n"[2.5 3.5]",b\n', []),
        ("d0,d1,kind\n0.5,1.5,ä\n2.5,3.5,b\n".encode("latin-1"), ["t.csv is not UTF-8 and was read as Windows-1252"]),
    ],
)
def test_text_tables_of_other_programs_give_the_same_vectors(tmp_path, content, notes):
    (tmp_path / "t.csv").write_bytes(content)
    imported = read(tmp_path / "t.csv", choice=Choice(label="kind"))
    np.testing.assert_array_equal(imported.embeddings, [[0.5, 1.5], [2.5, 3.5]])
    assert len(imported.classes) == 2
    assert [note[: len(expected)] for note, expected in zip(imported.notes[1:], notes, strict=False)] == notes


def test_equal_vectors_with_other_values_in_a_column_are_another_run(tmp_path):
    runs = Runs(tmp_path / "runs", tmp_path / "none")
    prices = ([1.0] * N, [2.0] * N, [2.0] * N)
    tables = [
        read(write(tmp_path, {"vector": VECTORS.tolist(), "price": price, "tags": [["x"]] * N})) for price in prices
    ]
    first, second, third = [import_embeddings(runs, table, "things").id for table in tables]
    assert first != second == third
    assert tables[0].notes[0].endswith("Left out: 1, tags (list).")


@pytest.mark.parametrize(
    "kind", ["timestamp[s]", "timestamp[ns]", "date32[day]", pa.timestamp("us", "Europe/Oslo")], ids=str
)
def test_dates_are_numbers_of_days_that_know_where_they_begin(kind):
    days = [None, *(datetime(2024, 1, 2) + timedelta(days=i) for i in range(1500))]
    table = pa.table({"when": pa.array(days, "timestamp[s]").cast(kind)})
    (when,) = describe_columns(table)
    assert (when.kind, when.low, when.high) == ("number", 0, 1499)
    assert when.date_of(2) == datetime(2024, 1, 4)
    np.testing.assert_array_equal(column_numbers(table, when)[:3], [np.nan, 0, 1])
