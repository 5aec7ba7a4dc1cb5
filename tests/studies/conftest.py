"""A lab of plain numbers, and a scheduler of two slots whose workers know it."""

import pytest

from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.labs.lab_study import plan_trials
from dmlviz.studies.runner import StudyRunner


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory, counting):
    scheduler = JobScheduler(tmp_path_factory.mktemp("runs"), slots=2, warm=False)
    yield scheduler
    scheduler.close()


@pytest.fixture
def runner(scheduler, tmp_path):
    runner = StudyRunner(scheduler, tmp_path / "studies", plan_trials)
    yield runner
    runner.close()
