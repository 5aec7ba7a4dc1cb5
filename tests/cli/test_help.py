"""Help texts, options, and errors about them."""

import json
import subprocess
import sys

import pytest

from dmlviz.cli.main import main
from dmlviz.config import TrainConfig
from dmlviz.parts import commands

COMMANDS = commands()


@pytest.fixture(scope="module")
def help_output():
    """By command: exit code and output of `--help` in a fresh process, and the modules loaded by then."""
    code = (
        "import io, json, sys; from contextlib import redirect_stdout; from dmlviz.cli.main import main\n"
        "def ask(*arguments):\n"
        "    with redirect_stdout(io.StringIO()) as shown:\n"
        "        try: main([*arguments, '--help'])\n"
        "        except SystemExit as end: code = end.code or 0\n"
        "    return [code, shown.getvalue(), [*sys.modules]]\n"
        "print(json.dumps({name: ask(*name.split()) for name in sys.argv[1:]}))"
    )
    done = subprocess.run([sys.executable, "-c", code, "", *COMMANDS], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_help_lists_every_command_and_imports_none_of_their_libraries(help_output):
    code, shown, loaded = help_output[""]
    assert code == 0
    assert all(f" {name} " in shown for name in COMMANDS)
    assert not {"torch", "numpy", "pydantic", "streamlit"} & set(loaded)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_does_not_import_torch(help_output, command):
    code, _, loaded = help_output[command]
    assert code == 0
    assert not {"torch", "sklearn", "streamlit"} & set(loaded)


def test_every_training_setting_is_an_option(run_cli):
    _, shown, _ = run_cli("train", "--help")
    for name, field in TrainConfig.model_fields.items():
        option = name.replace("_params", "_param").replace("_", "-")
        assert f"--{option} " in shown, name
        assert field.description.split()[0] in shown


def test_only_given_options_are_passed_to_the_config(monkeypatch):
    calls = []
    monkeypatch.setattr("dmlviz.cli.train.TrainConfig", lambda **fields: calls.append(fields) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(
            "train --loss triplet --loss-param margin=0.3 --loss-param reduction=nonzero --miner none --no-normalize"
            " --learning-rate 1e-3 --steps 5 --held-out-classes 7,8".split()
        )
    assert calls == [
        {
            "loss": "triplet",
            "loss_params": {"margin": 0.3, "reduction": "nonzero"},
            "miner": None,
            "normalize": False,
            "learning_rate": 1e-3,
            "steps": 5,
            "held_out_classes": [7, 8],
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--loss", "tripplet"], "did you mean 'triplet'"),
        (["--dataset", "imagenet"], "choose one of mnist"),
        (["--steps", "0"], "steps: must be at least 1; got 0."),
        (["--loss-param", "margin"], "--loss-param takes name=value"),
        (["--loss-param", "temperature=warm"], "temperature is a number"),
        (["--loss-param", "heat=1"], "has no parameter 'heat'"),
        (["--miner-param", "margin=1"], "miner_params need a miner"),
        (["--loss", "nt_xent", "--miner", "hardest_negative"], "nt_xent takes pairs"),
        (["--optimizer", "lion"], "'adam', 'sgd' or 'rmsprop'"),
        (["--held-out-classes", "7,12"], "MNIST has 0, 1, 2, 3, 4, 5, 6, 7, 8, 9; got '12'"),
    ],
)
def test_an_invalid_setting_is_one_line_and_exit_code_2(run_cli, tmp_path, arguments, message):
    code, shown, error = run_cli("train", *arguments, "--runs", tmp_path)
    assert (code, shown) == (2, "")
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["train", "--stepz", "5"], ["train", "--steps", "many"], ["dance"], ["--purt", "1"]]
)
def test_an_unknown_command_or_option_is_exit_code_2_without_a_traceback(run_cli, arguments):
    code, _, error = run_cli(*arguments)
    assert code == 2
    assert "Traceback" not in error
    assert "help" in error


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("tr", {"train"}),
        ("runs re", {"rename", "restore"}),
        ("train --optim", {"--optimizer"}),
        ("train --loss trip", {"triplet", "triplet_ratio", "triplet_soft", "triplet_two_terms"}),
        ("evaluate 476b", {"476b1d8df4e46879"}),  # a ready-made run
        ("lab al", {"all"}),
        ("export 476b1d8df4e46879 --format figur", {"figures"}),
        ("data remove dig", {"digits"}),
    ],
)
def test_a_shell_completes_commands_options_names_and_runs(monkeypatch, capsys, tmp_path, written, expected):
    monkeypatch.setenv("DMLVIZ_RUNS", str(tmp_path))
    monkeypatch.setenv("_DMLVIZ_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"dmlviz {written}")
    monkeypatch.setenv("COMP_CWORD", str(len(written.split())))
    with pytest.raises(SystemExit):
        main([])
    assert set(capsys.readouterr().out.split()) == expected
