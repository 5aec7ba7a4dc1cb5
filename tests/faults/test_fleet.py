"""A few of the faults of a fleet; `fleet.py` has them all, and more often."""

import pytest

pytest.importorskip("distributed")

import fleet


def test_what_is_killed_loses_no_run_and_the_next_job_runs(capsys):
    fleet.kills(3, seed=5)
    assert "3 kills" in capsys.readouterr().out
