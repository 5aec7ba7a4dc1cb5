"""The examples of docs/EXTENDING.md work, and the files that it names exist."""

import re
from pathlib import Path

import numpy as np
import pytest

from dmlviz import data, metrics, miners, nets, plugins
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.plugins import load_plugins
from dmlviz.projection import project
from dmlviz.training import sampling

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "EXTENDING.md").read_text()
MINER, NET, METRIC, DATASET, SAMPLER, PROJECTION = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def load(tmp_path, no_plugins):
    """`load(text)` loads a plug-in file that holds it."""

    def run(text):
        path = tmp_path / "shown.py"
        path.write_text(text)
        load_plugins([path])

    return run


def test_the_miner_selects(load):
    torch = pytest.importorskip("torch")
    load(MINER)
    found = miners.build("first_negative")(torch.randn(3, 2), torch.tensor([1, 0, 1]))
    assert [index.tolist() for index in found] == [[0, 2], [2, 0], [1, 1]]


def test_the_net_embeds(load):
    torch = pytest.importorskip("torch")
    load(NET)
    assert nets.build("one_hidden_layer", embedding_dim=5, size=8)(torch.zeros(2, 1, 8, 8)).shape == (2, 5)


def test_the_metric_is_scored(load):
    load(METRIC)
    points = np.array([[3.0, 4.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    assert metrics.evaluate(points, [0, 0, 1, 1], clustering=False, verification=False)["median_norm"] == 2.5


def test_the_data_set_loads(load):
    load(DATASET)
    found = data.load("stripes")
    assert (len(found.train), len(found.test), found.size) == (100, 20, 16)


def test_the_sampler_draws(load):
    load(SAMPLER)
    config = TrainConfig(dataset="digits", sampler="with_replacement", batch_size=12)
    batches = sampling.build(config, np.zeros(5, int), 0)
    batch = next(batches)
    assert (batch.shape, batch.dtype, set(batch.tolist()) <= set(range(5))) == ((12,), np.int64, True)
    assert (next(batches) != batch).any()


def test_the_projection_draws_and_places(load):
    load(PROJECTION)
    points = np.random.default_rng(0).standard_normal((30, 6)).astype(np.float32)
    drawn = project(points, ProjectionConfig(method="random_plane", dims=3, seed=2))
    assert drawn.coordinates.shape == (30, 3)
    np.testing.assert_allclose(drawn.place(points[:4]), drawn.coordinates[:4], atol=1e-4)


def test_every_file_that_it_names_is_there():
    named = set(re.findall(r"`((?:dmlviz|app|tests|examples)/[\w/.]*)`", TEXT)) | set(
        re.findall(r"\]\(([^)#:]+)\)", TEXT)
    )
    assert len(named) > 20
    assert [name for name in sorted(named) if not any((at / name).exists() for at in (ROOT, ROOT / "docs"))] == []


def test_the_environment_variable_it_names_is_the_one():
    assert f"`{plugins.ENVIRONMENT}`" in TEXT
    assert all(f"`dmlviz.{group}`" in TEXT for group in plugins.CATALOGS)
