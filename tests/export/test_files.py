"""Tables, projector files, weights: read by the tools they are made for."""

import csv
import html
import io
import json
import math
import re
import sys
import zipfile
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image, ImageColor, features
from pyarrow import parquet

from dmlviz import data
from dmlviz.catalog.export_formats import FIGURES
from dmlviz.config import ProjectionConfig
from dmlviz.config.projection import pack_items
from dmlviz.data import sprite_sheet
from dmlviz.data.class_names import short_names
from dmlviz.data.embedding_file import read_embeddings
from dmlviz.errors import UnknownNameError, UserError
from dmlviz.export import FORMATS, RunExport, SpriteSheets, save, write
from dmlviz.export.figures import _draw
from dmlviz.export.film import _cut, _font, _lacks
from dmlviz.export.look import Look
from dmlviz.export.page_contents import run_contents
from dmlviz.export.painted import COLORS, flat, groups
from dmlviz.export.script import as_command, as_python
from dmlviz.export.tables import sprite_of
from dmlviz.export.weights import loading
from dmlviz.figures.maps import draw_map
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.runs.add_data import add_data
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.store import Runs
from dmlviz.runs.thresholds import Threshold, forget_threshold, keep_threshold
from tests.export.conftest import MAP


def written(name, kept):
    file = io.BytesIO()
    write(name, kept, file)
    file.seek(0)
    return file


def test_the_csv_has_a_row_for_each_test_image_with_its_place_and_neighbors(kept):
    rows = list(csv.DictReader(io.TextIOWrapper(written("csv", kept), encoding="utf-8")))
    assert len(rows) == 596
    assert [int(row["item"]) for row in rows] == list(range(596))
    assert [int(row["label"]) for row in rows] == kept.labels.tolist()
    places = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    np.testing.assert_allclose(places, kept.coordinates, rtol=1e-5, atol=1e-6)
    for item in (0, 77, 595):
        near = kept.run.neighbors(item, 10)
        assert [int(rows[item][f"neighbor_{k}"]) for k in range(1, 11)] == [one.item for one in near]
        far = [float(rows[item][f"distance_{k}"]) for k in range(1, 11)]
        assert far == pytest.approx([one.distance for one in near], rel=1e-5)


def test_the_parquet_holds_the_csv_and_the_embeddings(kept_projection):
    table = parquet.read_table(written("parquet", kept_projection))
    assert table.num_rows == 596
    assert np.array_equal(np.stack(table["embedding"].to_numpy()), kept_projection.embeddings)
    assert np.array_equal(np.stack([table["x"], table["y"]], axis=1), kept_projection.coordinates)
    told = json.loads(table.schema.metadata[b"dmlviz"])
    assert (told["run"], told["view"]) == (kept_projection.run.id, "tsne")


def test_the_projector_files_match(kept):
    with zipfile.ZipFile(written("projector", kept)) as archive:
        assert archive.testzip() is None
        vectors = np.loadtxt(archive.open("vectors.tsv"), delimiter="\t", dtype=np.float32)
        head, *rows = archive.read("metadata.tsv").decode().splitlines()
        sprite = np.asarray(Image.open(archive.open("sprite.png")))
        config = archive.read("projector_config.pbtxt").decode()
    assert np.array_equal(vectors, kept.embeddings)
    assert head.split("\t") == ["image", "class", "nearest"]
    assert [row.split("\t")[1] for row in rows] == [str(label) for label in kept.labels]
    assert config.count("single_image_dim: 8") == 2
    # The tool cuts the sprite row by row into as many tiles as its width holds.
    row, column = divmod(301, sprite.shape[1] // 8)
    tile = sprite[8 * row : 8 * row + 8, 8 * column : 8 * column + 8]
    assert np.array_equal(tile, data.load("digits").test.images[301])


def test_a_few_lines_load_the_weights_and_compare_by_the_threshold(kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keep_threshold(kept.run, Threshold(1e-6, (0, 1), 1000, 0.01, 0.2, "images", 0.01))
    save("thresholds", kept)
    forget_threshold(kept.run)
    assert (tmp_path / save("weights", kept)).exists()
    lines = loading(kept)
    assert len(lines.splitlines()) <= 11
    images = torch.from_numpy(data.load("digits").test.images)[:, None]
    told = {"images": images}
    exec(lines, told)
    np.testing.assert_allclose(told["embeddings"].detach().numpy(), kept.embeddings, atol=1e-5)
    assert told["same"].diagonal().all()
    assert told["same"].float().mean() < 0.5


def test_coinciding_images_still_have_other_images_as_neighbors():
    points = np.zeros((30, 3), np.float32)
    points[20:] = 1
    distances, found = NearestNeighbors(points).others(10)
    assert found.shape == distances.shape == (30, 10)
    assert not (found == np.arange(30)[:, None]).any()
    assert (distances[:20] == 0).all()


def test_file_names_are_plain(kept, kept_projection, monkeypatch):
    assert kept.file_name("html") == f"groe-b-co-b-{kept.run.id[:6]}.html"
    assert kept_projection.file_name("csv").endswith(f"-tsne-{MAP.id[:6]}-{kept.run.id[:6]}.csv")
    usual = replace(kept_projection, projection=SimpleNamespace(config=ProjectionConfig(method="tsne")))
    assert usual.file_name("csv").endswith(f"-b-tsne-{kept.run.id[:6]}.csv")
    monkeypatch.setattr(type(kept.run), "title", "Fashion-MNIST, triplet, semi-hard, random, once more")
    assert kept.file_name("html") == f"fashion-mnist-triplet-semi-hard-random-{kept.run.id[:6]}.html"


def test_long_names_are_cut_between_words():
    font = _font(15, [])
    assert _cut("sneaker boots of winter", font, int(font.getlength("sneaker boots of w…")) + 1) == "sneaker boots of…"
    assert _cut("Donaudampfschiff", font, int(font.getlength("Donaudampf…")) + 1) == "Donaudampf…"


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("python", "command")])
def test_an_unfinished_run_cannot_be_exported(name, runs):
    begun = runs.create(RunExport(runs.list()[0]).run.config.replace(seed=44))
    with pytest.raises(UserError, match=r"has no (embeddings|weights|model)"):
        write(name, RunExport(begun), io.BytesIO())
    runs.delete(begun.id)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "method", "count"), [("gif", None, 8), ("gif", "pca", 8), ("film", "tsne", 60)])
def test_a_film_plays_the_training_on_any_map_that_has_its_layouts(name, method, count, follow, monkeypatch):
    export = follow(method)
    if name == "gif":
        monkeypatch.setattr("dmlviz.export.film.FRAMES", (count,))  # of 60 each is drawn alike, for 20 ms
    film = Image.open(file := written(name, export))
    assert (film.n_frames, film.size) == (count, (720, 600))
    assert len(file.getvalue()) < 6_000_000
    film.seek(count - 1)
    assert near(film, "#328ff7") > 500
    if name == "gif":
        film = Image.open(written(name, replace(export, look=Look(frozenset({0}), area=(-2, -2, 2, 2)))))
        film.seek(count - 1)
        assert near(film, "#328ff7") == 0  # the class is hidden, and is not in the legend
        drawn = (np.asarray(film.convert("L"))[40:540, 200:] < 200).nonzero()
        assert np.ptp(drawn[0]) < 300  # seen from afar
        monkeypatch.setattr(RunExport, "note", "Drawn from the first 2 of 6 dimensions.")
        noted = Image.open(written(name, replace(export, look=Look(area=(-2, -2, 2, 2)))))
        assert (np.asarray(noted.convert("L"))[528:546, :200] < 200).sum() > 100


def near(picture: Image.Image, color: str) -> int:
    """How many pixels have about this color."""
    away = np.abs(np.asarray(picture.convert("RGB"), int) - ImageColor.getrgb(color)).max(axis=2)
    return int((away < 24).sum())


@pytest.mark.slow
def test_a_figure_shows_what_the_page_shows_with_text_as_text(run, kept_projection):
    look = Look(frozenset({0}), selected=frozenset({1, 2}), width=90)
    svg = written("svg", replace(kept_projection, look=look)).read().decode()
    words = " ".join(html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)", svg))
    shown = int((kept_projection.labels != 0).sum())
    hidden = len(kept_projection.labels) - shown
    for said in (
        f"{run.title}: t-SNE",
        f"Digits 8 × 8, step 12: {shown} images; {hidden} more in hidden classes; 2 selected, the others pale; P@1",
        "trustworthiness 0.9",
        "seed 0",
        "no scale",
    ):
        assert said in words
    assert re.search(r'width="255\.\d+pt"', svg)  # 90 mm
    texts = re.findall(r"<text[^>]*>([^<]*)", svg)
    assert all(texts.count(str(label)) == 2 for label in range(1, 10))  # at its points and in the legend
    assert "0" not in texts
    colors, labels = groups(kept_projection).colors, kept_projection.labels
    drawn = Counter(re.findall(r"fill: (#[0-9a-f]{6})", svg))
    for label in range(1, 10):  # its place in the legend, and its selected points
        assert drawn[colors[label]] == 1 + (labels[[1, 2]] == label).sum()
    step = run.snapshot_steps[1]
    early = written("svg", RunExport(run, look=Look(step=step))).read().decode()
    assert f"step {step}: 200 images" in early
    assert "no scale" not in early


@pytest.mark.slow
@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("of", ["the run", "a projection"])
def test_a_figure_has_the_colors_and_the_part_that_the_page_shows(color, of, run, kept_projection):
    export = kept_projection if of == "a projection" else RunExport(run)
    painted = groups(replace(export, look=Look(color=color)))
    part = Look(color=color, area=(-0.5, -0.25, 0.5, 0.75))
    svg = written("svg", replace(export, look=part)).read().decode()
    texts = [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)", svg)]
    words = " ".join(texts)
    assert "a part of the map" in words
    assert (f"colored by {color}" in words) == (color != "class")
    for group in np.unique(painted.of):
        assert painted.names[group] in texts
        assert painted.colors[group] in svg
    if color == "class":  # where points lie has nothing to do with their colors
        whole = written("svg", replace(export, look=Look(color=color))).read().decode()
        assert "a part of the map" not in whole
        places = re.compile(r'<use [^>]*x="[\d.]+" y="[\d.]+"')
        assert {*places.findall(svg)} != {*places.findall(whole)}


def test_what_no_figure_can_be_colored_by_is_said(run):
    with pytest.raises(UserError, match=r"are colored by class, error, .*forgotten; got 'column"):
        written("svg", RunExport(run, look=Look(color="column.age")))


def test_three_dimensions_are_seen_as_on_the_page():
    points = np.random.default_rng(0).standard_normal((50, 3))
    seen = flat(points, points.mean(axis=0), None)
    near, far = (np.linalg.norm(p[:, None] - p[None], axis=2) for p in (seen, points))
    np.testing.assert_allclose(near, far)
    eye = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    np.testing.assert_allclose(flat(points, np.zeros(3), tuple(eye.ravel())), points[:, [1, 2, 0]])
    np.testing.assert_allclose(flat(points, np.zeros(3), tuple(eye.ravel()), np.pi)[:, :2], points[:, [1, 2]] * [-1, 1])


def test_a_font_is_asked_for_every_letter():
    font = _font(15, ["0", "née", "Größe"])
    assert not _lacks(font, "Größe née")
    assert not _lacks(font, "קטן") or not features.check("raqm")
    assert _lacks(font, "Größe 𓀀")


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_written_as_vectors_and_pixels(name, run):
    export = RunExport(run, look=Look(figure=name, width=250, scale=1))
    pdf = written("pdf", export).read()
    assert pdf.startswith(b"%PDF")
    assert b"DejaVuSans" in pdf
    assert Image.open(written("png", export)).size == (944, 531)
    if name == "map":
        assert pdf == written("pdf", export).read()  # equal figures are equal files
        assert Image.open(written("png", replace(export, look=Look(scale=4)))).width == 1285


def test_a_map_of_one_step_is_no_film(kept_projection):
    with pytest.raises(UserError, match="this t-SNE has one: draw all epochs"):
        write("film", kept_projection, io.BytesIO())
    assert kept_projection.problem("gif").startswith("A film needs a layout of each snapshot")


def test_a_look_is_read_from_the_address_of_a_page():
    query = {"hide": "digits.0-2,7", "step": "40", "select": f"digits.{pack_items(np.array([3, 5]))}"}
    assert Look.of_address(query, "digits") == Look(frozenset({0, 1, 2, 7}), 40, frozenset({3, 5}))
    assert Look.of_address({"hide": "mnist.1"}, "digits") == Look()  # of another data set
    assert Look.of_address({"width": "slide", "scale": "4"}, "digits") == Look(width=250, scale=4)
    for wrong in (
        {"hide": "digits.x"},
        {"step": "-1"},
        {"select": "digits.%"},
        {"width": "0"},
        {"width": "nan"},
        {"scale": "3"},
        {"area": "0,0,1"},
        {"area": "1,0,0,1"},
        {"turn": "1,0,0,0,1,0,0,0,x"},
    ):
        with pytest.raises(UserError):
            Look.of_address(wrong, "digits")


def test_an_unknown_format_names_the_others(kept, tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean 'parquet'"):
        save("parket", kept, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def epochs(runs, run):
    """Maps of one epoch and of all: what is kept of them, by whether it is a film."""
    made = {}
    for film in (False, True):
        config = ProjectionConfig(method="pca", follow=film, step=None if film else run.embedded_steps[1])
        projection = runs.create_projection(run, config)
        run_projection(projection.path)
        assert projection.state == "finished", projection.end
        made[film] = RunExport.from_run(run, projection)
    return made


@pytest.mark.parametrize("film", [False, True])
def test_a_map_of_an_epoch_is_kept_with_the_images_that_were_watched_one_that_followed_with_all(epochs, run, film):
    kept = epochs[film]
    step, items = (None, [*range(len(run.labels))]) if film else (run.embedded_steps[1], run.tracked_indices.tolist())
    table = parquet.read_table(written("parquet", kept))
    assert table["item"].to_pylist() == items
    assert np.array_equal(np.stack(table["embedding"].to_numpy()), run.embeddings_at(step)[0])
    assert np.array_equal(np.stack([table["x"], table["y"]], axis=1), kept.projection.coordinates)
    assert set(table["neighbor_1"].to_pylist()) <= set(items)
    with zipfile.ZipFile(written("projector", kept)) as archive:
        sprite = np.asarray(Image.open(archive.open("sprite.png")))
        assert len(archive.read("metadata.tsv").splitlines()) == 1 + len(items)
    row, column = divmod(77, math.ceil(len(items) ** 0.5))  # 200 pictures, 15 × 15 places
    tile = sprite[8 * row : 8 * row + 8, 8 * column : 8 * column + 8]
    assert np.array_equal(tile, data.load("digits").test.images[items[77]])
    assert kept.projection.id in written("html", kept).getvalue().decode()
    flag = "--follow" if film else f"--step {step}"
    assert flag in as_command(kept)
    assert flag in as_python(kept)


def test_the_figures_are_pages_that_share_one_script_and_need_no_network(kept):
    with zipfile.ZipFile(written("figures", kept)) as archive:
        assert archive.testzip() is None
        pages = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".html")}
        tables = {
            name: list(csv.DictReader(io.TextIOWrapper(archive.open(name), encoding="utf-8")))
            for name in archive.namelist()
            if name.endswith(".csv")
        }
        listed = archive.read("README.txt").decode()
        assert len(archive.read("plotly.min.js")) > 1_000_000
    names = {name.removesuffix(".html") for name in pages}
    assert names == {name.removesuffix(".csv") for name in tables} == set(FIGURES)
    for name, page in pages.items():
        assert re.findall(r'<script src="(.*?)"', page) == ["plotly.min.js"]
        assert not re.search(r"(src|href)=.https?:", page)
        assert len(page) < 60_000
        assert f"{name}, " in listed
        assert "<title>" in page
        assert "Größe &lt;b&gt;&amp; Co&lt;/b&gt;" in page
    scores = kept.run.metrics
    recall = [float(row["recall"]) for row in tables["recall_at_k.csv"]]
    assert [recall[k - 1] for k in (1, 5, 10)] == [scores[f"recall_at_{k}"] for k in (1, 5, 10)]
    assert sum(int(row["images"]) for row in tables["confusion_matrix.csv"]) == 596
    assert [int(row["item"]) for row in tables["map.csv"]] == list(range(596))
    pairs = sum(int(row["one_class"]) + int(row["two_classes"]) for row in tables["distance_histogram.csv"])
    assert pairs == 596 * 595 // 2
    losses = {int(row["step"]): row["loss"] for row in tables["training_curves.csv"]}
    assert losses[0] == ""
    assert float(losses[1]) > 0


@pytest.mark.slow
def test_files_of_a_part_have_its_images_and_say_what_was_drawn(follow):
    copy, few = follow(None).run, np.arange(3, 400, 9)
    config = ProjectionConfig(method="pca", prefix=3, subset=pack_items(few))
    projection = Runs(copy.path.parent).create_projection(copy, config)
    run_projection(projection.path)
    export, said = RunExport(copy, projection), "rawn from the first 3 of 6 dimensions"
    figure, columns = _draw("map", export)
    shown = [item for trace in figure.data for item in trace.customdata]
    assert sorted(shown) == columns["item"].tolist() == few.tolist()
    assert f"{len(few)} test images" in figure.layout.meta["about"]
    assert said in figure.layout.meta["about"]
    assert said in re.sub(r"</text>.*?<text[^>]*>", " ", written("svg", export).read().decode(), flags=re.DOTALL)
    told = json.loads(parquet.read_schema(written("parquet", export)).metadata[b"dmlviz"])
    assert ProjectionConfig.from_json(told["projection"]) == config


def test_figures_of_an_epoch_are_of_its_images(epochs, run):
    with zipfile.ZipFile(written("figures", epochs[False])) as archive:
        items = [int(row.split(",")[0]) for row in archive.read("map.csv").decode().splitlines()[1:]]
        assert items == run.tracked_indices.tolist()
        assert (
            f"200 tracked test images of Digits 8 × 8 after step {run.embedded_steps[1]}"
            in archive.read("README.txt").decode()
        )


def test_figures_that_vectors_do_not_give_are_left_out_and_the_list_says_why(tmp_path):
    np.savez(tmp_path / "words.npz", vectors=np.eye(4, dtype=np.float32), labels=[0, 1, 2, 3])
    runs = Runs(tmp_path / "runs", tmp_path / "none")
    given = import_embeddings(runs, read_embeddings(tmp_path / "words.npz"), "words")
    with zipfile.ZipFile(written("figures", RunExport(given))) as archive:
        assert "roc.html" not in archive.namelist()
        assert '"row %{customdata}' in archive.read("map.html").decode()
        listed = archive.read("README.txt").decode()
    assert "ROC is left out. Verification needs same-class and different-class pairs; got 0 and 6" in listed
    assert "Training is left out." in listed
    drawn = re.sub(r"</text>.*?<text[^>]*>", " ", written("svg", RunExport(given)).read().decode(), flags=re.DOTALL)
    assert "words: 4 rows; " in drawn


def test_faiss_reads_the_index_and_finds_the_same_neighbors(kept):
    faiss = pytest.importorskip("faiss")
    file = io.BytesIO()
    write("faiss", kept, file)
    index = faiss.deserialize_index(np.frombuffer(file.getvalue(), np.uint8))
    squared, ids = index.search(np.asarray(kept.embeddings[:20]), 11)
    distances, neighbors = kept.neighbors
    np.testing.assert_array_equal(ids[:, 0], kept.items[:20])
    np.testing.assert_allclose(np.sqrt(squared[:, 1:]), distances[:20], atol=1e-3)
    assert (ids[:, 1:] == neighbors[:20]).mean() > 0.95  # equal distances may change places


NAMES = [
    'say "hi"', "it's", "a,b", "a;b", "a\\b", "a/b", "tab\there", "tab there", "two\nlines", "two lines", "cr\r\nlf",
    "<b>x</b>", "</script><script>alert(1)</script>", "$x$ %s {y}", "日本語", "قطة", "می\u200cخواهم",
    "👩\u200d👩\u200d👧", "e\u0301", "é", "\u202eevil", "x" * 300, "x" * 299 + "y", "A&B", "&amp;", "#tag", "a  b",
    "=1+1", "'", "__proto__", "constructor", " leading", "%{x}", "a" * 45 + "b", "a" * 45 + "c", "x" * 2000,
]  # fmt: skip


@pytest.mark.slow
def test_class_names_of_any_script_and_sign_stay_different_in_every_file(tmp_path):
    count = 4 * len(NAMES)
    vectors = np.random.default_rng(0).normal(size=(count, 8)).tolist()
    table = pa.table({"v": vectors, "label": [NAMES[i % len(NAMES)] for i in range(count)]})
    said = []
    run = add_data(table, runs=tmp_path, report=said.append)
    export = RunExport.from_run(run)
    names = [export.classes[label] for label in export.labels]
    assert len(set(names)) == len(NAMES)
    assert all(name.isprintable() or "\u200c" in name or "\u200d" in name for name in names)
    assert any("5 class names are put on one line of up to 1,000 characters" in line for line in said)
    assert {"x" * 300, "a" * 45 + "b", "__proto__", "leading", "=1+1"} <= {*names}
    shown = short_names(export.classes)
    assert len({*shown}) == len(NAMES)
    contents = run_contents(export)
    assert [contents["whole_names"].get(name, name) for name in contents["classes"]] == [*export.classes]
    traces = draw_map(export.coordinates, export.labels, None, export.classes, "t", "a").data
    assert [html.unescape(trace.name) for trace in traces] == [*shown]
    assert not any(re.search(r"[<>]|&(?!\w+;|#)|%\{", trace.name) for trace in traces)
    files = {}
    for name, spec in FORMATS.items():
        if not spec.needs_net and not export.problem(name):
            file = io.BytesIO()
            with suppress(UserError) if name in ("pdf", "png") else nullcontext():  # where no font has all letters
                write(name, export, file)
            files[name] = file.getvalue()
    rows = list(csv.DictReader(io.StringIO(files["csv"].decode("utf-8-sig"), newline="")))
    assert [
        row["class"].replace("'=", "=") for row in rows
    ] == names  # a formula to no spreadsheet; dmlviz takes it off
    assert parquet.read_table(io.BytesIO(files["parquet"])).column("class").to_pylist() == names
    with zipfile.ZipFile(io.BytesIO(files["projector"])) as archive:
        lines = archive.read("metadata.tsv").decode().split("\n")[1:]
    assert [line.split("\t")[1].split() for line in lines if line] == [name.split() for name in names]
    assert b"</script><script>alert" not in files["html"]
    with zipfile.ZipFile(io.BytesIO(files["figures"])) as archive:
        pages = [archive.read(name) for name in archive.namelist() if name.endswith(".html")]
    assert pages
    assert not any(b"</script><script>alert" in page for page in pages)


def test_no_two_files_of_a_run_have_one_name(kept):
    names = [kept.file_name(format) for format in FORMATS]
    assert len(set(names)) == len(names)


def test_a_file_that_cannot_be_made_here_says_why(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    monkeypatch.setattr("dmlviz.catalog.export_formats.find_spec", lambda name: None)
    assert "needs onnxscript, which is not installed: pip install 'dmlviz[onnx]'" in FORMATS["onnx"].problem
    assert "needs matplotlib, which is not installed: pip install 'dmlviz[figures]'" in FORMATS["svg"].problem
    assert not any(FORMATS[name].problem for name in FORMATS if name not in ("onnx", "svg", "pdf", "png"))


def seen(sprite, side, i):
    """What TensorBoard draws for point i: on the map its shader, in the list of neighbors its inspector (both equal).

    The shader's column is i mod the tiles in a row, its row ⌊i / the tiles in a column⌋; the inspector divides by the
    tiles in a row both times.
    """
    in_a_column, in_a_row = sprite.shape[0] // side, sprite.shape[1] // side
    shader, inspector = (i // in_a_column, i % in_a_row), (i // in_a_row, i % in_a_row)
    assert shader == inspector
    row, column = shader
    return sprite[row * side : (row + 1) * side, column * side : (column + 1) * side]


def kept_with(images, items):
    pngs = tuple(sprite_sheet.encode_sheet(images, number) for number in range(sprite_sheet.sheet_count(len(images))))
    return SimpleNamespace(sheets=SpriteSheets(images.shape[1], pngs), items=items)


@pytest.mark.parametrize("n", [1, 2, 10, 100, 596, 1797, 10_000, 12_345])
@pytest.mark.parametrize("colors", [(), (3,)])
def test_the_sprite_has_every_image(n, colors):
    images = np.random.default_rng(n).integers(256, size=(n, 4, 4, *colors), dtype=np.uint8)
    sprite = np.asarray(Image.open(io.BytesIO(sprite_of(kept_with(images, np.arange(n))))))
    assert sprite.shape[0] == sprite.shape[1]
    assert all(np.array_equal(seen(sprite, 4, i), images[i]) for i in range(n))


def test_a_map_of_some_images_has_only_their_sprites():
    images = np.random.default_rng(0).integers(256, size=(500, 4, 4), dtype=np.uint8)
    items = np.arange(7, 500, 3)
    sprite = np.asarray(Image.open(io.BytesIO(sprite_of(kept_with(images, items)))))
    assert all(np.array_equal(seen(sprite, 4, i), images[item]) for i, item in enumerate(items))


def test_too_many_images_for_one_sprite_are_omitted():
    kept = SimpleNamespace(sheets=SpriteSheets(512, ()), items=np.arange(257))  # 17 × 512 pixels
    assert sprite_of(kept) is None
    assert sprite_of(SimpleNamespace(sheets=None, items=np.arange(3))) is None


def test_the_projector_zip_holds_the_sprite(kept, tmp_path):
    path = Path(tmp_path / "projector.zip")
    with path.open("wb") as file:
        write("projector", kept, file)
    with zipfile.ZipFile(path) as archive:
        sprite = np.asarray(Image.open(archive.open("sprite.png")))
    images = sprite_sheet.tiles(kept.sheets.pngs, kept.sheets.tile)
    assert all(np.array_equal(seen(sprite, 8, i), images[i]) for i in range(596))
