"""`dmlviz export` and `dmlviz data`, as a person types them."""

import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from dmlviz.cli import main
from dmlviz.data import own
from dmlviz.runs import Runs


def called(capsys, *words):
    """Exit code, standard output, standard error."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    written = capsys.readouterr()
    return ended.value.code or 0, written.out, written.err


def test_a_run_is_exported_to_a_file_named_after_it(capsys, runs, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said, _ = called(capsys, "export", run.id, "--format", "csv", "--runs", runs.folder)
    assert code == 0
    assert (tmp_path / said.strip()).read_text().count("\n") == 597
    code, said, _ = called(capsys, "export", run.id, "--format", "command", "--out", "-", "--runs", runs.folder)
    assert said.startswith("dmlviz train")


def test_a_map_is_exported_by_its_method(capsys, runs, run, tmp_path):
    out = tmp_path / "map.html"
    code, said, _ = called(capsys, "export", run.id, "--view", "tsne", "-o", out, "--runs", runs.folder)
    assert (code, said.strip()) == (0, str(out))
    assert run.drawings()[0].id in out.read_text()
    code, _, said = called(capsys, "export", run.id, "--view", "umap", "-o", out, "--runs", runs.folder)
    assert code == 2
    assert "has no finished map 'umap', but " in said
    assert "tsne: draw it with dmlviz project" in said


def test_pictures_are_added_listed_and_removed(capsys, tmp_path):
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(tmp_path / "pets.zip", "w") as archive:
        for name in ("cat", "dog"):
            for i in range(5):
                file = io.BytesIO()
                Image.fromarray(rng.integers(0, 256, (12, 12), np.uint8)).save(file, "PNG")
                archive.writestr(f"{name}/{i}.png", file.getvalue())
        archive.writestr("cat/read me.txt", "x")
    root = tmp_path / "data"
    code, said, _ = called(capsys, "data", "add", tmp_path / "pets.zip", "--title", "Pets", "--data", root)
    assert code == 0
    name = said.split()[-1]
    assert own.is_own(name)
    assert "Pets: Your own: 10 grey pictures of 2 classes, 12 × 12" in said
    assert "Left out: 1, not a picture" in said
    assert f"{name}  Pets" in called(capsys, "data", "list", "--data", root)[1]
    assert called(capsys, "data", "remove", name, "--data", root)[0] == 0
    assert name not in called(capsys, "data", "list", "--data", root)[1]
    code, _, said = called(capsys, "data", "remove", name, "--data", root)
    assert (code, said.count("\n")) == (2, 1)


def test_vectors_are_added_as_a_run(capsys, tmp_path):
    np.savez(tmp_path / "words.npz", vectors=np.eye(6, dtype=np.float32), labels=[0, 0, 1, 1, 2, 2])
    code, said, _ = called(capsys, "data", "add", tmp_path / "words.npz", "--runs", tmp_path / "runs")
    assert code == 0
    assert "6 vectors of 6 dimensions in 3 classes" in said
    (run,) = Runs(tmp_path / "runs", tmp_path / "none").list()
    assert (run.title, run.state) == ("words", "finished")
    to_parquet = ("--format", "parquet", "-o", tmp_path / "w.parquet", "--runs", tmp_path / "runs")
    assert called(capsys, "export", run.id, *to_parquet)[0] == 0
