"""A page's session belongs to whoever opened it: nobody else resumes it, whatever they know."""

import asyncio
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

from app.api.session_binding import PERSON_HEADER

SERVE = (
    "import sys; from functools import partial\n"
    "from app.runtime import services; from dmlviz.cli.main import main\n"
    "services.start_services = partial(services.start_services, warm=False)\n"
    "main(sys.argv[1:])"
)


@pytest.fixture
def address(tmp_path) -> Iterator[str]:
    """Host and port of a server that is shared."""
    command = ["serve", "--port", "0", "--no-browser", "--runs", str(tmp_path), "--shared"]
    process = subprocess.Popen([sys.executable, "-c", SERVE, *command], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = None
    while found is None:
        line = process.stdout.readline()
        assert line, "it ended before it printed its address"
        found = re.search(r"http://(127\.0\.0\.1:\d+)", line)
    yield found[1]
    process.terminate()
    process.communicate(timeout=30)


def new_browser(address: str) -> str:
    """The cookies of a browser that opens the page for the first time."""
    with urllib.request.urlopen(f"http://{address}/") as page:
        return "; ".join(cookie.partition(";")[0] for cookie in page.headers.get_all("set-cookie"))


async def session(address: str, cookies: str, resume: str = "", **headers: str) -> str:
    """The ID of the session that a page with these cookies gets; it asks to go on with the session `resume`."""
    protocols = ["streamlit", "none", *([resume] if resume else [])]
    url, sent = f"ws://{address}/_stcore/stream", {"Cookie": cookies, **headers}
    async with connect(url, subprotocols=protocols, additional_headers=sent, max_size=None) as socket:
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
