"""A plug-in loss on the command line and in the app's worker processes."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dmlviz import plugins
from dmlviz.config import TrainConfig
from dmlviz.jobs.job_record import AnswerOrder
from dmlviz.jobs.order import answer, training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.plugins import load_plugins
from dmlviz.runs.store import Runs

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "margin_ratio_loss.py"
TRAIN = ["train", "--dataset", "digits", "--net", "mlp", "--steps", "5", "--num-snapshots", "2"]


# Imports what a training needs once, and does each command in a child of its own, which knows no plug-in yet.
COMMANDS = """
import json, os, sys, traceback
import dmlviz.cli.train, dmlviz.runs.training_run
from dmlviz.cli.main import main
for line in sys.stdin:
    folder, words = json.loads(line)
    if not (child := os.fork()):
        for number, name in enumerate(("out", "err"), 1):
            os.dup2(os.open(os.path.join(folder, name), os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
        code = 0
        try:
            main(words)
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            code = traceback.print_exc() or 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def dmlviz(tmp_path_factory):
    """`dmlviz(*words)`: what the command line answers, in a process of its own: exit code and text."""
    environment = {name: value for name, value in os.environ.items() if name != plugins.ENVIRONMENT}
    environment["COLUMNS"] = "240"  # so that no table cuts what is looked for
    folder, pipes = tmp_path_factory.mktemp("said"), {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", COMMANDS], text=True, env=environment, **pipes) as process:

        def command(*words):
            process.stdin.write(json.dumps([str(folder), [*map(str, words)]]) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline()), "".join((folder / name).read_text() for name in ("out", "err"))

        yield command
        process.stdin.close()


def test_train_takes_a_plug_in_wherever_the_option_stands(dmlviz, tmp_path):
    code, said = dmlviz(*TRAIN, "--loss", "margin_ratio", "--plugin", EXAMPLE, "--runs", tmp_path)
    assert code == 0, said
    code, said = dmlviz("runs", f"--plugin={EXAMPLE}", "--runs", tmp_path)
    assert "Margin ratio" in said
    code, said = dmlviz("runs", "--runs", tmp_path)
    assert code == 0
    assert "needs a plug-in, with --plugin FILE" in " ".join(said.split())
    assert "damaged" not in said
    code, said = dmlviz(*TRAIN, "--loss", "margin_ratio")
    assert (code, "There is no loss called 'margin_ratio'" in said) == (2, True)


def test_a_changed_formula_trains_anew_and_an_equal_one_does_not(dmlviz, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(EXAMPLE.read_text())
    trained = [*TRAIN, "--loss", "margin_ratio", "--plugin", mine, "--runs", tmp_path / "runs"]
    first, again = dmlviz(*trained)[1], dmlviz(*trained)[1]
    assert "Already trained" in again
    mine.write_text(EXAMPLE.read_text().replace("ratio * nearest", "0.9 * ratio * nearest"))
    changed = dmlviz(*trained)[1]
    assert "Already trained" not in changed
    assert changed.split()[-1] != first.split()[-1] == again.split()[-1]
    assert len([*(tmp_path / "runs").glob("[0-9a-f]*/run.json")]) == 2


def test_an_imported_run_keeps_the_identity_of_the_code_that_trained_it(dmlviz, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(EXAMPLE.read_text())
    words = ["--plugin", mine, "--runs", tmp_path / "runs"]
    run = Path(dmlviz(*TRAIN, "--loss", "margin_ratio", *words)[1].split()[-1]).name
    assert dmlviz("runs", "export", run, tmp_path / "run.zip", *words)[0] == 0
    mine.write_text(EXAMPLE.read_text().replace("ratio * nearest", "0.9 * ratio * nearest"))
    code, said = dmlviz("runs", "import", tmp_path / "run.zip", "--plugin", mine, "--runs", tmp_path / "others")
    assert (code, said.split()[0]) == (0, run)


def test_a_broken_plug_in_ends_a_command_with_one_line(dmlviz, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    code, said = dmlviz("runs", "--plugin", broken)
    assert (code, said) == (2, f"The plug-in {broken} cannot be loaded: line 1: ZeroDivisionError: division by zero.\n")
    assert dmlviz("runs", "--plugin") == (2, "--plugin takes a Python file, as in --plugin my_loss.py; got nothing.\n")


def test_the_processes_that_train_for_the_app_know_the_plug_in(tmp_path):
    load_plugins([EXAMPLE])
    config = TrainConfig(loss="margin_ratio", dataset="digits", net="mlp", steps=40, num_snapshots=2)
    jobs = JobScheduler(Runs(tmp_path), slots=1)
    try:
        run, deadline = jobs.submit(training(jobs.runs, config)), time.monotonic() + 300
        while jobs.running_for() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert jobs.status(run).phase == "finished", jobs.status(run)
        arguments = {"run": str(run.path)}  # the process that compares the pixels reads the run too
        order = AnswerOrder(kind="answer", ask="pixels", about=run.id, arguments=arguments)
        scores = jobs.submit(answer(tmp_path / "answer", order, 100.0))
        while jobs.status(scores).phase != "finished" and time.monotonic() < deadline:
            time.sleep(0.05)
        assert 0 < json.loads(scores.result.read_text())["precision_at_1"] < 1
    finally:
        jobs.close()
    trained = Runs(tmp_path).get(run.id)
    assert trained.metrics["precision_at_1"] > 0.5
