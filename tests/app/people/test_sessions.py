"""A page's session belongs to whoever opened it: nobody else resumes it, whatever they know."""

import asyncio
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

import app
from app.api.session_binding import PERSON_HEADER

SERVE = (
    "import sys; from functools import partial\n"
    "from app.runtime import services; from dmlviz.cli.main import main\n"
    "services.start_services = partial(services.start_services, warm=False)\n"
    "main(sys.argv[1:])"
)


STREAMLIT = (
    "import sys; from functools import partial\n"
    "from app.runtime import services; from streamlit.web.cli import main\n"
    "services.start_services = partial(services.start_services, warm=False)\n"
    "main(sys.argv[1:])"
)
MAIN = str(Path(app.__file__).parent / "main.py")


@pytest.fixture(params=["dmlviz serve", "streamlit run"])
def address(request, tmp_path) -> Iterator[str]:
    """Host and port of a server that is shared."""
    command = [SERVE, "serve", "--port", "0", "--no-browser", "--runs", str(tmp_path), "--shared"]
    if request.param == "streamlit run":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [STREAMLIT, "run", MAIN, "--server.address", "127.0.0.1", "--server.port", str(port)]
    shared = os.environ | {"DMLVIZ_SHARED": "1", "DMLVIZ_RUNS": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", *command], stdout=subprocess.PIPE, text=True, env=shared)
    assert process.stdout is not None
    found = None
    while found is None:
        line = process.stdout.readline()
        assert line, "it ended before it printed its address"
        found = re.search(r"http://(127\.0\.0\.1:\d+)", line)
    yield found[1]
    process.terminate()
    process.communicate(timeout=120)


def new_browser(address: str) -> str:
    """The cookies of a browser that opens the page for the first time."""
    with urllib.request.urlopen(f"http://{address}/") as page:
        return "; ".join(cookie.partition(";")[0] for cookie in page.headers.get_all("set-cookie"))


async def session(address: str, cookies: str, resume: str = "", **headers: str) -> str:
    """The ID of the session that a page with these cookies gets; it asks to go on with the session `resume`."""
    protocols = ["streamlit", "none", *([resume] if resume else [])]
    url, sent = f"ws://{address}/_stcore/stream", {"Cookie": cookies, **headers}
    async with connect(url, subprotocols=protocols, additional_headers=sent, max_size=None, open_timeout=60) as socket:
        message = BackMsg()
        message.rerun_script.query_string = ""
        await socket.send(message.SerializeToString())
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(await socket.recv())
            if answer.WhichOneof("type") == "new_session":
                return answer.new_session.initialize.session_id


def test_a_session_is_resumed_by_its_own_browser_only(address):
    ada, bob = new_browser(address), new_browser(address)

    async def story():
        own = await session(address, ada)
        await asyncio.sleep(0.5)  # it is disconnected, and waits for her
        stolen = await session(address, bob, own)
        forged = await session(address, bob, own, **{PERSON_HEADER: "browser:0123456789ab"})
        return own, stolen, forged, await session(address, ada, own)

    with ThreadPoolExecutor(1) as thread:  # the main one may hold the loop of a browser's driver
        own, stolen, forged, again = thread.submit(asyncio.run, story()).result()
    assert own not in (stolen, forged)
    assert again == own
