"""A server and a machine that share only a file system, as on a cluster with Slurm: the address is in a file."""

import subprocess
import sys

import pytest

from dmlviz.fleet.certificates import load_security
from dmlviz.fleet.dask_client import connect
from dmlviz.fleet.dask_config import scheduler_address
from dmlviz.fleet.dask_fleet import DaskFleet
from dmlviz.fleet.errors import FleetError
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.labs.lab_study import plan_trials
from dmlviz.studies.runner import StudyRunner


def test_a_server_and_a_machine_find_each_other_by_the_schedulers_file_and_do_a_study(
    tmp_path, certificates, start_worker, until, short, counting
):
    file, reports = tmp_path / "fleet.json", []
    address = f"file:{file}"
    machine = start_worker(address, "node-1")  # at the latest when there is a scheduler it joins
    command = [sys.executable, "-m", "dmlviz", "fleet", "scheduler", "tls://127.0.0.1:0", "--scheduler-file", str(file)]
    with subprocess.Popen([*command, "--certificates", str(certificates)], stdout=subprocess.PIPE) as scheduler:
        fleet = DaskFleet(address, certificates)
        jobs = JobScheduler(tmp_path / "runs", slots=0, warm=False, fleet=fleet, on_job=reports.append)
        runner = StudyRunner(jobs, tmp_path / "studies", plan_trials)
        try:
            until(lambda: jobs.fleet.machines)
            assert jobs.all_slots == 1
            run = jobs.submit(training(jobs.runs, short))
            until(lambda: jobs.status(run).phase in ("finished", "failed"))
            assert run.state == "finished", run.end
            assert jobs.runs.get(run.id).info["machine"] == "node-1"

            study = runner.start("counting", "quick", "digits")
            assert runner.wait(study, 300)
            assert study.state == "finished"
            results = {result.trial.name: result for result in study.results()}
            assert [results[f"trial_{number}"].values["y"] for number in range(3)] == [0, 1, 4]
            assert (results["trial_2"].folder / "picture.txt").read_text() == "a picture"
            assert {report.worker for report in reports if report.state == "finished"} == {"node-1"}
        finally:
            runner.close()
            jobs.close()
            machine.said()
            scheduler.terminate()
    assert not file.exists()


def test_a_missing_or_damaged_scheduler_file_is_one_sentence(tmp_path, certificates):
    file = tmp_path / "fleet.json"
    with pytest.raises(FleetError, match=r"No scheduler has written .*fleet\.json yet"):
        connect(f"file:{file}", load_security(certificates))
    for content in ("", "[]", "{}", '{"address": 1}', '{"address": "tcp://127.0.0.1:1"}', '{"address": "file:x"}'):
        file.write_text(content)
        with pytest.raises(ValueError, match="not a scheduler file"):
            scheduler_address(f"file:{file}")
    with pytest.raises(FleetError):
        connect(f"file:{file}", load_security(certificates))
