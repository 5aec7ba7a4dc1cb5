"""A page's session belongs to whoever opened it: nobody else resumes it, whatever they know."""

import time
from collections.abc import Iterator
from pathlib import Path

import dmlviz_app
import pytest
from dmlviz_app.server.middleware import PERSON_HEADER

from tests.app.people.real_server import SERVE, STREAMLIT, Page, RealServer
from tests.processes import free_port

MAIN = str(Path(dmlviz_app.__file__).parents[1] / "main.py")


@pytest.fixture(params=["dmlviz serve", "streamlit run"])
def server(request, tmp_path) -> Iterator[RealServer]:
    """A server that is shared."""
    command = [SERVE, "serve", "--port", "0", "--no-browser", "--runs", str(tmp_path), "--shared"]
    if request.param == "streamlit run":
        command = [STREAMLIT, "run", MAIN, "--server.address", "127.0.0.1", "--server.port", str(free_port())]
    server = RealServer(command, DMLVIZ_SHARED="1", DMLVIZ_RUNS=str(tmp_path))
    yield server
    server.close()


def session(server: RealServer, cookies: str, resume: str = "", **headers: str) -> str:
    """The ID of the session that a page with these cookies gets; it asks to go on with the session `resume`."""
    with Page(server, cookies, resume, **headers) as page:
        return page.id


@pytest.mark.slow
def test_a_session_is_resumed_by_its_own_browser_only(server):
    ada, bob = server.new_browser(), server.new_browser()
    own = session(server, ada)
    time.sleep(0.5)  # it is disconnected, and waits for her
    stolen = session(server, bob, own)
    forged = session(server, bob, own, **{PERSON_HEADER: "browser:0123456789ab"})
    assert own not in (stolen, forged)
    assert session(server, ada, own) == own
