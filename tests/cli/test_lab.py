"""`dmlviz lab` and `dmlviz study`: list, run, go on, show, delete."""

import json
import re
from dataclasses import replace

import pytest

from dmlviz.cli import lab as cli_lab
from dmlviz.labs.registry import LABS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of runs."""
    monkeypatch.setenv("DMLVIZ_RUNS", str(tmp_path))
    monkeypatch.setenv("DMLVIZ_NICENESS", "0")  # the command sets it, for its workers
    return tmp_path


@pytest.mark.slow
def test_a_lab_is_run_shown_and_deleted(run_cli, folder, counting, monkeypatch):
    monkeypatch.setenv("TRIAL_1", "fails")
    file = folder / "rows.json"
    code, shown, _ = run_cli("lab", "counting", "--quick", "--json", str(file))
    assert code == 0
    assert "trial_1 failed: The training diverged." in shown
    rows = json.loads(file.read_text())
    assert sorted(row["x"] for row in rows) == [0, 2]
    assert set(rows[0]) == {"figure", "series", "x", "y", "low", "high", "n"}
    shown = run_cli("study")[1]
    assert "counting-quick-digits" in shown
    assert "finished" in shown
    assert "Squares" in run_cli("study", "show", "counting-quick-digits")[1]
    code, _, errors = run_cli("study", "stop", "counting-quick-digits")
    assert code == 2
    assert "is not running: it is finished" in errors
    assert run_cli("study", "delete", "counting-quick-digits")[0] == 0
    assert "No studies in" in run_cli("study")[1]


@pytest.mark.slow
def test_all_labs_are_run_and_a_page_written_which_says_what_failed(run_cli, folder, counting, monkeypatch):
    monkeypatch.setattr(cli_lab, "LABS", {"counting": LABS["counting"], "reid": replace(LABS["reid"], datasets=("x",))})
    code, shown, _ = run_cli("lab", "all", "--quick", "--page", str(folder / "page.html"))
    assert code == 0
    assert "2 of 2 labs" in shown
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert re.search(r"\b(\d+) of \1 trials failed\.", page)
    assert "Hermans" in page


def test_the_list_names_every_lab_with_its_cost(run_cli):
    code, shown, _ = run_cli("lab")
    assert code == 0
    assert all(name in shown for name in LABS)
    assert "trials," in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lab", "margin"], "There is no lab called 'margin': did you mean 'margins'?"),
        (
            ["lab", "margins", "--dataset", "cifar"],
            "The lab margins uses mnist or fashion_mnist or digits; got 'cifar'.",
        ),
        (["lab", "all", "--dataset", "mnist"], "leave out --dataset"),
        (["lab", "margins", "--page", "x.html"], "--page is of all labs: dmlviz lab all --page x.html."),
        (["study", "resume", "nothing"], "There is no study 'nothing'"),
        (["study", "--runs", "x", "show", "y"], "Put --runs after the subcommand"),
    ],
)
def test_wrong_words_get_one_sentence(run_cli, folder, words, message):
    code, _, errors = run_cli(*words)
    assert code == 2
    assert message in errors
