"""A process without plug-ins, before each test and after it."""

import pytest

from dmlviz import metrics, plugins
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", set())
    monkeypatch.setenv(plugins.ENVIRONMENT, "")
    yield
    for catalog in (LOSSES, MINERS, NETS, DATASETS, METRICS):
        for name in list(catalog.plugged):
            catalog.remove(name)
    metrics.PLUGGED.clear()
