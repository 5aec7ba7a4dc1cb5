"""A training whose recording fills the disk goes on, and is told so once."""

import warnings

import numpy as np
import pytest
from disk import can_mount, small_disk

from dmlviz.recording import record
from dmlviz.runs.damage import check


def test_a_full_disk_costs_a_training_nothing_but_its_last_snapshots(tmp_path):
    if not can_mount():
        pytest.skip("only root can mount a disk")
    rng = np.random.default_rng(0)
    with small_disk(tmp_path / "disk", 1) as disk, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with record("full", labels=np.arange(1000) % 4, runs=disk) as recording:
            for step in range(12):  # 100 kB each
                recording.snapshot(step, rng.normal(size=(1000, 25)), loss=1.0)
        texts = [str(warning.message) for warning in warned]
        assert len(texts) == 1, texts
        assert texts[0].startswith("The recording is not complete, and the training goes on: The disk is full (0.")
        run = recording.run
        assert run.snapshot_steps == [*range(len(run.snapshot_steps))]
        assert 3 < len(run.snapshot_steps) < 12
        assert run.snapshot(0).shape == (1000, 25)
        assert [problem.reason for problem in check(run)] == []
