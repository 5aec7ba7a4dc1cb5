from itertools import count

import numpy as np
import pytest

from dmlviz.config import ProjectionConfig
from dmlviz.runs.projection_run import run_projection

CONFIGS = [
    ProjectionConfig(method="tsne", params={"perplexity": 5, "iterations": 100}),
    ProjectionConfig(method="umap", params={"neighbors": 5, "iterations": 40}),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.method)
def test_a_projection_that_was_stopped_ends_as_one_that_never_was(runs, write, config):
    run = write(runs)
    whole = runs.create_projection(run, config)
    run_projection(whole.path)
    coordinates = run.projection(config.id).coordinates
    again = runs.create_projection(run, config)
    polled = count()
    run_projection(again.path, stop=lambda: next(polled) > 20)
    stopped = run.projection(config.id)
    assert stopped.coordinates is None
    iteration, positions, _ = stopped.resume_state
    assert 0 < iteration < config.params["iterations"]
    assert not (positions == coordinates).all()
    run_projection(again.path)
    np.testing.assert_array_equal(run.projection(config.id).coordinates, coordinates)
    assert run.projection(config.id).resume_state is None
    assert not list(again.path.glob("stopped*"))
