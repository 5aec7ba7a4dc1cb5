"""What a person is told: help, options, and what is wrong with them."""

import json
import subprocess
import sys

import pytest

from dmlviz.cli.main import COMMANDS, main
from dmlviz.config import TrainConfig


@pytest.fixture(scope="module")
def helped():
    """What each `--help` shows, in a process that had loaded nothing before, and what was loaded when it had."""
    code = (
        "import io, json, sys; from contextlib import redirect_stdout; from dmlviz.cli.main import main\n"
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


def test_every_setting_of_a_training_is_an_option(called):
    _, shown, _ = called("train", "--help")
    for name, field in TrainConfig.model_fields.items():
        option = name.replace("_params", "_param").replace("_", "-")
        assert f"--{option} " in shown, name
        assert field.description.split()[0] in shown


def test_options_become_the_config_and_what_is_left_out_stays_out(monkeypatch):
    seen = []
    monkeypatch.setattr("dmlviz.cli.train.TrainConfig", lambda **given: seen.append(given) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(
            "train --loss triplet --loss-param margin=0.3 --loss-param reduction=nonzero --miner none --no-normalize"
            " --learning-rate 1e-3 --steps 5 --held-out-classes 7,8".split()
        )
    assert seen == [
        {
            "loss": "triplet",
            "loss_params": {"margin": 0.3, "reduction": "nonzero"},
            "miner": None,
            "normalize": False,
            "learning_rate": 1e-3,
            "steps": 5,
            "held_out_classes": "7,8",
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
        (["--optimizer", "lion"], "'adam', 'sgd' or 'rmsprop'"),
        (["--held-out-classes", "7,12"], "run from 0 to 9; got 12"),
    ],
)
def test_a_setting_that_cannot_be_is_one_line_and_exit_code_2(called, tmp_path, words, said):
    code, shown, error = called("train", *words, "--runs", tmp_path)
    assert (code, shown) == (2, "")
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("words", [["train", "--stepz", "5"], ["train", "--steps", "many"], ["dance"], ["--purt", "1"]])
def test_a_word_that_is_none_is_exit_code_2_without_a_traceback(called, words):
    code, _, error = called(*words)
    assert code == 2
    assert "Traceback" not in error
    assert "help" in error
