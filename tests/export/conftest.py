"""One small run of the digits, really trained, with a finished t-SNE."""

import shutil

import pytest
import torch

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.export import RunExport
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

CONFIG = TrainConfig(
    dataset="digits",
    net="mlp",
    embedding_dim=6,
    loss="triplet",
    loss_params={"margin": 0.3},
    miner=None,
    normalize=False,
    classes_per_batch=5,
    images_per_class=4,
    steps=12,
    num_snapshots=4,
    eval_subset_size=200,
    seed=3,
)


MAP = ProjectionConfig(method="tsne", params={"iterations": 60})


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A folder with one run."""
    torch.set_num_threads(1)
    runs = Runs(tmp_path_factory.mktemp("kept"))
    run = runs.create(CONFIG, "Größe <b>& Co</b>")
    list(train_and_record(run))
    projection = runs.create_projection(run, MAP)
    run_projection(projection.path)
    assert run.state == projection.state == "finished"
    return runs


@pytest.fixture(scope="session")
def run(runs):
    """The run."""
    return runs.get(CONFIG.id)


@pytest.fixture
def follow(run, tmp_path):
    """A function that makes a copy of the run with a map that follows it: `follow(method)`; none for no method."""

    def follow(method):
        copy = Run(shutil.copytree(run.path, tmp_path / run.id))
        if method is None:
            return RunExport(copy)
        projection = Runs(tmp_path).create_projection(copy, ProjectionConfig(method=method, follow=True))
        run_projection(projection.path)
        return RunExport.from_run(copy, projection)

    return follow


@pytest.fixture(scope="session")
def kept(run):
    """As it is shown first."""
    return RunExport.from_run(run)


@pytest.fixture(scope="session")
def kept_projection(run):
    """With its t-SNE."""
    return RunExport.from_run(run, run.projection(MAP.id))
