"""The lab Reality check: folds, the search, the plan, the gains; on tiny data by hand."""

import importlib.util
import json
import runpy
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dmlviz.catalog.losses import LOSSES
from dmlviz.data import Dataset, Split
from dmlviz.labs.reality_check import measure as measures
from dmlviz.labs.reality_check import plan as planning
from dmlviz.labs.reality_check.claims import BASELINE_TRICKS, FAVOR_WORDS, TRICKS, baseline_name, claim, gains, rows
from dmlviz.labs.reality_check.measure import SCORES
from dmlviz.labs.reality_check.plan import (
    BASELINES,
    BY_KEY,
    CONTESTANTS,
    CONTRASTIVE,
    FAVORS,
    SEEDS,
    TRIALS,
    best_settings,
    has_optuna,
    next_settings,
    plan,
    search_results,
    total,
)
from dmlviz.labs.registry import LABS
from dmlviz.metrics import evaluate
from dmlviz.studies.study import create_study
from dmlviz.studies.trial import TrialContext, TrialResult, TrialStoppedError

ROOT = Path(__file__).parents[2]
DOCS = runpy.run_path(str(ROOT / "scripts" / "make_reality_check_docs.py"))


def test_folds_share_no_class_and_leave_the_second_half_alone():
    folds = measures.folds(100)
    assert len(folds) == 4
    for train, validation in folds:
        assert not set(train) & set(validation)
        assert set(train) | set(validation) == set(range(50))
        assert len(validation) in (12, 13)  # an eighth of all classes
    assert sorted(label for _, validation in folds for label in validation) == list(range(50))


def test_of_ten_classes_each_fold_validates_two_so_that_one_can_be_taken_for_the_other():
    folds = measures.folds(10)
    assert folds[1] == ([0, 3, 4], [1, 2])
    assert [(len(train), len(validation)) for train, validation in folds] == [(3, 2)] * 4
    assert {label for _, validation in folds for label in validation} == set(range(5))


@pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda contestant: contestant.key)
@pytest.mark.parametrize("use_tpe", [False, True])
def test_settings_lie_in_their_ranges_and_come_again(contestant, use_tpe):
    if use_tpe and not has_optuna():
        pytest.skip("needs Optuna")
    history = []
    for number in range(12):
        settings = next_settings(contestant, history, use_tpe)
        assert settings == next_settings(contestant, history, use_tpe)
        for dimension in contestant.dimensions:
            assert dimension.low <= settings[dimension.name] <= dimension.high
            assert not dimension.whole or isinstance(settings[dimension.name], int)
        history.append((settings, None if number == 4 else -abs(settings["learning_rate"] - 0.01)))
    assert len({json.dumps(settings) for settings, _ in history}) == 12
    assert history[0][0] == {dimension.name: dimension.start for dimension in contestant.dimensions}


def test_tpe_finds_better_settings_than_chance():
    if not has_optuna():
        pytest.skip("needs Optuna")
    contestant = BY_KEY["cosface"]

    def score(settings):
        return -((np.log(settings["scale"] / 30) ** 2) + 10 * (settings["margin"] - 0.1) ** 2)

    def best(use_tpe):
        history = []
        for _ in range(40):
            settings = next_settings(contestant, history, use_tpe)
            history.append((settings, score(settings)))
        return np.mean(sorted(value for _, value in history)[-10:])

    assert best(True) > best(False)


def test_every_setting_that_is_searched_belongs_to_the_loss_its_miner_or_the_training():
    from dmlviz.catalog.miners import MINERS

    for contestant in CONTESTANTS:
        miner = contestant.fixed.get("miner")
        known = {parameter.name for parameter in LOSSES[contestant.loss].parameters}
        known |= {parameter.name for parameter in MINERS[miner].parameters} if miner else set()
        assert {dimension.name for dimension in contestant.space} <= known | {"loss_learning_rate"}


def finish(size, score=lambda trial: 0.5):
    """Do the whole plan with made-up values: the search's score, and finals with the seed in them."""
    results = []
    while True:
        done = {result.trial.name for result in results}
        missing = [trial for trial in plan(size, "numbers", results) if trial.name not in done]
        if not missing:
            return results
        trial = missing[0]
        if trial.settings["score_on"] == "validation":
            values = {"validation": score(trial), "folds": [score(trial)] * 4}
        else:
            level = 0.5 if trial.name.startswith("final") else 0.25
            level += 0.1 * (trial.settings["contestant"] != CONTRASTIVE.key) + 0.001 * trial.settings["seed"]
            scores = dict.fromkeys(measures.SCORES, level)
            classes = [level - 0.1, level, level + 0.1]
            values = {"separated": scores, "concatenated": scores, "classes": classes, "peeked": level + 0.05}
        results.append(TrialResult(trial=trial, values=values))


def test_the_plan_searches_each_loss_in_turn_then_takes_its_best_settings():
    results = finish("quick", score=lambda trial: trial.settings["tuned"]["learning_rate"])
    names = [result.trial.name for result in results]
    count, seconds = total("quick", "numbers")
    assert len(names) == len(set(names)) == count
    assert seconds == pytest.approx(sum(result.trial.seconds for result in results))
    assert names[:5] == [f"search-{key}-00" for key in ("contrastive", "triplet", "nt_xent", "arcface")] + [
        "search-contrastive-01"
    ]
    for key in ("contrastive", "arcface"):
        searched = search_results(BY_KEY[key], results)
        assert len(searched) == TRIALS["quick"]
        best = max(result.trial.settings["tuned"]["learning_rate"] for result in searched)
        finals = [result for result in results if result.trial.name.startswith(f"final-{key}-")]
        assert len(finals) == SEEDS["quick"]
        assert {result.trial.settings["tuned"]["learning_rate"] for result in finals} == {best}
    assert sum(name.startswith("paper-") for name in names) == 3 * SEEDS["quick"] + 4


def test_a_loss_that_always_diverges_gets_no_final_runs_and_stops_nothing():
    results = finish("quick")
    failed = [
        TrialResult(trial=result.trial, values={}, error="diverged")
        if result.trial.name.startswith("search-arcface")
        else result
        for result in results
        if not result.trial.name.startswith("final-arcface")
    ]
    assert best_settings(search_results(BY_KEY["arcface"], failed)) is None
    assert {trial.name for trial in plan("quick", "numbers", failed)} == {result.trial.name for result in failed}
    assert "ArcFace" not in {row.x for row in rows(failed) if row.figure == "level"}


def test_gains_compare_with_the_baseline_after_each_trick():
    results = finish("quick")
    # Means over seeds 1 and 2: the new losses 0.6015, the tuned baseline 0.5015, as papers run it 0.2515.
    level, unfair, peeked = 0.6015 / 0.5015 - 1, 0.6015 / 0.2515 - 1, 0.6515 / 0.2515 - 1
    assert gains(results)["ArcFace"] == pytest.approx([100 * gain for gain in (level, unfair, unfair, unfair, peeked)])
    figures = {row.figure for row in rows(results)}
    assert figures | {"searches"} == {figure.name for figure in LABS["reality-check"].figures}  # a quick study has one
    against_triplet = {row.x: row.y for row in rows(results) if row.figure == "years_triplet"}
    assert against_triplet["Contrastive 2006"] == pytest.approx(100 * (0.5015 / 0.6015 - 1))
    assert against_triplet["ArcFace 2019"] == pytest.approx(0)
    assert [row.x for row in rows(results) if row.figure == "tricks" and row.series == "Triplet"] == list(TRICKS)
    assert f"{100 * level:+.0f}%" in LABS["reality-check"].guess.answer(results)


def test_a_claim_compares_what_the_tricks_made_of_both_losses():
    results = finish("quick")
    arcface = BY_KEY["arcface"]
    # Seeds 1 and 2: 0.601 and 0.602 of the new loss; baselines 0.5015 if tuned alike, else 0.2515, one seed 0.251.
    fair, unfair = claim(results, arcface), claim(results, arcface, {"untuned", "unmined", "best_step"})
    assert (fair.own, fair.baseline) == pytest.approx((0.6015, 0.5015))
    assert (unfair.own, unfair.baseline) == pytest.approx((0.6515, 0.2515))
    assert unfair.gain == pytest.approx(100 * (0.6515 / 0.2515 - 1))
    assert claim(results, arcface, {"best_seed"}).own == pytest.approx(0.602)
    assert claim(results, arcface, {"best_seed"}).own_runs == 2
    assert claim(results, arcface, {"smaller"}).baseline == pytest.approx(0.251)
    assert claim(results, CONTRASTIVE, {"untuned"}).gain == pytest.approx(100 * (0.5015 / 0.2515 - 1))
    assert claim(results, arcface, {"four_nets", "best_step"}).own == pytest.approx(0.6015)
    without = [result for result in results if not result.trial.name.startswith("paper-tuned-smaller")]
    assert claim(without, arcface, {"smaller"}) is None
    assert claim([], arcface) is None


def test_the_paper_that_wins_is_trained_in_its_own_ways_and_no_other_is():
    results = finish("quick", score=lambda trial: 0.5 + 0.1 * (trial.settings["contestant"] == "triplet"))
    favors = {one.trial.name: one.trial for one in results if one.trial.name.startswith("favor-")}
    assert [*favors] == [f"favor-{name}-triplet-seed_01" for name in FAVORS]
    own, usual = favors["favor-all-triplet-seed_01"].settings, favors["favor-net-triplet-seed_01"].settings
    assert own["changes"].keys() == {"net", "augmentation", "optimizer"}
    assert (own["steps"], usual["steps"]) == (200, 100)
    # The made-up values of these runs are 0.351, those of the level field 0.5015 and 0.6015.
    assert claim(results, BY_KEY["triplet"], favor="net").gain == pytest.approx(100 * (0.351 / 0.5015 - 1))
    assert claim(results, BY_KEY["arcface"], favor="net") is None
    cells = [(row.series, row.x) for row in rows(results) if row.figure == "favors"]
    assert cells == [("Triplet", words) for words in FAVOR_WORDS.values()]


def test_every_combination_of_tricks_has_a_baseline_of_its_own():
    names = {
        baseline_name({trick for number, trick in enumerate(BASELINE_TRICKS) if mask >> number & 1})
        for mask in range(8)
    }
    assert names == {"", *BASELINES}


def test_losses_are_tied_where_the_interval_of_their_difference_reaches_zero():
    results = finish("quick", score=lambda trial: 0.5 + 0.01 * (trial.settings["contestant"] == "arcface"))
    arcface = BY_KEY["arcface"]
    assert DOCS["by_class"](results, arcface).mean(axis=0) == pytest.approx([50.15, 60.15, 70.15])
    assert DOCS["class_interval"](DOCS["by_class"](results, arcface)) == pytest.approx(
        (60.15, 50.15, 70.15)
    )  # of three classes
    # Each class is ten points above the baseline's, and the two seeds are 0.1 apart.
    mean, low, high = DOCS["difference"](results, arcface, CONTRASTIVE)
    assert (mean, low, high) == pytest.approx((10, 9.9, 10.1))
    mean, low, high = DOCS["difference"](results, arcface, BY_KEY["triplet"])
    assert (mean, low, high) == pytest.approx((0, -0.1, 0.1))
    assert DOCS["fold_difference"](results, arcface, CONTRASTIVE) == pytest.approx((1, 1, 1))
    old = [replace(result, values={k: v for k, v in result.values.items() if k != "classes"}) for result in results]
    assert DOCS["by_class"](old, arcface) is None


def test_a_setting_at_the_end_of_its_range_is_named():
    results = finish("quick", score=lambda trial: trial.settings["tuned"].get("scale", 0))
    best = best_settings(search_results(BY_KEY["arcface"], results))
    at_end = {**best, "margin": 1.49, "scale": 8.0, "learning_rate": 0.003, "loss_learning_rate": 0.03}
    trial = next(result for result in results if result.trial.settings["tuned"] == best)
    moved = replace(trial, trial=replace(trial.trial, settings={**trial.trial.settings, "tuned": at_end}))
    assert DOCS["ends_of_ranges"]([moved], BY_KEY["arcface"]) == ["ArcFace margin 1.49 (0 to 1.5)"]


def test_rows_can_be_drawn_from_any_part_of_the_results():
    results = finish("quick")
    for count in range(len(results)):
        rows(results[:count])
        LABS["reality-check"].guess.answer(results[:count])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A hundred classes of 8 × 8 pixels, in which a bright one tells the class, or the class 64 further on."""
    rng = np.random.default_rng(0)

    def split(count):
        labels = np.tile(np.arange(100), count)
        images = rng.integers(0, 120, (len(labels), 8, 8)).astype(np.uint8)
        images[np.arange(len(labels)), labels % 8, labels // 8 % 8] = 255
        return Split(images, labels)

    return Dataset("numbers", tuple(f"{n:02}" for n in range(100)), split(8), split(2), 0.25, 0.2)


@pytest.mark.slow
def test_one_trial_gives_the_scores_of_its_four_nets(tiny, monkeypatch, tmp_path):
    monkeypatch.setattr(measures, "load", lambda name, root: tiny)
    monkeypatch.setattr(measures, "TRAIN_IMAGES", 400)
    embedded = []
    score = measures._scores
    monkeypatch.setattr(measures, "_scores", lambda points, split: embedded.append(points) or score(points, split))
    final = next(trial for trial in plan("quick", "numbers", []) if trial.name.startswith("paper-untuned"))
    final = type(final)(name="f", settings={**final.settings, "steps": 4}, dataset="numbers", seconds=1)
    values = measures.measure(final, TrialContext(folder=tmp_path))
    test = tiny.test.select_classes(range(50, 100))
    joined = embedded[-1]
    assert joined.shape == (len(test), 4 * measures.DIMENSIONS)
    np.testing.assert_allclose(np.linalg.norm(joined[:, : measures.DIMENSIONS], axis=1), 1, rtol=1e-5)
    alone = [
        evaluate(joined[:, start : start + measures.DIMENSIONS], test.labels)["map_at_r"]
        for start in range(0, joined.shape[1], measures.DIMENSIONS)
    ]
    assert values["separated"]["map_at_r"] == pytest.approx(np.mean(alone))
    assert np.mean(values["classes"]) == pytest.approx(values["separated"]["map_at_r"])  # classes of equal size
    assert values["concatenated"]["map_at_r"] == pytest.approx(evaluate(joined, test.labels)["map_at_r"])
    assert values["peeked"] >= values["separated"]["map_at_r"]
    search = plan("quick", "numbers", [])[0]
    search = type(search)(name="s", settings={**search.settings, "steps": 4}, dataset="numbers", seconds=1)
    shares = []
    values = measures.measure(search, TrialContext(folder=tmp_path, report=lambda share, **more: shares.append(share)))
    assert values["validation"] == pytest.approx(np.mean(values["folds"]))
    assert len(values["folds"]) == 4
    stopped = type(search)(name="s", settings={**search.settings, "steps": 20}, dataset="numbers", seconds=1)
    with pytest.raises(TrialStoppedError):
        measures.measure(stopped, TrialContext(folder=tmp_path, stop=lambda: True))


def test_the_printed_table_has_all_rows_of_the_paper():
    printed = [row for row in LABS["reality-check"].literature if row.figure == "level"]
    assert len(printed) == 3 * 15
    against = {(row.figure, row.series, row.x): row.y for row in LABS["reality-check"].literature}
    cub = "CUB200, on the level field"  # contrastive 21.18, triplet 18.75
    assert against["years", cub, "Triplet 2009"] == pytest.approx(100 * (18.75 / 21.18 - 1))
    assert against["years_triplet", cub, "Contrastive 2006"] == pytest.approx(100 * (21.18 / 18.75 - 1))
    best = {
        dataset: max((row for row in printed if row.series == dataset), key=lambda row: row.y).x
        for dataset in ("CUB200", "Cars196", "SOP")
    }
    assert best == {"CUB200": "ArcFace", "Cars196": "MS", "SOP": "N. Softmax"}
    assert {one.title for one in CONTESTANTS if one.year < 2020} - {"Ranked list"} <= {row.x for row in printed}


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
        values = {
            "separated": scores,
            "concatenated": scores,
            "classes": [level - 0.01, level + 0.01],
            "peeked": level,
            "validation": level,
            "folds": [level - 0.01, level, level, level + 0.01],
        }
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
    assert "| SupCon | 2020 | 72.8 ± 3.2 |" in page
    assert "| 71.8 to 73.8 |" in page  # two classes: every resample lies between them
    assert "Highest separated MAP@R: SupCon with 72.8%. No other loss is tied with it." in page
    assert "SupCon has the highest validation score and is tied with no other" in page
    assert "in place 22 of 22 with 30.8%" in page
    assert "(random)" in page
    # Of Margin, fifth: the mean of seeds 1 to 3 after a further search.
    assert "Contrastive, Margin, SNR, MS, Proxy-Anchor and Ranked list were searched more than once" in page
    assert "| Margin | 38.8 ± 3.2 | 39.0 ± 1.2 |" in page
    for figure in ("reality_check_level.svg", "reality_check_papers.svg"):
        assert figure in page
        words = "".join(ElementTree.parse(tmp_path / figure).getroot().itertext())
        assert "SoftTriple" in words
