"""`dmlviz train`."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from dmlviz.cli.train import _watch, train
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.runs.store import Runs
from dmlviz.training.events import Step

DMLVIZ = [sys.executable, "-m", "dmlviz"]


def test_train_saves_a_run_and_prints_its_scores_and_folder(trained):
    folder, output = trained
    (run,) = Runs(folder).list()[:1]
    assert (run.state, run.title, run.config.seed) == ("finished", "Small [one]", 7)
    assert output.rstrip().endswith(str(folder / run.id))
    assert f"P@1 {run.metrics['precision_at_1']:.4f}" in output
    assert re.search(r"step 12: loss \d+\.\d+, P@1", output)
    assert "Small [one]: 12 steps" in output
    assert "596 test images" in output


def test_losses_race_and_each_says_its_scores_and_folder(run_cli, quick, tmp_path):
    race = [*quick, "--runs", tmp_path, "--losses"]
    code, output, _ = run_cli(*race, "triplet,custom_triplet")
    assert code == 0
    scores = [run.metrics["precision_at_1"] for run in Runs(tmp_path).list()[:2]]
    assert len({*scores}) == 1  # the formula is the triplet loss
    assert output.count(f"P@1 {scores[0]:.4f}") == output.count("on 596 test images") == 2
    before = {run.id: (run.path / "run.json").stat().st_mtime_ns for run in Runs(tmp_path).list()[:2]}
    assert run_cli(*race, "custom_triplet,triplet")[0] == 0  # kept
    assert before == {run.id: (run.path / "run.json").stat().st_mtime_ns for run in Runs(tmp_path).list()[:2]}
    for losses, sentence in (("triplet", "2 to 6 losses; got 1"), ("triplet,none_such", "There is no loss called")):
        code, output, error = run_cli(*race, losses)
        assert code
        assert sentence in " ".join((output + error).split())


def test_equal_settings_are_not_trained_twice(trained, run_cli, quick):
    folder, _ = trained
    before = (Runs(folder).list()[0].path / "run.json").stat().st_mtime_ns
    code, output, _ = run_cli(*quick, "--seed", "7", "--title", "Another", "--runs", folder)
    assert code == 0
    assert output.startswith("Already trained: Small [one] (")
    assert "--retrain" in output
    assert "runs rename" in output
    assert "Another changes it" in output
    assert (Runs(folder).list()[0].path / "run.json").stat().st_mtime_ns == before


def test_retrain_trains_again_and_gives_the_same_embeddings(trained, run_cli, quick):
    folder, _ = trained
    run = Runs(folder).list()[0]
    first, written = run.embeddings.copy(), (run.path / "embeddings.npy").stat().st_mtime_ns
    code, _, _ = run_cli(*quick, "--seed", "7", "--retrain", "--title", "Small [one]", "--runs", folder)
    assert code == 0
    assert (run.path / "embeddings.npy").stat().st_mtime_ns > written
    assert (run.embeddings == first).all()


@pytest.mark.slow
def test_a_map_follows_the_training_and_a_second_call_shows_it(run_cli, tmp_path, quick):
    for words in (["Finished 12 steps"], ["Already trained"]):
        code, output, _ = run_cli(*quick, "--live", "umap", "--runs", tmp_path)
        assert code == 0
        (run,) = Runs(tmp_path, bundled=tmp_path / "none").list()
        config = ProjectionConfig(method="umap", follow=True)  # as the app's own
        projection = run.projection(config.id)
        assert (projection.config, projection.state) == (config, "finished")
        assert [*projection.layouts] == run.snapshot_steps
        assert len(projection.coordinates) == 596
        assert all(text in output for text in (*words, "UMAP: trustworthiness", str(projection.path)))
    code, _, error = run_cli(*quick, "--live", "fan", "--runs", tmp_path)
    assert (code, error.count("\n")) == (2, 1)
    assert "follow is for PCA, and for t-SNE, UMAP, PaCMAP" in error


@pytest.mark.slow
def test_ctrl_c_leaves_a_readable_run_and_prints_its_folder(tmp_path, quick):
    process = subprocess.Popen(
        [*DMLVIZ, *quick, "--steps", "100000", "--runs", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 300
    while not any('"event":"step"' in path.read_text() for path in tmp_path.glob("[0-9a-f]*/events.jsonl")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=60)
    run = Runs(tmp_path).list()[0]
    assert (process.returncode, error) == (130, b"")
    assert run.state == "stopped"
    assert len(run.embeddings) == 596
    assert output.decode().rstrip().endswith(str(run.path))


@pytest.mark.slow
def test_the_readouts_without_labels_are_printed_for_the_classes_that_they_know(run_cli, tmp_path, quick):
    without = "--no-use-labels --batch-size 20 --held-out-classes 7,8".split()
    code, output, _ = run_cli(*quick, *without, "--runs", tmp_path)
    assert code == 0
    (run,) = Runs(tmp_path).list()[:1]
    lines = [line for line in output.splitlines() if "Linear probe" in line]
    assert len(lines) == 1
    assert lines[0].endswith("on the test images of seen classes")
    for title, key in (("kNN by training images", "knn_probe_accuracy"), ("Linear probe", "linear_probe_accuracy")):
        assert f"{title} {run.metrics[f'seen/{key}']:.4f}" in lines[0]


def test_a_failed_training_prints_the_reason_and_exits_with_1(run_cli, tmp_path, quick):
    wild = "--net lenet --loss contrastive_no_margin --no-normalize --optimizer sgd --learning-rate 10 --momentum 0.99"
    code, _, error = run_cli(*quick, *wild.split(), "--runs", tmp_path)
    assert code == 1
    assert "diverged" in error
    assert error.count("\n") == 1
    assert Runs(tmp_path).list()[0].state == "failed"


@pytest.mark.slow
def test_a_collapse_is_reported_with_suggestions(run_cli, tmp_path):
    pulled = "--loss contrastive --loss-param margin=0 --no-normalize --embedding-dim 2 --steps 150 --num-snapshots 8"
    code, output, _ = run_cli("train", "--dataset", "digits", "--net", "mlp", *pulled.split(), "--runs", tmp_path)
    assert code == 0
    assert "Embeddings have collapsed" in output
    assert "Try a margin" in " ".join(output.split())


def test_an_unwritable_folder_is_one_sentence(run_cli, tmp_path, quick):
    (tmp_path / "taken").write_text("a file")
    code, _, error = run_cli(*quick, "--runs", tmp_path / "taken" / "runs")
    assert code == 2
    assert "taken" in error
    assert "Traceback" not in error


def test_the_command_can_be_run_cli_from_python(tmp_path, capsys):
    settings = json.loads('{"dataset": "digits", "net": "mlp", "steps": 3, "eval_subset_size": 50, "seed": 5}')
    train(settings, runs=tmp_path)
    assert Runs(Path(tmp_path)).list()[0].config.steps == 3
    assert "Finished 3 steps" in capsys.readouterr().out


def test_an_alarm_that_comes_and_goes_is_said_once():
    rates = {"positive_distance": 0.0, "negative_distance": 1.0, "images_per_second": 1.0, "cpu_seconds": 1.0}
    steps = (Step(step=n, loss=0.0, active=float(n % 30 == 0), **rates) for n in range(120))
    console = Console(record=True)
    _watch(steps, TrainConfig(dataset="digits", loss="triplet"), console)
    assert console.export_text().count("No active loss terms") == 1
