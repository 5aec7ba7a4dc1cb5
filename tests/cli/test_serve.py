"""`dmlviz serve`, the default command, and `dmlviz show`, which opens the app with the map of a table."""

import io
import socket
import sys

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from dmlviz.cli import serve
from dmlviz.runs.store import Runs

RUN = "476b1d8df4e46879"  # comes with the program
DMLVIZ = [sys.executable, "-m", "dmlviz"]


def test_a_port_in_use_is_one_sentence(run_cli):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        code, _, error = run_cli("--port", busy.getsockname()[1])
    assert code == 2
    assert "is in use" in error
    assert "--port" in error


@pytest.mark.parametrize("host", ["nowhere.invalid", "203.0.113.7"])
def test_a_foreign_address_is_one_sentence(run_cli, host):
    code, _, error = run_cli("serve", "--host", host, "--port", 0)
    assert code == 2
    assert host in error


@pytest.mark.parametrize("given", [("--host", "999.1.1.1"), ("--token", ""), ("--token", "tökén 1")])
def test_a_search_service_that_cannot_start_is_one_sentence(run_cli, tmp_path, given):
    code, output, error = run_cli("serve-model", RUN, "--runs", tmp_path, "--port", 0, *given)
    assert (code, output, error.count("\n")) == (2, "", 1)
    assert ("Cannot resolve" if "--host" in given else "at least 16 letters") in error


def test_a_search_service_says_that_it_answers_once_it_has_its_port(run_cli, tmp_path, monkeypatch):
    import uvicorn

    asked = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: asked.extend(s.getsockname() for s in sockets))
    code, output, _ = run_cli("serve-model", RUN, "--runs", tmp_path, "--host", "0.0.0.0", "--port", 0)
    (port,) = {port for _, port in asked}
    assert code == 0
    assert output.startswith(f"http://127.0.0.1:{port}/ answers; callers send")
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        code, output, error = run_cli("serve-model", RUN, "--runs", tmp_path, "--port", busy.getsockname()[1])
    assert (code, output) == (2, "")
    assert "is in use" in error


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="a browser is always available")
def test_no_browser_is_opened_without_a_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not serve.has_browser()


def test_a_table_is_opened_as_a_map_with_its_columns(tmp_path, run_cli, monkeypatch):
    rng = np.random.default_rng(0)
    table = {"place": rng.normal(size=(40, 3)).tolist(), "kind": ["cup", "jug"] * 20, "price": np.arange(40) / 4}
    parquet.write_table(pa.table(table), tmp_path / "items.parquet")
    pages = []
    monkeypatch.setattr("dmlviz.cli.serve.serve", lambda settings, page: pages.append(page))
    command = ("show", tmp_path / "items.parquet", "--label", "kind", "--vector", "place", "--port", 0, "--no-browser")
    code, _, said = run_cli(*command, "--runs", tmp_path / "runs", "--data", tmp_path / "data")
    assert code == 0, said
    (run,) = Runs(tmp_path / "runs", bundled=tmp_path / "none").list()
    assert pages == [f"?run={run.id}"]
    assert run.title == "items"
    assert run.labels.tolist() == [0, 1] * 20
    np.testing.assert_allclose(run.embeddings, table["place"], rtol=1e-6)


def test_a_table_without_vectors_becomes_a_data_set_that_the_app_opens_with(tmp_path, run_cli, monkeypatch):
    file = io.BytesIO()
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(file, "PNG")
    table = pa.table({"picture": [file.getvalue()] * 12, "kind": ["cup", "jug"] * 6})
    parquet.write_table(table, tmp_path / "pictures.parquet")
    folders = ("--runs", tmp_path / "runs", "--data", tmp_path / "data")
    pages = []
    monkeypatch.setattr("dmlviz.cli.serve.serve", lambda settings, page: pages.append(page))
    code, output, said = run_cli("show", tmp_path / "pictures.parquet", "--port", 0, "--no-browser", *folders)
    assert code == 0, said
    assert pages == [f"?dataset={output.split()[-1]}"]
    code, _, said = run_cli("show", tmp_path / "nowhere.csv", "--port", 0, "--no-browser", *folders)
    assert code == 2
    assert "nowhere.csv" in said
