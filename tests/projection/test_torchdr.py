"""The engine "torchdr" is TorchDR itself, where it is installed; where not, one sentence says what to do."""

import sys

import numpy as np
import pytest
import torch

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection import place_on, project
from dmlviz.projection.euclidean_form import prepare

CONFIGS = [
    ProjectionConfig(method="tsne", engine="torchdr", params={"perplexity": 10, "iterations": 300}, seed=3),
    ProjectionConfig(method="umap", engine="torchdr", params={"neighbors": 10, "iterations": 100}, seed=3),
]


def ids(config: ProjectionConfig) -> str:
    return config.method


@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_without_torchdr_a_sentence_says_what_to_install(digits, config, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchdr", None)
    with pytest.raises(UserError, match=r"drawn by TorchDR, which is not installed: pip install 'dmlviz\[torchdr\]'\."):
        project(digits[0][:60], config)


def test_it_draws_no_other_map():
    with pytest.raises(UserError, match="The engine torchdr draws tsne, umap; got pca"):
        ProjectionConfig(method="pca", engine="torchdr")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("config", CONFIGS, ids=ids)
def test_the_map_is_torchdrs_and_is_measured_and_placed_on_like_any(digits, config):
    torchdr = pytest.importorskip("torchdr")
    points, state = digits[0][:200], torch.get_rng_state()
    drawn = project(points, config)
    assert (torch.get_rng_state() == state).all()
    params, options = config.params, {"random_state": 3, "device": "cpu", "backend": "faiss"}
    with torch.random.fork_rng():
        directly = (
            torchdr.TSNE(perplexity=10, max_iter=300, **options)
            if config.method == "tsne"
            else torchdr.UMAP(n_neighbors=10, max_iter=100, **options)
        ).fit_transform(prepare(points, "euclidean"))
    np.testing.assert_allclose(drawn.coordinates, directly, rtol=1e-4, atol=1e-4)
    assert drawn.iterations == params["iterations"]
    assert drawn.quality.overall["trustworthiness"] > 0.9
    np.testing.assert_allclose(
        place_on(config, points, drawn.coordinates, points[:1]),
        drawn.coordinates[:1],
        atol=np.ptp(drawn.coordinates) / 10,
    )
    assert project(points[:60], config.replace(dims=3)).coordinates.shape == (60, 3)
