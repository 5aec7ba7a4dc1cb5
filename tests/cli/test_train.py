"""`dmlviz train`."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from dmlviz.cli.train import train
from dmlviz.runs.store import Runs

DMLVIZ = [sys.executable, "-m", "dmlviz"]


def test_train_keeps_a_run_and_says_its_scores_and_where_it_is(trained):
    folder, said = trained
    (run,) = Runs(folder).list()[:1]
    assert (run.state, run.title, run.config.seed) == ("finished", "Small [one]", 7)
    assert said.rstrip().endswith(str(folder / run.id))
    assert f"P@1 {run.metrics['precision_at_1']:.4f}" in said
    assert re.search(r"step 12: loss \d+\.\d+, P@1", said)
    assert "596 test images" in said


def test_the_same_settings_are_not_trained_twice(trained, called, quick):
    folder, _ = trained
    before = (Runs(folder).list()[0].path / "run.json").stat().st_mtime_ns
    code, shown, _ = called(*quick, "--seed", "7", "--runs", folder)
    assert code == 0
    assert "--again" in shown
    assert (Runs(folder).list()[0].path / "run.json").stat().st_mtime_ns == before


def test_again_trains_once_more_and_gives_the_same_embeddings(trained, called, quick):
    folder, _ = trained
    run = Runs(folder).list()[0]
    first, written = run.embeddings.copy(), (run.path / "embeddings.npy").stat().st_mtime_ns
    code, _, _ = called(*quick, "--seed", "7", "--again", "--title", "Small [one]", "--runs", folder)
    assert code == 0
    assert (run.path / "embeddings.npy").stat().st_mtime_ns > written
    assert (run.embeddings == first).all()


def test_ctrl_c_leaves_a_readable_run_and_says_where(tmp_path, quick):
    process = subprocess.Popen(
        [*DMLVIZ, *quick, "--steps", "100000", "--runs", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not any('"event":"step"' in path.read_text() for path in tmp_path.glob("*/events.jsonl")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    said, error = process.communicate(timeout=60)
    run = Runs(tmp_path).list()[0]
    assert (process.returncode, error) == (130, b"")
    assert run.state == "stopped"
    assert len(run.embeddings) == 596
    assert said.decode().rstrip().endswith(str(run.path))


def test_a_training_that_fails_says_why_and_exits_with_1(called, tmp_path, quick):
    wild = "--net lenet --loss contrastive_no_margin --no-normalize --optimizer sgd --learning-rate 10 --momentum 0.99"
    code, _, error = called(*quick, *wild.split(), "--runs", tmp_path)
    assert code == 1
    assert "diverged" in error
    assert error.count("\n") == 1
    assert Runs(tmp_path).list()[0].state == "failed"


def test_a_collapse_is_said_with_what_to_try(called, tmp_path):
    pulled = "--loss contrastive --loss-param margin=0 --no-normalize --embedding-dim 2 --steps 150 --num-snapshots 8"
    code, said, _ = called("train", "--dataset", "digits", "--net", "mlp", *pulled.split(), "--runs", tmp_path)
    assert code == 0
    assert "The space has collapsed" in said
    assert "Try a margin" in " ".join(said.split())


def test_a_folder_that_cannot_be_written_is_a_sentence(called, tmp_path, quick):
    (tmp_path / "taken").write_text("a file")
    code, _, error = called(*quick, "--runs", tmp_path / "taken" / "runs")
    assert code == 2
    assert "taken" in error
    assert "Traceback" not in error


def test_python_can_call_what_the_command_line_calls(tmp_path, capsys):
    settings = json.loads('{"dataset": "digits", "net": "mlp", "steps": 3, "eval_subset_size": 50, "seed": 5}')
    train(settings, runs=tmp_path)
    assert Runs(Path(tmp_path)).list()[0].config.steps == 3
    assert "Finished 3 steps" in capsys.readouterr().out
