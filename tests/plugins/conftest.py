"""A process without plug-ins, before each test and after it."""

import pytest

from dmlviz import metrics, parts, plugins


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", set())
    monkeypatch.setenv(plugins.ENVIRONMENT, "")
    yield
    for catalog in plugins.CATALOGS.values():
        for name in list(catalog.plugged):
            catalog.remove(name)
    metrics.PLUGGED.clear()
    parts.PLUGGED.clear()
