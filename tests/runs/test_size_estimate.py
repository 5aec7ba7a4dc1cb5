"""What a run will take is known before it is trained, and no run takes more than it may."""

import re

import pytest

from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.runs.quota import folder_size
from dmlviz.runs.size_estimate import estimate_size
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

TEST_IMAGES = 596  # of the digits
QUICK = TrainConfig(dataset="digits", net="mlp", steps=20, num_snapshots=20, eval_subset_size=300)
REST = 4_000_000  # bytes of weights, checkpoints, batches, log


def trained(folder, config, room=None):
    run = Runs(folder).create(config)
    for _ in train_and_record(run, room=room, save_checkpoints=False):
        pass
    return run


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"embedding_dim": 512}, {"embedding_dim": 2, "eval_subset_size": 10_000}])
def test_a_run_takes_what_was_estimated_and_a_few_megabytes(tmp_path, settings):
    config = QUICK.replace(**settings)
    size = folder_size(trained(tmp_path, config).path)
    assert (
        0.8 * estimate_size(config, TEST_IMAGES).total <= size <= 1.02 * estimate_size(config, TEST_IMAGES).total + REST
    )
    assert estimate_size(config, TEST_IMAGES).total <= estimate_size(config.replace(eval_subset_size=10_000)).total


@pytest.mark.slow
def test_a_training_stops_in_order_before_its_run_takes_more_than_it_may(tmp_path):
    config = QUICK.replace(embedding_dim=1024)
    room = 16_000_000
    run = trained(tmp_path, config, room)
    assert run.state == "stopped"
    assert run.end["reason"].startswith(f"stopped after {len(run.snapshot_steps)} snapshots: the run may take 16 MB")
    assert 5 <= len(run.snapshot_steps) < 20
    assert folder_size(run.path) <= room
    assert run.embeddings.shape == (len(run.labels), 1024)
    assert trained(tmp_path / "other", config, 10 * room).state == "finished"


@pytest.mark.parametrize(
    "settings", [{"num_snapshots": 1000, "embedding_dim": 1024}, {"embedding_dim": 4096, "num_snapshots": 3}]
)
@pytest.mark.parametrize("room", [200_000_000, 40_000_000, 1_000_000])
def test_what_is_refused_names_settings_that_fit(settings, room):
    config = QUICK.replace(dataset="mnist", steps=1000, eval_subset_size=10_000, **settings)
    with pytest.raises(UserError, match="This run would take about") as refused:
        estimate_size(config, 10_000).check(room, "You may still take")
    lower = {name: int(value.replace(",", "")) for name, value in re.findall(r"(\w+) to ([\d,]+)", str(refused.value))}
    assert lower, refused.value
    estimate_size(config.replace(**lower), 10_000).check(room, "You may still take")
