"""Tables as data: which columns are vectors, pictures, labels and roles; sentences for what cannot be read."""

import io

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import csv, parquet

from dmlviz import data
from dmlviz.data import sprite_sheet
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
    "title": [f"thing {i}" for i in range(N)],
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
    assert imported.report["notes"][2] == "The split is that of column split."
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
        ({"image": [b"x"] * 4, "label": ["a", "a", None, "b"]}, "column label has nothing in row 3"),
        ({"image": [b"x"] * 4, "label": list("aabb")}, "column image of things.parquet, row 1: not a PNG"),
        ({"label": ["a"]}, "has columns of numbers; those of things.parquet are label"),
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
    with pytest.raises(UserError, match=r"columns of things\.parquet are image, label, split; got 'kind'"):
        import_path(tmp_path / "things.parquet", choice=Choice(label="kind"))


def test_tables_of_pandas_and_hugging_face_are_read_as_they_are(tmp_path):
    frame = pa.table({"vector": VECTORS.tolist(), "label": ["a", "b"] * 15, "price": MORE["price"]}).to_pandas()
    run = add_data(frame, title="frame", runs=tmp_path / "runs")
    assert run.columns.column_names == ["price"]
    with pytest.raises(UserError, match="a table of Arrow, pandas or Hugging Face; got list"):
        add_data([1, 2], runs=tmp_path / "runs")
    with pytest.raises(UserError, match="There is no file"):
        add_data(tmp_path / "nothing.csv", runs=tmp_path / "runs")


def test_a_dataset_of_hugging_face_with_images_and_class_names(tmp_path):
    hugging_face = pytest.importorskip("datasets")  # the extra `huggingface`
    features = hugging_face.Features(
        {"image": hugging_face.Image(), "label": hugging_face.ClassLabel(names=["cat", "dog"])}
    )
    rows = {"image": [{"bytes": png(i), "path": None} for i in range(N)], "label": [i % 2 for i in range(N)]}
    dataset = hugging_face.Dataset.from_dict(rows, features=features).select(range(4, N))
    name = add_data(dataset, title="pets", data=tmp_path / "data")
    loaded = data.load(name, tmp_path / "data")
    assert loaded.classes == ("cat", "dog")
    assert len(loaded.train) + len(loaded.test) == N - 4


def test_rows_are_numbered_as_in_the_file_and_classes_too_small_to_train_on_are_left_out(tmp_path):
    image = [b"no picture", *(png(i) for i in range(10))]
    imported = import_path(write(tmp_path, {"image": image, "label": list("aaaabbbbbcc")}))
    assert isinstance(imported, ImportedDataset)
    assert imported.declared.classes == ("a", "b", "c")
    imported = import_path(write(tmp_path, {"image": image, "label": list("aaaabbbbbbc")}))
    assert isinstance(imported, ImportedDataset)
    assert imported.declared.classes == ("a", "b")
    assert [entry["names"] for entry in imported.report["left_out"]] == [["row 1"], ["row 11"]]
    with pytest.raises(UserError, match="got 1 among 9 classes: add pictures"):
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
