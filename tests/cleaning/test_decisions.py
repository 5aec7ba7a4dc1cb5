"""Findings of a run and decisions about them, from Python and on the command line."""

import csv

import numpy as np
import pytest

import dmlviz
from dmlviz.cleaning.findings import Finding, Findings
from dmlviz.data.corrections import Corrections, load_corrections
from dmlviz.errors import UserError


def found():
    return Findings(
        run="0" * 16,
        dataset="digits",
        images=1201,
        uncompared=0,
        steps=(0, 3),
        recall=1.0,
        rows=(
            Finding("suspect", 17, 3, 0.9, "90% of its neighbors over the training are 9", 9),
            Finding("suspect", 23, 1, 0.75, "75% of its neighbors, and more, are 7", 7),
            Finding("duplicate", 40, 2, 0.0, "The same pixels as training image 8", None, 8, 2),
            Finding("leak", 50, 0, 0.01, "Pixels differ by 1.0% from test image 8", None, 8, 0),
        ),
    )


def test_decisions_are_kept_by_image_and_read_again(tmp_path):
    first = dmlviz.correct("digits", relabel={17: "4", 18: 5}, exclude=np.array([23]), data=tmp_path)
    both = dmlviz.correct("digits", confirm=[9], tag={23: "torn", 30: "odd"}, undo=[18], data=tmp_path)
    assert first.changes == {17: 4, 18: 5, 23: -1}
    assert {image: (one.action, one.label, one.tag) for image, one in both.images.items()} == {
        9: ("confirm", None, ""),
        17: ("relabel", 4, ""),
        23: ("exclude", None, "torn"),
        30: ("tag", None, "odd"),
    }
    assert dmlviz.correct("digits", data=tmp_path) == both == load_corrections(tmp_path, "digits")
    assert load_corrections(tmp_path, "digits", both.freeze(tmp_path)).changes == {17: 4, 23: -1}


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"exclude": [5], "relabel": {5: "3"}}, "got relabel and exclude of image 5: choose one"),
        ({"confirm": [1], "undo": [1]}, "got confirm and undo of image 1"),
        ({"exclude": [999999]}, "0 to 1,200; got 999,999"),
        ({"confirm": [-1]}, "0 to 1,200; got -1"),
        ({"relabel": {5: "eleven"}}, "is a class of digits, like 0; got 'eleven' of image 5"),
        ({"relabel": {5: 10}}, "between 0 and 9; got 10"),
    ],
)
def test_a_wrong_decision_is_a_sentence_and_none_is_kept(tmp_path, wish, said):
    with pytest.raises(UserError, match=said):
        dmlviz.correct("digits", tag={3: "odd"}, data=tmp_path, **wish)
    assert load_corrections(tmp_path, "digits") == Corrections("digits")


def test_what_was_decided_is_left_out_or_written_beside_it(tmp_path):
    corrections = dmlviz.correct("digits", relabel={17: "9"}, exclude=[8], tag={23: "x, y"}, data=tmp_path)
    left = found().undecided(corrections)
    assert [(row.kind, row.image) for row in left.rows] == [("suspect", 23), ("leak", 50)]  # the copy of 8 is gone
    assert found().undecided(Corrections("digits")) == found()
    found().to_csv(tmp_path / "found.csv", corrections)
    with (tmp_path / "found.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["image"] for row in rows] == ["17", "23", "40", "50"]
    named = ("label", "suggestion", "decision", "new_label", "tag", "other", "other_label")
    assert [rows[0][name] for name in named] == ["3", "9", "relabel", "9", "", "", ""]
    assert [rows[1][name] for name in named] == ["1", "7", "", "", "x, y", "", ""]
    assert [rows[2][name] for name in named] == ["2", "", "", "", "", "8", "2"]
    assert rows[1]["reason"] == found().rows[1].reason
    assert float(rows[1]["score"]) == 0.75
