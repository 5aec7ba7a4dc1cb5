"""What an ONNX file holds. That it gives what torch gives is tested where a server sends one, in tests/app."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from dmlviz import nets
from dmlviz.errors import UserError
from dmlviz.export import RunExport, write
from dmlviz.export.onnx_file import from_bytes
from dmlviz.runs.store import Runs

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
def test_the_example_finds_with_onnxruntime_and_faiss_what_the_run_finds(tmp_path):
    pytest.importorskip("onnxruntime")
    done = subprocess.run([sys.executable, EXAMPLE], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    image, drawn = (re.findall(r"(\d+) \((\d)\) ([\d.]+)", line) for line in done.stdout.splitlines())
    neighbors = Runs(tmp_path).get(RUN).neighbors(42, 4)
    assert image == [("42", "2", "0.000"), *((str(n.item), str(n.label), f"{n.distance:.3f}") for n in neighbors)]
    assert {label for _, label, _ in drawn} == {"1"}
