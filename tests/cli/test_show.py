"""`dmlviz show`: a table becomes a run, and the app opens with its map."""

import io
import os
import re
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from dmlviz.runs.store import Runs


@pytest.mark.slow
def test_a_table_is_opened_as_a_map_with_its_columns(tmp_path):
    rng = np.random.default_rng(0)
    table = {"place": rng.normal(size=(40, 3)).tolist(), "kind": ["cup", "jug"] * 20, "price": np.arange(40) / 4}
    parquet.write_table(pa.table(table), tmp_path / "items.parquet")
    command = [sys.executable, "-m", "dmlviz", "show", "items.parquet", "--label", "kind", "--vector", "place"]
    process = subprocess.Popen(
        [*command, "--port", "0", "--no-browser", "--runs", "runs", "--data", "data"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        cwd=tmp_path,
    )
    try:
        said, address = "", None
        while address is None:
            line = process.stdout.readline()
            assert line, said
            said += line
            address = re.search(r"(http://\S+?)/?\?run=([0-9a-f]{16})", line)
        url, run_id = address.groups()
        with urllib.request.urlopen(f"{url}/dmlviz/runs/{run_id}/labels.u16", timeout=20) as answer:
            np.testing.assert_array_equal(np.frombuffer(answer.read(), "<u2"), [0, 1] * 20)
    finally:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
    assert "Traceback" not in said + output
    run = Runs(tmp_path / "runs").get(run_id)
    assert run.title == "items"
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
