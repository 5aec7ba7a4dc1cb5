"""The runs of a lesson's pages: what is missing is trained and drawn, once."""

import dataclasses

import pytest

from dmlviz import lessons
from dmlviz.cli.lesson_runs import lesson_runs
from dmlviz.data import data_root
from dmlviz.errors import UserError
from dmlviz.export.lesson_page import lesson_page
from dmlviz.lessons import LESSONS
from dmlviz.runs.store import Runs


def test_what_is_missing_is_trained_and_drawn_once(tmp_path, monkeypatch):
    lesson = LESSONS["do-not-trust-the-map"]
    task = dataclasses.replace(lesson.tasks[0], settings="steps=3&net=linear&view=pca")
    short = dataclasses.replace(lesson, tasks=(task,))
    monkeypatch.setitem(lessons.LESSONS, lesson.name, short)
    store, said = Runs(tmp_path), []
    export = lesson_runs(lesson.name, "digits", store, data_root(), said.append)
    assert [line.partition(": ")[2].split()[0] for line in said] == ["training", "drawing"]
    (kept,) = export.runs
    assert (kept.run.config, kept.drawing.config) == (task.training("digits"), task.projection())
    again = lesson_runs(lesson.name, "digits", store, data_root(), said.append)
    assert len(said) == 2
    assert again.runs[0].run.id == kept.run.id

    page = lesson_page(export, ["name-of-the-page"], "Site")
    assert f"<td>{kept.run.metrics['precision_at_1']:.3f}</td>" in page
    assert page.index("name-of-the-page.html#run") < page.index("Your guess")  # the map comes first, without scores
    assert "On all 596 test images of Digits 8 × 8, after 3 steps." in page


def test_an_unknown_lesson_is_told(tmp_path):
    with pytest.raises(UserError, match="no lesson 'why-minning'; there are why-a-margin, why-mining"):
        lesson_runs("why-minning", "digits", Runs(tmp_path), data_root())
