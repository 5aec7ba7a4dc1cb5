"""`dmlviz clean`: what is found, what was decided, and what cannot be."""

import csv
import json

import pytest

from dmlviz.data.corrections import Corrections, load_corrections
from dmlviz.runs.store import Runs


@pytest.mark.slow
def test_clean_lists_decides_and_leaves_out_what_was_decided(trained, run_cli, tmp_path):
    folder, _ = trained
    run = Runs(folder).list()[0].id
    where = ("--runs", folder, "--data", tmp_path)
    code, output, _ = run_cli("clean", run, *where, "--csv", tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert code == 0
    assert f"{len(rows):,} rows written to" in output
    first, second, third = list(dict.fromkeys(row["image"] for row in rows if row["kind"] == "suspect"))[:3]
    unlisted = next(str(image) for image in range(1000) if str(image) not in {row["image"] for row in rows})
    decisions = ("--relabel", f"{first}=4", "--exclude", second, "--tag", f"{third}=odd [one]")
    run_cli("clean", run, *where, "--confirm", unlisted)
    code, output, _ = run_cli("clean", run, *where, *decisions)
    assert (code, output) == (
        0,
        "digits: 1 relabeled, 1 excluded, 1 confirmed, 1 tagged. Train with them by --corrections latest.\n",
    )
    code, output, _ = run_cli("clean", run, *where)
    listed = {line.split()[0] for line in output.splitlines() if line[:1].isdigit()}
    assert "Rows left out, already decided: " in output
    assert third in listed
    assert not {first, second, unlisted} & listed
    assert "“odd [one]”" in output
    _, output, _ = run_cli("clean", run, *where, "--all")
    assert {first, second, third, unlisted} <= {line.split()[0] for line in output.splitlines() if line[:1].isdigit()}
    assert "is 4" in output
    assert "excluded" in output
    _, printed, _ = run_cli("clean", run, *where, "--all", "--json", "-")
    found = json.loads(printed)
    assert {int(first), int(second), int(third), int(unlisted)} <= {row["image"] for row in found}
    assert next(row["new_label"] for row in found if row["image"] == int(first)) == "4"
    run_cli("clean", run, *where, "--all", "--csv", tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(newline="") as file:
        assert [row["image"] for row in csv.DictReader(file) if row["kind"] == "decided"] == [unlisted]


def test_a_decision_that_cannot_be_is_a_sentence(trained, run_cli, tmp_path):
    folder, _ = trained
    run, where = Runs(folder).list()[0].id, ("--runs", folder, "--data", tmp_path)
    for options, said in (
        (("--exclude", 999999), "have the numbers 0 to 1,200; got 999,999"),
        (("--relabel", "5=3", "--exclude", 5), "choose one"),
        (("--relabel", "5=3", "--relabel", "5=4"), "takes each image once; got '4' and '3'"),
        (("--relabel", "5=eleven"), "got 'eleven'"),
        (("--relabel", "five=3"), "--relabel takes IMAGE=CLASS, e.g. --relabel 17=0; got 'five=3'"),
        (("--tag", "5="), "--tag takes IMAGE=WORD, e.g. --tag 17=torn; got '5='"),
    ):
        code, _, error = run_cli("clean", run, *where, *options)
        assert code
        assert said in error
        assert error.count("\n") == 1
    assert load_corrections(tmp_path, "digits") == Corrections("digits")


def test_training_with_corrections_of_other_images_says_so_and_not_that_it_diverged(quick, run_cli, tmp_path):
    Corrections("digits").decide(5000, "exclude", 6000, 10).save(tmp_path)
    code, output, error = run_cli(*quick, "--corrections", "latest", "--runs", tmp_path, "--data", tmp_path)
    assert code == 2
    assert "--undo 5000" in error
    assert "diverged" not in output + error
    run = Runs(tmp_path).list()[0]  # a ready-made one: the refused training left none
    code, *_ = run_cli("clean", run.id, "--undo", 5000, "--runs", tmp_path, "--data", tmp_path)
    assert code == 0
    assert load_corrections(tmp_path, "digits") == Corrections("digits")


@pytest.mark.slow
def test_of_own_vectors_rows_are_listed_decided_about_and_written(run_cli, tmp_path):
    where, rows = ("--runs", tmp_path, "--data", tmp_path), 60
    table = "x,y,label,text\n" + "".join(
        f"{i % 2 * 9 + i / 50},{i % 7 / 9},{'ash' if i % 2 == (i != 7) else 'elm'},text {i}\n" for i in range(rows)
    )
    (tmp_path / "mine.csv").write_text(table)
    run_cli("data", "add", tmp_path / "mine.csv", *where)
    code, output, _ = run_cli("clean", "mine", *where)
    assert code == 0
    assert "mine: 60 rows, by their own vectors\n" in output
    assert "leaks" not in output
    assert [line.split()[:3] for line in output.splitlines() if line.startswith("7 ")] == [["7", "elm", "ash"]]
    code, output, _ = run_cli("clean", "mine", *where, "--relabel", "7=ash", "--exclude", 59)
    assert "1 relabeled, 1 excluded, 0 confirmed, 0 tagged. Write them to a file by --all --csv FILE." in output
    run_cli("clean", "mine", *where, "--all", "--csv", tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(newline="") as file:
        found = {row["image"]: row for row in csv.DictReader(file)}
    assert (found["7"]["decision"], found["7"]["new_label"]) == ("relabel", "ash")
    assert (found["59"]["kind"], found["59"]["decision"]) == ("decided", "exclude")
    code, _, error = run_cli("clean", "mine", *where, "--exclude", rows)
    assert code
    assert "have the numbers 0 to 59; got 60" in error
