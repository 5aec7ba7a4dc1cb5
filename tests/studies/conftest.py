"""A lab of plain numbers, and a scheduler of two slots whose workers know it."""

import os
from pathlib import Path

import pytest

from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.labs.lab_study import plan_trials
from dmlviz.plugins import load_plugins
from dmlviz.studies.runner import StudyRunner

PLUGIN = Path(__file__).parent / "counting_lab.py"


@pytest.fixture(scope="session")
def counting():
    """The lab, for this process and for the workers that it starts."""
    before = os.environ.get("DMLVIZ_PLUGINS")
    load_plugins([PLUGIN])
    from dmlviz.labs.registry import LABS

    yield LABS["counting"]
    LABS.remove("counting")
    os.environ.pop("DMLVIZ_PLUGINS") if before is None else os.environ.update(DMLVIZ_PLUGINS=before)


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
