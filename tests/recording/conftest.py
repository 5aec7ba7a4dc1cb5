"""The process that writes has the priority of the tests, which wait for it."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def usual_priority():
    """Set the niceness of the process that writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DMLVIZ_NICENESS", "0")
        yield
