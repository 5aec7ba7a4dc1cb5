"""The examples that record trainings of other libraries, run against those libraries."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from dmlviz.runs.damage import check
from dmlviz.runs.store import Runs

EXAMPLES = Path(__file__).parents[2] / "examples"
# Where torchvision was built for another torch, these libraries cannot be imported before dmlviz has mended it.
RUN = """
import runpy, sys
from dmlviz.nets.torchvision_operators import register_missing
register_missing()
runpy.run_path(sys.argv[1], run_name="__main__")
"""
LIBRARIES = ("pytorch", "lightning", "pytorch_metric_learning", "transformers")


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_example_records_its_training(library, tmp_path):
    if library != "pytorch" and find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    environment = {"DMLVIZ_RUNS": str(tmp_path), "DMLVIZ_DATA": str(tmp_path / "data"), "DMLVIZ_NICENESS": "0"}
    command = [sys.executable, "-c", RUN, str(EXAMPLES / f"record_{library}.py")]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = Runs(tmp_path, bundled=tmp_path / "none").list()
    assert str(run.path) in done.stdout
    assert run.state == "finished"
    assert [*check(run)] == []
    assert len(run.snapshot_steps) >= 5
    assert run.steps == run.snapshot_steps[-1]
    losses = [event["loss"] for event in run.events() if event["event"] == "step"]
    assert len(losses) >= 10
    scores = [event["metrics"] for event in run.events() if event["event"] == "snapshot"]
    assert run.metrics["map_at_r"] > scores[0]["map_at_r"]
    assert (run.path.parent / "data" / "own" / run.config.dataset / "test_images.npy").exists()


@pytest.mark.parametrize("library", LIBRARIES[1:])
def test_without_its_library_a_sentence_names_the_extra(library, tmp_path, monkeypatch):
    hidden = "lightning.pytorch" if library == "lightning" else library
    extra = library.replace("_", "-")
    for name in [name for name in sys.modules if name.startswith("dmlviz.integrations")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, hidden, None)
    if library == "pytorch_metric_learning":
        monkeypatch.setitem(sys.modules, "pytorch_metric_learning.trainers", None)
    with pytest.raises(ImportError, match=re.escape(f"which is not installed: pip install 'dmlviz[{extra}]'.")):
        __import__(f"dmlviz.integrations.{library}")
