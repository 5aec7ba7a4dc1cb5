"""The examples that record trainings of other libraries, run against those libraries."""

import json
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
LIBRARIES = ("pytorch", "lightning", "pytorch_metric_learning", "transformers")
# One process for all, which imports torch once. Where torchvision was built for another torch, these libraries cannot
# be imported before dmlviz has mended it.
RUN = """
import contextlib, io, json, os, runpy, sys, traceback
from dmlviz.nets.torchvision_operators import register_missing
register_missing()
answers = {}
for library, file, folder in json.load(sys.stdin):
    os.environ |= {"DMLVIZ_RUNS": folder, "DMLVIZ_DATA": folder + "/data"}
    with contextlib.redirect_stdout(io.StringIO()) as output:
        try:
            runpy.run_path(file, run_name="__main__")
            error = ""
        except BaseException:
            error = traceback.format_exc()
    answers[library] = error, output.getvalue()
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """Of each library's example that can be run: its folder, how it failed ("" if it did not), what it printed."""
    there = [library for library in LIBRARIES if library == "pytorch" or find_spec(library) is not None]
    folders = {library: tmp_path_factory.mktemp(library) for library in there}
    jobs = [(library, str(EXAMPLES / f"record_{library}.py"), str(folders[library])) for library in there]
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(jobs),
        env=os.environ | {"DMLVIZ_NICENESS": "0"},
        capture_output=True,
        text=True,
        cwd=tmp_path_factory.mktemp("elsewhere"),
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    return {library: (folders[library], *answers[library]) for library in there}


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_example_records_its_training(library, examples):
    if library not in examples:
        pytest.skip(f"{library} is not installed")
    folder, error, output = examples[library]
    assert not error, error
    (run,) = Runs(folder, bundled=folder / "none").list()
    assert str(run.path) in output
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
