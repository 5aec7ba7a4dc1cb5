"""The examples that record trainings of other libraries, and trainings that go another way, with those libraries."""

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
ODD = Path(__file__).parent / "odd_trainings.py"
LIBRARIES = ("pytorch", "lightning", "pytorch_metric_learning", "transformers")
# One process for all, which imports torch once. Where torchvision was built for another torch, these libraries cannot
# be imported before dmlviz has mended it, as its integrations do.
RUN = """
import contextlib, io, json, os, sys, traceback
from dmlviz.integrations import prepare_import
prepare_import("torch")
answers = {}
for library, file, folder in json.load(sys.stdin):
    os.environ |= {"DMLVIZ_RUNS": folder, "DMLVIZ_DATA": folder + "/data"}
    with contextlib.redirect_stdout(io.StringIO()) as output:
        try:
            code = open(file).read().replace("epochs=8", "epochs=5").replace("range(301)", "range(101)")  # as well
            exec(compile(code, file, "exec"), {"__name__": "__main__"})
            error = ""
        except BaseException:
            error = traceback.format_exc()
    answers[library] = error, output.getvalue()
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """Of each program that can be run: its folder, how it failed ("" if it did not), what it printed."""
    there = [library for library in LIBRARIES if library == "pytorch" or find_spec(library) is not None]
    folders = {name: tmp_path_factory.mktemp(name) for name in (*there, "odd")}
    jobs = [(library, str(EXAMPLES / f"record_{library}.py"), str(folders[library])) for library in there]
    jobs.append(("odd", str(ODD), str(folders["odd"])))
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
    return {library: (folders[library], *answers[library]) for library in folders}


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


# Title, state, reason, snapshots and the number of losses.
RECORDED = {
    "lightning": [
        ("accumulated", "finished", "", [0, 4], 4),
        ("fitted", "finished", "", [0, 4], 4),
        ("fitted 2", "finished", "", [4, 8], 4),
        ("crashed in Lightning", "stopped", "The training ended with ValueError: no more data", [0], 2),
    ],
    "transformers": [
        ("trained", "finished", "", [0, 4], 4),
        ("trained 2", "finished", "", [0, 4], 4),
        ("crashed in the Trainer", "stopped", "The training ended with ValueError: no more data", [0], 0),
    ],
    "pytorch_metric_learning": [
        ("every second epoch", "finished", "", [0, 8, 12], 12),
        ("trained by PML", "finished", "", [4], 4),
        ("trained by PML 2", "finished", "", [4], 4),
    ],
}


def test_no_recording_ends_a_training_and_each_training_is_a_run(examples):
    folder, error, output = examples["odd"]
    assert not error, error
    runs = {run.title: run for run in Runs(folder, bundled=folder / "none").list()}
    losses = {title: [e["loss"] for e in run.events() if e["event"] == "step"] for title, run in runs.items()}
    told = {
        title: (run.state, run.end["reason"], run.snapshot_steps, len(losses[title])) for title, run in runs.items()
    }
    assert told == {title: tuple(rest) for library in examples for title, *rest in RECORDED.get(library, [])}
    if "lightning" in examples:
        assert losses["accumulated"] == [8.0] * 4
        assert json.loads(output.splitlines()[-1]) == [
            "Something is not recorded, and the training goes on. RuntimeError: this net embeds nothing"
        ]


@pytest.mark.parametrize("library", LIBRARIES[1:])
def test_without_its_library_a_sentence_names_the_extra(library, tmp_path, monkeypatch):
    extra = library.replace("_", "-")
    for name in [name for name in sys.modules if name.startswith("dmlviz.integrations")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    for name in [name for name in sys.modules if name.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=re.escape(f"which is not installed: pip install 'dmlviz[{extra}]'.")):
        __import__(f"dmlviz.integrations.{library}")
