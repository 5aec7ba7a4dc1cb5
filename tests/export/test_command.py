"""The commands `dmlviz export` and `dmlviz data`."""

import io
import re
import runpy
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from dmlviz import nets
from dmlviz.catalog import custom_datasets
from dmlviz.cli.main import main
from dmlviz.data import load
from dmlviz.data.sprite_sheet import encode_sheet
from dmlviz.errors import UserError
from dmlviz.export import RunExport, site_runs, write
from dmlviz.export.onnx_file import from_bytes
from dmlviz.runs.embed import embed
from dmlviz.runs.explanations import occlusion_maps
from dmlviz.runs.store import Runs
from dmlviz.runs.thresholds import threshold


def run_cli(capsys, *arguments):
    """Return exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as exit_info:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return exit_info.value.code or 0, output.out, output.err


@pytest.mark.slow
def test_the_default_file_is_named_after_the_run(capsys, runs, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, output, _ = run_cli(capsys, "export", run.id, "--format", "csv", "--runs", runs.folder)
    assert code == 0
    assert (tmp_path / output.strip()).read_text().count("\n") == 597
    code, output, _ = run_cli(capsys, "export", run.id, "--format", "command", "--out", "-", "--runs", runs.folder)
    assert output.startswith("dmlviz train")


def test_view_selects_a_projection_by_method(capsys, runs, run, tmp_path):
    out = tmp_path / "map.html"
    code, output, _ = run_cli(capsys, "export", run.id, "--view", "tsne", "-o", out, "--runs", runs.folder)
    assert (code, output.strip()) == (0, str(out))
    (drawn,) = (one.id for one in run.projections() if one.config.method == "tsne")  # other tests draw other maps
    assert drawn in out.read_text()
    code, _, output = run_cli(capsys, "export", run.id, "--view", "umapp", "-o", out, "--runs", runs.folder)
    assert code == 2
    assert "a projection (plane, pca, tsne, umap, pacmap, localmap) or its ID; got 'umapp'" in " ".join(output.split())


@pytest.mark.slow
def test_a_site_of_the_pixels_of_a_data_set_has_a_page_for_each_view(capsys, tmp_path, monkeypatch):
    where = "--runs", tmp_path / "runs", "--data", tmp_path / "data"
    code, output, _ = run_cli(capsys, "data", "pixels", "digits", *where)
    assert (code, "Pixels of Digits 8 × 8: 1,797 embeddings, 64-d, 10 classes" in output) == (0, True)
    run = Runs(tmp_path / "runs").find("latest")
    digits = load("digits")
    np.testing.assert_array_equal(run.labels, [*digits.train.labels, *digits.test.labels])
    np.testing.assert_allclose(run.embeddings[-1] * 255, digits.test.images[-1].ravel(), atol=1e-3)
    monkeypatch.setattr(site_runs, "MOST_WHOLE_SHEETS", 0)
    views = "--view", "pca", "--view", "tsne"
    code, output, _ = run_cli(capsys, "site", tmp_path / "site", run.id, *views, *where)
    assert (code, output.count("has no drawing pad")) == (0, 1)
    titles = re.findall(r"Pixels of Digits 8 × 8, ([\w-]+)", (tmp_path / "site" / "index.html").read_text())
    assert titles == ["PCA", "t-SNE"]
    for projection in run.projections():
        assert '"tile":4' in (tmp_path / "site" / "runs" / f"{run.id}-{projection.id}.html").read_text()
    (sheet,) = (tmp_path / "site" / "images").iterdir()
    whole = Image.open(io.BytesIO(encode_sheet(np.concatenate([digits.train.images, digits.test.images]), 0)))
    np.testing.assert_array_equal(Image.open(sheet).convert("L"), whole.reduce(2))


def test_a_map_that_is_not_there_is_drawn_of_each_step_where_one_is_asked_for(capsys, runs, run, tmp_path):
    *_, earlier, step = run.snapshot_steps
    for asked, shown in ((step, step), (step - 1, earlier)):  # as its player has it: the last one up to there
        where = "--view", "pca", "--format", "svg", "-o", tmp_path / "map.svg", "--runs", runs.folder
        code, _, error = run_cli(capsys, "export", run.id, "--step", asked, *where)
        assert code == 0, error
        assert f"step {shown:,}:" in (tmp_path / "map.svg").read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "--format html --hide 3",
            "written without --hide: leave that out, or choose --format film, gif, svg, pdf, png",
        ),
        ("--format film --step 3", "written without --step: leave that out, or choose --format svg, pdf, png"),
        ("--format svg --hide 0,77", "names or numbers of classes; Digits 8 × 8 has 0, 1, 2, 3"),
        ("--format svg --step 99999", "got --step 99,999"),
    ],
)
def test_what_a_file_would_not_show_is_refused(capsys, runs, run, tmp_path, options, said):
    code, _, error = run_cli(capsys, "export", run.id, *options.split(), "-o", tmp_path / "x", "--runs", runs.folder)
    assert code == 2
    assert said in error
    assert not [*tmp_path.iterdir()]


def test_an_image_data_set_is_added_listed_and_removed(capsys, tmp_path):
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(tmp_path / "pets.zip", "w") as archive:
        for name in ("cat", "dog"):
            for i in range(5):
                file = io.BytesIO()
                Image.fromarray(rng.integers(0, 256, (12, 12), np.uint8)).save(file, "PNG")
                archive.writestr(f"{name}/{i}.png", file.getvalue())
        archive.writestr("cat/read me.txt", "x")
    root = tmp_path / "data"
    code, output, _ = run_cli(capsys, "data", "add", tmp_path / "pets.zip", "--title", "Pets", "--data", root)
    assert code == 0
    name = output.split()[-1]
    assert custom_datasets.is_custom(name)
    assert "Pets: Your own: 10 gray" in output
    assert "2 classes, 12 × 12" in output
    assert "Skipped: 1, not a" in output
    assert f"{name}  Pets" in run_cli(capsys, "data", "list", "--data", root)[1]
    assert run_cli(capsys, "data", "remove", name, "--data", root)[0] == 0
    assert name not in run_cli(capsys, "data", "list", "--data", root)[1]
    code, _, output = run_cli(capsys, "data", "remove", name, "--data", root)
    assert (code, output.count("\n")) == (2, 1)


def test_embeddings_are_added_as_a_run(capsys, tmp_path):
    np.savez(tmp_path / "words.npz", vectors=np.eye(6, dtype=np.float32), labels=[0, 0, 1, 1, 2, 2])
    code, output, _ = run_cli(capsys, "data", "add", tmp_path / "words.npz", "--runs", tmp_path / "runs")
    assert code == 0
    assert "6 embeddings, 6-d, 3 classes" in output
    (run,) = Runs(tmp_path / "runs", tmp_path / "none").list()
    assert (run.title, run.state) == ("words", "finished")
    to_parquet = ("--format", "parquet", "-o", tmp_path / "w.parquet", "--runs", tmp_path / "runs")
    assert run_cli(capsys, "export", run.id, *to_parquet)[0] == 0


RUN = "476b1d8df4e46879"  # comes with the program: digits, `small`, in the plane
EXAMPLE = Path(__file__).parents[2] / "examples" / "use_exported_net.py"


@pytest.mark.parametrize("name", ["lenet", "protonet", "linear"])
def test_a_net_that_takes_bytes_is_the_same_net(name):
    net = nets.build(name, embedding_dim=8, size=16, seed=0).eval()
    images = torch.randint(0, 256, (3, 1, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        torch.testing.assert_close(from_bytes(net, 0.2, 0.4)(images), net((images / 255 - 0.2) / 0.4))


def test_without_the_extra_a_sentence_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with open(tmp_path / "net.onnx", "wb") as file, pytest.raises(UserError, match=r"dmlviz\[onnx\]"):
        write("onnx", RunExport(Runs(tmp_path).get(RUN)), file)


@pytest.mark.slow
def test_the_example_finds_with_onnxruntime_and_faiss_what_the_run_finds(tmp_path, monkeypatch, capsys):
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    own = runpy.run_path(str(EXAMPLE), run_name="__main__")  # a warning is an error
    lines = capsys.readouterr().out.splitlines()[-12:]
    image, drawn = (re.findall(r"(\d+) \((\d)\) ([\d.]+)", line) for line in lines[:2])
    found = Runs(tmp_path).get(RUN)
    neighbors = found.neighbors(42, 4)
    assert image == [("42", "2", "0.000"), *((str(n.item), str(n.label), f"{n.distance:.3f}") for n in neighbors)]
    assert {label for _, label, _ in drawn} == {"1"}
    assert own["limit"] == threshold(found).value
    assert ["within the threshold" in line for line in lines[:2]] == [True, True]
    assert not any("known" in line for line in lines[:2]), "a verdict of dmlviz ask, which knows more"
    for pair in (own["pictures"], np.stack([own["drawn"], np.zeros_like(own["drawn"])])):
        changes = occlusion_maps(lambda images: embed(found, images), pair)
        np.testing.assert_allclose(own["parts"](pair), changes, atol=1e-5)
