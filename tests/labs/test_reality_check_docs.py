"""The page docs/REALITY_CHECK.md is written from a finished study, and says what is in it."""

import importlib.util
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dmlviz.labs.measures.reality_check import SCORES
from dmlviz.labs.reality_check import plan as planning
from dmlviz.labs.reality_check.contestants import CONTESTANTS
from dmlviz.studies.study import create_study
from dmlviz.studies.trial import TrialResult

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch, tmp_path):
    """The script, with a full study of two trials and two seeds, whose values are made up."""
    spec = importlib.util.spec_from_file_location("docs_script", ROOT / "scripts" / "make_reality_check_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for table in (planning.TRIALS, planning.SEEDS):
        monkeypatch.setitem(table, "full", 2)
    monkeypatch.setattr(planning, "has_optuna", lambda: False)
    study = create_study(tmp_path / "study", "reality-check", "full", "numbers")
    results = []
    while missing := planning.plan("full", "numbers", results)[len(results) :]:
        trial = missing[0]
        number = [contestant.key for contestant in CONTESTANTS].index(trial.settings["contestant"])
        level = 0.3 + 0.02 * number + 0.005 * trial.settings["seed"]
        scores = dict.fromkeys(SCORES, level)
        values = {"separated": scores, "concatenated": scores, "peeked": level, "validation": level, "folds": []}
        results.append(TrialResult(trial=trial, values=values, seconds=9))
        study.append(results[-1])
    study.finish()
    monkeypatch.setattr(module, "ready_made", lambda name: study)
    monkeypatch.setattr(module, "DOCS", tmp_path)
    return module


def test_the_page_has_every_loss_and_the_figures_are_valid(script, tmp_path):
    script.main()
    page = (tmp_path / "REALITY_CHECK.md").read_text()
    for contestant in CONTESTANTS:
        assert page.count(f"| {contestant.title} |") >= 2, contestant.title
    # Mean of seeds 1 and 2 with the half width of the t-interval: 12.706 · 0.25 = 3.2 percent.
    assert "| SoftTriple | 2019 | 54.8 ± 3.2 |" in page
    assert "Best separated MAP@R: SoftTriple with 54.8 %." in page
    assert "in place 13 of 13 with 30.8 %" in page
    assert "(random)" in page
    for figure in ("reality_check_level.svg", "reality_check_papers.svg"):
        assert figure in page
        words = "".join(ElementTree.parse(tmp_path / figure).getroot().itertext())
        assert "SoftTriple" in words
