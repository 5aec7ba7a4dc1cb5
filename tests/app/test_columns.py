"""Columns of an imported table and roles of made images: colors of the map, the rows that a filter finds."""

import base64
import csv
import shutil
from datetime import datetime, timedelta
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest
from dmlviz_app.answers.columns import column_bytes, column_infos, columns_of
from dmlviz_app.answers.table_rows import Condition, Filter, matching_rows, rows_as_csv, sorted_rows, with_classes
from dmlviz_app.forms.view_state import UIState
from pyarrow import parquet

from dmlviz import data
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data.import_path import import_path
from dmlviz.errors import UserError
from dmlviz.export import RunExport
from dmlviz.export.tables import table
from dmlviz.figures.data import images, measure
from dmlviz.runs.archive import export_run, import_run
from dmlviz.runs.damage import check
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.per_query import per_query_bytes
from dmlviz.runs.run import Run
from dmlviz.runs.run_columns import has_columns, run_columns
from dmlviz.runs.store import Runs

N = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("columns")


@pytest.fixture(scope="module")
def run(folder):
    table = {
        "vector": np.random.default_rng(0).normal(size=(N, 3)).tolist(),
        "label": ["cat", "dog"] * (N // 2),
        "price": np.arange(N) + 0.5,
        "shop": ["Oslo", "Lima", None, "Pune"] * (N // 4),
        "note": [f"Thing {i}" for i in range(N)],
        "two/names ü": np.arange(N) % 3,
    }
    parquet.write_table(pa.table(table), folder / "t.parquet")
    return import_embeddings(Runs(folder / "runs", folder / "none"), import_path(folder / "t.parquet"), "t")


def test_a_table_of_the_map_ends_with_them(run):
    kept = table(RunExport(run))
    assert kept.column_names[-4:] == ["price", "shop", "note", "two/names ü"]
    assert kept.column("note").to_pylist() == [f"Thing {i}" for i in range(N)]


def test_the_map_is_told_of_numbers_and_categories(run, folder):
    assert has_columns(run, folder)
    infos = {info["name"]: info for info in column_infos(run, folder)}
    assert (infos["price"]["low"], infos["price"]["high"], infos["price"]["values"]) == (0.5, 19.5, None)
    assert infos["shop"]["values"] == ["Lima", "Oslo", "Pune"]
    assert infos["two/names ü"]["values"] == ["0", "1", "2"]
    codes = np.frombuffer(column_bytes(run, folder, "shop"), "<f4")
    np.testing.assert_array_equal(codes[:4], [1, 0, np.nan, 2])
    with pytest.raises(UserError, match="no column 'secret'"):
        column_bytes(run, folder, "secret")


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        (Filter(), range(N)),
        (Filter(text="thing 1"), [1, *range(10, 20)]),
        (Filter(text="DOG"), range(1, N, 2)),
        (Filter("dog", (Condition("shop", values=("Lima",)),)), range(1, N, 4)),
        (Filter("", (Condition("shop", values=("Oslo", "Pune")),)), sorted([*range(0, N, 4), *range(3, N, 4)])),
        (Filter("", (Condition("price", low=3, high=5.5),)), [3, 4, 5]),
        (Filter("", (Condition("price", low=3, high=9), Condition("shop", values=("Oslo",)))), [4, 8]),
        (Filter("dog", (Condition("price", high=9),), np.array([1, 2, 3, 15, 10**6])), [1, 3]),
        (Filter(text="nothing like it"), []),
    ],
)
def test_a_filter_finds_rows(run, folder, wanted, rows):
    found = matching_rows(with_classes(run, run.columns), columns_of(run, folder), wanted)
    assert found.tolist() == list(rows)


def test_dates_are_filtered_as_days_and_rows_without_a_label_are_not_scored(tmp_path):
    days = [datetime(2024, 1, 1) + timedelta(days=i) for i in range(N)]
    labels = [None if i < 4 else "ab"[i % 2] for i in range(N)]
    vectors = [[float(label == "a"), i / 1000] for i, label in enumerate(labels)]
    parquet.write_table(pa.table({"vector": vectors, "label": labels, "when": days}), tmp_path / "t.parquet")
    run = import_embeddings(Runs(tmp_path / "runs", tmp_path / "none"), import_path(tmp_path / "t.parquet"), "t")
    (info,) = column_infos(run, tmp_path)
    assert info == {"name": "when", "low": 0, "high": N - 1, "values": None, "start": 1_704_067_200_000}
    wanted = Filter(conditions=(Condition("when", low=3, high=5),))
    assert matching_rows(run.columns, columns_of(run, tmp_path), wanted).tolist() == [3, 4, 5]
    items, classes = np.frombuffer(per_query_bytes(run, None), "<i4").reshape(7, -1)[:2]
    assert items.tolist() == list(range(4, N))
    assert set(classes) == {0, 1}
    assert len(measure("recall_at_k", run).classes) == 3
    assert images(run).items.tolist() == list(range(4, N))


def test_rows_are_sorted_by_a_column_with_those_without_a_value_last(run):
    table, rows = with_classes(run, run.columns), np.array([2, 3, 4, 5, 9, 11])
    assert sorted_rows(table, rows, "price", descending=True).tolist() == [11, 9, 5, 4, 3, 2]
    assert sorted_rows(table, rows, "shop", descending=False).tolist() == [5, 9, 4, 3, 11, 2]
    assert sorted_rows(table, rows, "shop", descending=True).tolist() == [3, 11, 4, 5, 9, 2]
    assert sorted_rows(table, rows, "class", descending=True).tolist() == [3, 5, 9, 11, 2, 4]
    gaps = pa.table({"x": [np.nan, 2.0, None, 1.0]})
    assert sorted_rows(gaps, np.arange(4), "x", descending=True).tolist() == [1, 3, 0, 2]


def test_rows_as_csv_have_every_column(run):
    head, *rows = csv.reader(rows_as_csv(with_classes(run, run.columns), np.array([5, 2])).decode().splitlines())
    assert head == ["row", "class", "price", "shop", "note", "two/names ü"]
    assert rows == [["5", "dog", "5.5", "Lima", "Thing 5", "2"], ["2", "cat", "2.5", "", "Thing 2", "2"]]


def test_the_routes_give_labels_and_columns(run, here, client):
    shutil.copytree(run.path, here.runs.folder / run.id)
    labels = np.frombuffer(client.get(f"/dmlviz/runs/{run.id}/labels.u16").content, "<u2")
    assert labels.tolist() == [0, 1] * (N // 2)
    names = [info["name"] for info in client.get(f"/dmlviz/runs/{run.id}/columns.json").json()]
    assert names == ["price", "shop", "note", "two/names ü"]
    address = f"/dmlviz/runs/{run.id}/columns/{quote('two/names ü', safe='')}.f32"
    assert np.frombuffer(client.get(address).content, "<f4").tolist() == [i % 3 for i in range(N)]
    picked = base64.b64encode(np.packbits(np.arange(N) == 5, bitorder="little").tobytes())
    answer = client.post(f"/dmlviz/runs/{run.id}/rows.csv", content=picked)
    assert [*csv.reader(answer.text.splitlines())][1:] == [["5", "dog", "5.5", "Lima", "Thing 5", "2"]]
    for wrong, said in ((b"?" * 4, "in base64"), (b"A" * 100, "takes at most")):
        refused = client.post(f"/dmlviz/runs/{run.id}/rows.csv", content=wrong)
        assert refused.status_code != 200
        assert said in refused.json()["error"]
    missing = client.get(f"/dmlviz/runs/{run.id}/columns/secret.f32")
    assert missing.status_code == 404
    assert "no column 'secret'" in missing.json()["error"]


def test_columns_travel_with_an_exported_run_and_damage_is_told(run, folder):
    with open(folder / "run.zip", "wb") as file:
        export_run(run, file)
    with open(folder / "run.zip", "rb") as file:
        copy = import_run(file, Runs(folder / "others", folder / "none"))
    assert copy.columns.equals(run.columns)
    (copy.path / "columns.parquet").write_bytes(b"PAR1 no")
    assert [damage.file for damage in check(Run(copy.path))] == ["columns.parquet"]


def test_a_color_that_does_not_exist_is_said():
    for color in ("column.two/names ü", "model"):  # a role of made images goes alone, too
        assert UIState.from_query({"color": color}).messages.all() == {}
    assert "colum.x" in next(iter(UIState.from_query({"color": "colum.x"}).messages.all().values()))


@pytest.mark.slow
def test_roles_of_made_images_are_columns_in_the_order_of_the_spec(folder, made_folder):
    root = made_folder.parent
    test = data.load("identities", root).test
    run = Runs(folder / "made", folder / "none").create(TrainConfig(dataset="identities", images_per_class=8))
    before = column_infos(run, root)  # what a map that follows the training is colored by
    np.save(run.path / "labels.npy", test.labels)
    assert has_columns(run, root)
    assert column_infos(run, root) == before
    infos = {info["name"]: info["values"] for info in column_infos(run, root)}
    assert infos["camera"] == list(DATASETS["identities"].roles["camera"])
    assert infos["query"] == ["gallery", "query"]
    assert infos["model"] == list(DATASETS["digits"].classes)
    codes = np.frombuffer(column_bytes(run, root, "camera"), "<f4")
    np.testing.assert_array_equal(codes, test.roles["camera"])
    rows = matching_rows(
        run_columns(run, root), columns_of(run, root), Filter("", (Condition("query", values=("query",)),))
    )
    np.testing.assert_array_equal(rows, np.flatnonzero(test.roles["query"]))
    np.save(run.path / "labels.npy", test.labels[:-1])  # of other images
    assert run_columns(run, root) is None
