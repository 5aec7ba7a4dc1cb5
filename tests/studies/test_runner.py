"""Studies through the job slots: all trials done, kept, gone on with, stopped; a trial that fails is only one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from dmlviz.errors import UserError
from dmlviz.jobs.job_record import TrialRecord
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.labs.lab_study import plan_trials, ready_made, study_progress, study_rows, trials_under_way
from dmlviz.labs.registry import LABS
from dmlviz.runs.quota import folder_size
from dmlviz.studies.runner import StudyRunner
from dmlviz.studies.study import Study, list_studies
from tests.waiting import until

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parent / "counting_lab.py"
PATIENCE = 300  # seconds


def names(study):
    return [result.trial.name for result in study.results()]


def test_a_study_does_all_trials_also_those_that_depend_on_results(runner):
    study = runner.start("counting", "full", "digits")
    assert runner.wait(study, PATIENCE)
    assert study.state == "finished"
    results = {result.trial.name: result for result in study.results()}
    assert sorted(results) == [f"trial_{number}" for number in range(6)]
    assert [results[f"trial_{number}"].values["y"] for number in range(6)] == [0, 1, 4, 9, 16, 25]
    assert results["trial_5"].trial.settings == {"square": 5, "sum": 0 + 1 + 4 + 9 + 16}
    assert results["trial_0"].values["nothing"] is None
    assert (results["trial_2"].folder / "picture.txt").read_text() == "a picture"
    table = pyarrow.parquet.read_table(study.path / "results.parquet").to_pylist()
    assert {row["name"]: row["values.y"] for row in table}["trial_4"] == 16
    assert table[0]["values.names"] == '["a", "b"]'
    assert [(row.x, row.y) for row in sorted(study_rows(study), key=lambda row: row.x)][-1] == (5, 25)
    progress = study_progress(study)
    assert (progress.done, progress.total, progress.failed, progress.seconds_left) == (6, 6, 0, 0)
    content = (study.path / "trials.jsonl").read_bytes()
    assert runner.wait(runner.start("counting", "full", "digits"), PATIENCE)  # a finished one stays as it is
    assert (study.path / "trials.jsonl").read_bytes() == content


def test_a_trial_that_fails_or_whose_worker_crashes_is_kept_and_the_study_goes_on(runner, monkeypatch):
    monkeypatch.setenv("TRIAL_0", "fails")
    monkeypatch.setenv("TRIAL_1", "crashes")
    study = runner.start("counting", "quick", "digits")
    assert runner.wait(study, PATIENCE)
    assert study.state == "finished"
    errors = {result.trial.name: result.error for result in study.results()}
    assert errors["trial_0"] == "The training diverged."
    assert "exit status 3" in errors["trial_1"]
    assert errors["trial_2"] == ""
    assert study_progress(study).failed == 2
    assert [row.x for row in study_rows(study)] == [2]


def test_a_study_is_stopped_and_goes_on_with_what_it_has(runner, monkeypatch):
    monkeypatch.setenv("TRIAL_1", "600")
    study = runner.start("counting", "quick", "digits")
    until(lambda: names(study) == ["trial_0", "trial_2"] and study_progress(study).share > 0.8)
    (trial, share, partial) = trials_under_way(study)[0]
    assert (trial.name, share, partial.values) == ("trial_1", 0.5, {"y": -1.0})
    assert -1.0 in [row.y for row in study_rows(study)]  # the figure grows within a trial
    study.request_stop()
    assert runner.wait(study, PATIENCE)
    assert study.state == "stopped"
    assert names(study) == ["trial_0", "trial_2"]
    assert runner.scheduler.running_for() == []
    monkeypatch.delenv("TRIAL_1")
    runner.start("counting", "quick", "digits")
    assert runner.wait(study, PATIENCE)
    assert (study.state, names(study)) == ("finished", ["trial_0", "trial_2", "trial_1"])


def test_one_owner_has_one_trial_under_way(runner, monkeypatch):
    for number in range(3):
        monkeypatch.setenv(f"TRIAL_{number}", "0.4")
    study = runner.start("counting", "quick", "digits", owner="ada")
    most = 0
    while not runner.wait(study, 0.02):
        most = max(most, len(runner.scheduler.running_for("ada")))
    assert study.state == "finished"
    assert most == 1


def test_a_trial_stops_at_the_room_of_its_person_and_the_study_ends_with_the_sentence(scheduler, tmp_path, monkeypatch):
    monkeypatch.setenv("TRIAL_0", "30")
    limit, folder = 200_000, tmp_path / "studies"

    def room(owner):
        assert owner == "ada"
        if folder_size(folder) >= limit:
            raise UserError("Your studies take all that you may have.")
        return limit - folder_size(folder)

    runner = StudyRunner(scheduler, folder, plan_trials, room)
    study = runner.start("counting", "quick", "digits", owner="ada")
    assert runner.wait(study, 60)
    assert (study.state, study.info["reason"]) == ("failed", "Your studies take all that you may have.")
    assert folder_size(folder) < 2 * limit
    stopped = TrialRecord(study.trial_folder("trial_0")).end
    assert (stopped["event"], stopped["reason"][:20]) == ("stopped", "stopped: it may take")
    monkeypatch.delenv("TRIAL_0")
    limit = 10_000_000
    assert runner.wait(runner.start("counting", "quick", "digits", owner="ada"), PATIENCE)
    assert (study.state, sorted(names(study))) == ("finished", ["trial_0", "trial_1", "trial_2"])
    runner.close()


def test_what_does_not_fit_is_said_in_a_sentence(runner, monkeypatch):
    study = runner.start("counting", "quick", "digits")
    assert runner.wait(study, PATIENCE)
    with pytest.raises(UserError, match=r"holds the study counting-quick-digits, and this one is counting-full-mnist"):
        runner.start("counting", "full", "mnist", path=study.path)
    study.update(state="stopped")
    line = study.log.lines()[0].replace(b'"square":0', b'"square":7').replace(b'"square":1', b'"square":7')
    (study.path / "trials.jsonl").write_bytes(line + b"\n")
    runner.start("counting", "quick", "digits")
    assert runner.wait(study, PATIENCE)
    assert study.state == "failed"
    assert "begun by another version of the program" in study.info["reason"]
    runner.start("counting", "quick", "digits", afresh=True)
    assert runner.wait(study, PATIENCE)
    assert study.state == "finished"
    assert list_studies(runner.folder) == [study]


def test_a_study_whose_process_is_killed_goes_on_from_there(counting, tmp_path):
    """As a server that is killed (signal 9) in the middle: only the trial under way is lost."""
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom dmlviz.plugins import load_plugins\n"
        "from dmlviz.jobs.scheduler import JobScheduler\nfrom dmlviz.studies.runner import StudyRunner\n"
        "from dmlviz.labs.lab_study import plan_trials\n"
        f"load_plugins([{str(PLUGIN)!r}])\n"
        "jobs = JobScheduler(Path(sys.argv[1]), slots=1, warm=False)\n"
        "runner = StudyRunner(jobs, Path(sys.argv[1]) / 'studies', plan_trials)\n"
        "runner.wait(runner.start('counting', 'full', 'digits'))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], env=os.environ | {"TRIAL_3": "60"}, cwd=Path(__file__).parents[2]
    )
    study = Study(tmp_path / "studies" / "counting-full-digits")
    until(lambda: study.exists and len(study.results()) == 3 and trials_under_way(study))
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: study.state == "interrupted")
    before = (study.path / "trials.jsonl").read_bytes()
    jobs = JobScheduler(tmp_path, slots=1, warm=False)
    runner = StudyRunner(jobs, study.path.parent, plan_trials)
    assert runner.resume_interrupted() == [study]
    assert runner.wait(study, PATIENCE)
    assert runner.resume_interrupted() == []
    runner.close()
    jobs.close()
    assert study.state == "finished"
    assert (study.path / "trials.jsonl").read_bytes().startswith(before)
    assert len(names(study)) == len(set(names(study))) == 6


def test_a_runner_that_closes_leaves_its_study_interrupted(counting, tmp_path, monkeypatch):
    monkeypatch.setenv("TRIAL_1", "600")
    jobs = JobScheduler(tmp_path, slots=1, warm=False)
    runner = StudyRunner(jobs, tmp_path / "studies", plan_trials)
    study = runner.start("counting", "quick", "digits")
    until(lambda: trials_under_way(study) and study.results())
    runner.close()
    jobs.close()
    assert study.state == "interrupted"
    assert json.loads((study.path / "study.json").read_text())["seconds"] > 0


@pytest.mark.parametrize("lab", LABS)
def test_plans_and_costs_of_every_lab_agree(lab):
    spec = LABS[lab]
    for size in ("quick", "full"):
        for dataset in spec.datasets:
            trials, (count, seconds) = spec.plan(size, dataset, []), spec.total(size, dataset)
            assert 1 <= len(trials) <= count
            assert len({trial.name for trial in trials}) == len(trials)
            assert trials == spec.plan(size, dataset, [])
            assert json.loads(json.dumps([dict(trial.settings) for trial in trials])) == [
                dict(trial.settings) for trial in trials
            ]
            assert sum(trial.seconds for trial in trials) <= seconds * 1.01
    kept = ready_made(lab)
    if kept is not None:
        assert kept.state == "finished"
        figures = {figure.name for figure in spec.figures}
        assert {row.figure for row in study_rows(kept)} <= figures
        assert spec.guess.answer(kept.results())
