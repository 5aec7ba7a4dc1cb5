"""The command line as a person meets it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from dmlviz.cli import COMMANDS, main
from dmlviz.commands import serve
from dmlviz.commands.evaluate import _scores
from dmlviz.commands.train import train
from dmlviz.config import TrainConfig
from dmlviz.runs import Runs

QUICK = ["train", "--dataset", "digits", "--steps", "12", "--snapshots", "3", "--watched", "100", "--net", "mlp"]
DMLVIZ = [sys.executable, "-m", "dmlviz"]


def called(capsys, *words):
    """Call the command line; return its exit code and what it wrote to standard output and error."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    written = capsys.readouterr()
    return ended.value.code or 0, written.out, written.err


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with one small run, and what the command that made it said."""
    folder = tmp_path_factory.mktemp("trained")
    with redirect_stdout(StringIO()) as said, pytest.raises(SystemExit) as ended:
        main([*QUICK, "--seed", "7", "--title", "Small [one]", "--runs", str(folder)])
    assert not ended.value.code
    return folder, said.getvalue()


@pytest.fixture(scope="module")
def helped():
    """What each `--help` shows, in a process that had loaded nothing before, and what was loaded when it had."""
    code = (
        "import io, json, sys; from contextlib import redirect_stdout; from dmlviz.cli import main\n"
        "def ask(*words):\n"
        "    with redirect_stdout(io.StringIO()) as shown:\n"
        "        try: main([*words, '--help'])\n"
        "        except SystemExit as end: code = end.code or 0\n"
        "    return [code, shown.getvalue(), [*sys.modules]]\n"
        "print(json.dumps({name: ask(*name.split()) for name in sys.argv[1:]}))"
    )
    done = subprocess.run([sys.executable, "-c", code, "", *COMMANDS], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_help_names_every_command_without_loading_what_they_need(helped):
    code, shown, loaded = helped[""]
    assert code == 0
    assert all(f" {name} " in shown for name in COMMANDS)
    assert not {"torch", "numpy", "pydantic", "streamlit"} & set(loaded)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_loads_no_torch(helped, command):
    code, _, loaded = helped[command]
    assert code == 0
    assert not {"torch", "sklearn", "streamlit"} & set(loaded)


def test_every_setting_of_a_training_is_an_option(capsys):
    _, shown, _ = called(capsys, "train", "--help")
    for name, field in TrainConfig.model_fields.items():
        option = name.replace("_params", "_param").replace("_", "-")
        assert f"--{option} " in shown, name
        assert field.description.split()[0] in shown


def test_options_become_the_config_and_what_is_left_out_stays_out(capsys, monkeypatch):
    seen = []
    monkeypatch.setattr("dmlviz.commands.train.TrainConfig", lambda **given: seen.append(given) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(
            "train --loss triplet --loss-param margin=0.3 --loss-param reduction=nonzero --miner none --no-normalize"
            " --learning-rate 1e-3 --steps 5 --unseen-classes 7,8".split()
        )
    assert seen == [
        {
            "loss": "triplet",
            "loss_params": {"margin": 0.3, "reduction": "nonzero"},
            "miner": None,
            "normalize": False,
            "learning_rate": 1e-3,
            "steps": 5,
            "unseen_classes": "7,8",
        }
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--loss", "tripplet"], "did you mean 'triplet'"),
        (["--dataset", "imagenet"], "choose one of mnist"),
        (["--steps", "0"], "steps: input should be greater than or equal to 1; got 0."),
        (["--loss-param", "margin"], "--loss-param takes name=value"),
        (["--loss-param", "temperature=warm"], "temperature is a number"),
        (["--loss-param", "heat=1"], "has no parameter 'heat'"),
        (["--miner-param", "margin=1"], "miner_params go with a miner"),
        (["--loss", "nt_xent", "--miner", "hardest_negative"], "nt_xent takes pairs"),
        (["--optimizer", "lion"], "'adam' or 'sgd'"),
        (["--unseen-classes", "7,12"], "run from 0 to 9; got 12"),
    ],
)
def test_a_setting_that_cannot_be_is_one_line_and_exit_code_2(capsys, tmp_path, words, said):
    code, shown, error = called(capsys, "train", *words, "--runs", tmp_path)
    assert (code, shown) == (2, "")
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("words", [["train", "--stepz", "5"], ["train", "--steps", "many"], ["dance"], ["--purt", "1"]])
def test_a_word_that_is_none_is_exit_code_2_without_a_traceback(capsys, words):
    code, _, error = called(capsys, *words)
    assert code == 2
    assert "Traceback" not in error
    assert "help" in error


def test_train_keeps_a_run_and_says_its_scores_and_where_it_is(trained):
    folder, said = trained
    (run,) = Runs(folder).list()[:1]
    assert (run.state, run.title, run.config.seed) == ("finished", "Small [one]", 7)
    assert said.rstrip().endswith(str(folder / run.id))
    assert f"P@1 {run.metrics['precision_at_1']:.4f}" in said
    assert re.search(r"step 12: loss \d+\.\d+, P@1", said)
    assert "596 test images" in said


def test_the_same_settings_are_not_trained_twice(trained, capsys):
    folder, _ = trained
    before = (Runs(folder).list()[0].path / "run.json").stat().st_mtime_ns
    code, shown, _ = called(capsys, *QUICK, "--seed", "7", "--runs", folder)
    assert code == 0
    assert "--again" in shown
    assert (Runs(folder).list()[0].path / "run.json").stat().st_mtime_ns == before


def test_again_trains_once_more_and_gives_the_same_embeddings(trained, capsys):
    folder, _ = trained
    run = Runs(folder).list()[0]
    first, written = run.embeddings.copy(), (run.path / "embeddings.npy").stat().st_mtime_ns
    code, _, _ = called(capsys, *QUICK, "--seed", "7", "--again", "--title", "Small [one]", "--runs", folder)
    assert code == 0
    assert (run.path / "embeddings.npy").stat().st_mtime_ns > written
    assert (run.embeddings == first).all()


def test_ctrl_c_leaves_a_readable_run_and_says_where(tmp_path):
    process = subprocess.Popen(
        [*DMLVIZ, *QUICK, "--steps", "100000", "--runs", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
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


def test_a_training_that_fails_says_why_and_exits_with_1(capsys, tmp_path):
    wild = "--net lenet --loss contrastive_no_margin --no-normalize --optimizer sgd --learning-rate 10 --momentum 0.99"
    code, _, error = called(capsys, *QUICK, *wild.split(), "--runs", tmp_path)
    assert code == 1
    assert "diverged" in error
    assert error.count("\n") == 1
    assert Runs(tmp_path).list()[0].state == "failed"


def test_a_collapse_is_said_with_what_to_try(capsys, tmp_path):
    pulled = "--loss contrastive --loss-param margin=0 --no-normalize --embedding-dim 2 --steps 150 --snapshots 8"
    code, said, _ = called(capsys, "train", "--dataset", "digits", "--net", "mlp", *pulled.split(), "--runs", tmp_path)
    assert code == 0
    assert "The space has collapsed" in said
    assert "Try a margin" in " ".join(said.split())


def test_a_folder_that_cannot_be_written_is_a_sentence(capsys, tmp_path):
    (tmp_path / "taken").write_text("a file")
    code, _, error = called(capsys, *QUICK, "--runs", tmp_path / "taken" / "runs")
    assert code == 2
    assert "taken" in error
    assert "Traceback" not in error


def test_runs_lists_title_scores_and_state(trained, capsys):
    folder, _ = trained
    code, shown, _ = called(capsys, "runs", "--runs", folder)
    run = Runs(folder).list()[0]
    assert code == 0
    for word in (run.id, "Small [one]", f"{run.metrics['precision_at_1']:.4f}", "finished", "12 steps"):
        assert word in shown


def test_evaluate_gives_the_scores_that_training_gave(trained, capsys):
    folder, _ = trained
    run = Runs(folder).list()[0]
    code, shown, _ = called(capsys, "evaluate", run.id, "--confusion", "--runs", folder)
    assert code == 0
    scores = dict(line.split() for line in shown.splitlines() if re.fullmatch(r"[a-z_0-9]+ +[\d.,]+ *", line))
    for key in ("precision_at_1", "map_at_r", "nmi"):
        assert scores[key] == f"{run.metrics[key]:.4f}"
    assert "roc_auc" in scores
    rows = [line.split() for line in shown.splitlines() if re.fullmatch(r"\d(\s+[\d·]+){10}\s*", line)]
    assert sum(int(count) for row in rows for count in row[1:] if count != "·") == 596


def test_evaluate_gives_seen_and_unseen_classes_a_column_each():
    scores = {"nmi": 0.5, "seen/nmi": 0.75, "unseen/nmi": 0.25}
    with (console := Console(width=80)).capture() as said:
        console.print(_scores(scores))
    assert said.get().split() == "all classes seen classes unseen classes nmi 0.5000 0.7500 0.2500".split()


def test_neighbours_names_others_with_class_and_distance(trained, capsys):
    folder, _ = trained
    run = Runs(folder).list()[0]
    code, shown, _ = called(capsys, "neighbours", run.id, 5, "-k", 3, "--runs", folder)
    assert code == 0
    expected = [(str(n.item), str(n.label), f"{n.distance:.4f}") for n in run.neighbours(5, 3)]
    rows = [tuple(line.split()[:3]) for line in shown.splitlines()[-3:]]
    assert rows == expected


def test_project_keeps_a_map_and_writes_every_image_with_its_class(trained, capsys, tmp_path):
    folder, _ = trained
    run = Runs(folder).list()[0]
    table = tmp_path / "map.csv"
    code, shown, _ = called(capsys, "project", run.id, "--dims", 3, "--csv", table, "--runs", folder)
    assert code == 0
    drawing = next(drawing for drawing in run.drawings() if drawing.config.dims == 3)
    rows = [line.split(",") for line in table.read_text().splitlines()]
    assert rows[0] == ["image", "class", "x", "y", "z"]
    assert [int(row[1]) for row in rows[1:]] == run.labels.tolist()
    assert np.allclose([[float(value) for value in row[2:]] for row in rows[1:]], drawing.coordinates)
    assert "trustworthiness 0." in shown


@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_project_draws_a_file_of_vectors(capsys, tmp_path, kind):
    import pyarrow
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    vectors, classes = rng.normal(size=(40, 5)).astype(np.float32), ["ab"[i % 2] for i in range(40)]
    path = tmp_path / f"some.{kind}"
    if kind == "npy":
        np.save(path, vectors)
    else:
        table = pyarrow.table({f"f{i}": vectors[:, i] for i in range(5)} | {"label": classes})
        (csv.write_csv if kind == "csv" else parquet.write_table)(table, path)
    code, shown, _ = called(capsys, "project", path, "--method", "umap", "--param", "iterations=10")
    assert code == 0
    assert "trustworthiness 0." in shown
    rows = [line.split(",") for line in (tmp_path / "some-umap.csv").read_text().splitlines()]
    assert rows[0] == (["row", "x", "y"] if kind == "npy" else ["row", "class", "x", "y"])
    assert len(rows) == 41
    assert kind == "npy" or [row[1] for row in rows[1:]] == classes


def test_project_draws_the_epochs_of_a_run_as_a_table_with_steps(trained, capsys, tmp_path):
    folder, _ = trained
    run, table = Runs(folder).list()[0], tmp_path / "film.csv"
    code, _, _ = called(capsys, "project", run.id, "--film", "--csv", table, "--runs", folder)
    assert code == 0
    rows = [line.split(",") for line in table.read_text().splitlines()]
    assert rows[0] == ["step", "image", "class", "x", "y"]
    assert sorted({int(row[0]) for row in rows[1:]}) == run.epochs
    assert len(rows) == 1 + len(run.epochs) * len(run.watched)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/nowhere/x.npy"], "There is no file"),
        (["broken.npy"], "could not be read as npy"),
        (["broken.npy", "--film"], "Epochs belong to a run"),
    ],
)
def test_vectors_that_cannot_be_drawn_are_a_sentence(capsys, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.npy").write_bytes(b"no array")
    code, _, error = called(capsys, "project", *words)
    assert code == 2
    assert said in " ".join(error.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--method", "tsnee"], "did you mean 'tsne'"),
        (["--param", "x=0"], "x lies between"),
        (["--csv", "/nowhere/map.csv"], "/nowhere/map.csv cannot be written"),
    ],
)
def test_a_map_that_cannot_be_is_a_sentence(trained, capsys, words, said):
    folder, _ = trained
    code, _, error = called(capsys, "project", Runs(folder).list()[0].id, *words, "--runs", folder)
    assert code == 2
    assert said in error


@pytest.mark.parametrize("command", [["evaluate", "0" * 16], ["neighbours", "../../etc", "1"], ["project", "x"]])
def test_a_run_that_is_not_there_is_a_sentence(capsys, tmp_path, command):
    code, _, error = called(capsys, *command, "--runs", tmp_path)
    assert code == 2
    assert "There is no run" in error


def test_a_busy_port_is_a_sentence(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, error = called(capsys, "--port", taken.getsockname()[1])
    assert code == 2
    assert "is taken" in error
    assert "--port" in error


@pytest.mark.parametrize("host", ["nowhere.invalid", "203.0.113.7"])
def test_an_address_that_is_not_ours_is_a_sentence(capsys, host):
    code, _, error = called(capsys, "serve", "--host", host, "--port", 0)
    assert code == 2
    assert host in error


def test_without_a_command_the_app_opens_on_loopback_and_ctrl_c_ends_it(tmp_path):
    environment = os.environ | {"DMLVIZ_RUNS": str(tmp_path)}
    process = subprocess.Popen(
        [*DMLVIZ, "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    try:
        address = None
        while address is None:
            line = process.stdout.readline()
            assert line, "ended before it said where it is"
            address = re.search(r"http://127\.0\.0\.1:\d+", line)
        with urllib.request.urlopen(f"{address[0]}/api/health", timeout=20) as answer:
            assert answer.status == 200
    finally:
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    assert time.monotonic() - began < 8
    assert process.returncode in (0, 130)
    assert "Traceback" not in said


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there is always a browser")
def test_no_browser_is_opened_where_there_is_no_screen(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not serve.has_browser()


def test_python_can_call_what_the_command_line_calls(tmp_path, capsys):
    settings = json.loads('{"dataset": "digits", "net": "mlp", "steps": 3, "watched": 50, "seed": 5}')
    train(settings, runs=tmp_path)
    assert Runs(Path(tmp_path)).list()[0].config.steps == 3
    assert "Finished 3 steps" in capsys.readouterr().out
