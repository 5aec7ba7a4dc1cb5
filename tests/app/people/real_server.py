"""A real server in a process of its own, and pages of it without a browser."""

import http.client
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

COLD = (
    "import sys; from functools import partial\n"
    "from dmlviz_app.server import services\n"
    "services.start_services = partial(services.start_services, warm=False)\n"
)
SERVE = COLD + "from dmlviz.cli.main import main\nmain(sys.argv[1:])"
STREAMLIT = COLD + "from streamlit.web.cli import main\nmain(sys.argv[1:])"


class RealServer:
    """A server on a free port, without workers; `close` ends it."""

    def __init__(self, command: list[str], **environment: str) -> None:
        surroundings = os.environ | environment
        self.process = subprocess.Popen(
            [sys.executable, "-c", *command], stdout=subprocess.PIPE, text=True, env=surroundings
        )
        assert self.process.stdout is not None
        found = None
        while found is None:
            line = self.process.stdout.readline()
            assert line, "it ended before it printed its address"
            found = re.search(r"http://(?:127\.0\.0\.1|localhost):(\d+)", line)
        self.port = int(found[1])
        self.address = f"127.0.0.1:{self.port}"

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=120)

    @property
    def megabytes(self) -> float:
        """Memory of the process, without what it shares with others."""
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return sum(int(size) for size in re.findall(r"^Private_\w+: +(\d+) kB", rollup, re.MULTILINE)) / 1000

    def ask(
        self, method: str, path: str, body: bytes = b"", chunked: bool = False, **headers: str
    ) -> http.client.HTTPResponse:
        """The answer, read; also where it comes before the whole body was sent."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            parts = iter([body]) if chunked else body or None
            connection.request(method, path, parts, sent, encode_chunked=chunked)
        except (BrokenPipeError, ConnectionResetError):  # it has answered, and reads no more
            pass
        answer = connection.getresponse()
        answer.text = answer.read().decode(errors="replace")
        connection.close()
        return answer

    def new_browser(self) -> str:
        """The cookies of a browser that opens the page for the first time."""
        cookies = []
        for path in ("/", "/_stcore/health"):
            with urllib.request.urlopen(f"http://{self.address}{path}") as answer:
                cookies += [cookie.partition(";")[0] for cookie in answer.headers.get_all("set-cookie", [])]
        return "; ".join(cookies)


class Page:
    """A page that a browser has open; it knows what Streamlit shows on it."""

    def __init__(self, server: RealServer, cookies: str, resume: str = "", **headers: str) -> None:
        self.server, self.cookies = server, cookies
        sent = {"Cookie": cookies, **headers}
        protocols: Any = ["streamlit", "none", *([resume] if resume else [])]
        self._connect = connect(
            f"ws://{server.address}/_stcore/stream",
            subprotocols=protocols,
            additional_headers=sent,
            max_size=None,
            max_queue=None,
            open_timeout=60,
        )
        self.id = ""
        self.elements: list[Any] = []

    def __enter__(self) -> Self:
        self.socket = self._connect.__enter__()
        self.rerun()
        return self

    def __exit__(self, *error: Any) -> None:
        self._connect.__exit__(*error)

    def rerun(self, **widgets: Any) -> None:
        """Run the page again, where widgets have these values; the elements are those of this run."""
        message = BackMsg()
        message.rerun_script.query_string = ""
        for widget, (kind, value) in widgets.items():
            state = message.rerun_script.widget_states.widgets.add(id=widget)
            setattr(state, kind, value)
        self.socket.send(message.SerializeToString())
        self.elements = []
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(self.socket.recv(60))
            kind = answer.WhichOneof("type")
            if kind == "new_session":
                self.id = answer.new_session.initialize.session_id
            elif kind == "delta":
                self.elements.append(answer.delta.new_element)
            elif kind == "script_finished":
                return

    def widget(self, kind: str, label: str) -> str:
        """The ID of a widget that is shown."""
        found = [getattr(element, kind) for element in self.elements if element.WhichOneof("type") == kind]
        (widget,) = [each for each in found if each.label == label]
        return widget.id
