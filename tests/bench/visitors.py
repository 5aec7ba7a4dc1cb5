"""Visitors of the app without a browser: Streamlit's own protocol over a websocket; and the server they visit."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

ROOT = Path(__file__).resolve().parents[2]
TRIVIAL = "import streamlit as st\nst.button('Again')\nst.caption('nothing else')\n"


class Visitor:
    """One session; `run` asks for a rerun of the page and waits for its end."""

    def __init__(self, socket: Any, query: str) -> None:
        self.socket = socket
        self.query = query
        self.buttons: dict[str, str] = {}
        self.received = 0

    async def run(self, press: str | None = None) -> float:
        """Milliseconds from the question to the end of the script; `press` is the label of a button."""
        question = BackMsg()
        question.rerun_script.query_string = self.query
        if press is not None:
            question.rerun_script.widget_states.widgets.add(id=self.buttons[press], trigger_value=True)
        began = time.perf_counter()
        await self.socket.send(question.SerializeToString())
        while True:
            data = await self.socket.recv()
            self.received += len(data)
            message = ForwardMsg()
            message.ParseFromString(data)
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.new_element.WhichOneof("type") == "button":
                self.buttons[message.delta.new_element.button.label] = message.delta.new_element.button.id
            if kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            if kind == "script_finished":
                return 1e3 * (time.perf_counter() - began)


@asynccontextmanager
async def visit(url: str, query: str = "", cookie: str = ""):
    """A visitor with a cookie of its own, or one that the server gave."""
    address = url.replace("http", "ws", 1) + "/_stcore/stream"
    cookie = {"Cookie": f"dmlviz_browser={cookie or os.urandom(16).hex()}"}
    async with connect(
        address, subprotocols=["streamlit"], max_size=None, origin=url, additional_headers=cookie, open_timeout=60
    ) as socket:
        yield Visitor(socket, query)


@contextmanager
def serving(runs: Path, *more: str, trivial: bool = False) -> Iterator[tuple[str, int]]:
    """Address and process id of `dmlviz serve` (with `more` options), or of a page that shows next to nothing."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    if trivial:
        page = runs / "trivial.py"
        page.write_text(TRIVIAL)
        port = "8599"
        options = ["--server.headless=true", "--server.port", port, "--runner.postScriptGC=false"]
        command = [sys.executable, "-m", "streamlit", "run", str(page), "--server.address=127.0.0.1", *options]
    else:
        command = [sys.executable, "-m", "dmlviz", "serve", "--port", "0", "--no-browser", "--runs", str(runs), *more]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=runs
    )
    assert process.stdout is not None
    try:
        while True:
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            if found:
                yield found.group(0), process.pid
                break
            assert line, "the server ended"
    finally:
        process.terminate()
        process.communicate(timeout=20)


def memory(pid: int) -> float:
    """Resident megabytes of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024  # type: ignore[union-attr]


def cpu(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
