"""A real server in a process of its own, and pages of it without a browser."""

import http.client
import os
import re
import subprocess
import sys
import urllib.request
from functools import lru_cache
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


FORM = "multipart/form-data; boundary=x"
HEAD = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.npy"\r\n\r\n'


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
            if kind == "file_uploader_state_value":
                state.file_uploader_state_value.uploaded_file_info.add(file_id=value)
            else:
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

    def show_uploader(self) -> str:
        """Open the dialog that takes files; the ID of its widget."""
        self.rerun(**{self.widget("button", "Upload data…"): ("trigger_value", True)})
        return self.widget("file_uploader", "Files")

    def upload(
        self, size: int, session: str | None = None, file: str = "a", cookies: str | None = None, **more: Any
    ) -> Any:
        """Send a file of `size` bytes to Streamlit's route, as this page or another."""
        return self._ask("PUT", session, file, cookies, body=form(size), Content_Type=FORM, **more)

    def delete(self, session: str | None = None, file: str = "a", cookies: str | None = None) -> Any:
        """Delete a file by Streamlit's route, as this page or another."""
        return self._ask("DELETE", session, file, cookies)

    def _ask(self, method: str, session: str | None, file: str, cookies: str | None, **more: Any) -> Any:
        cookies = self.cookies if cookies is None else cookies
        xsrf = re.search("_streamlit_xsrf=([^;]+)", cookies)
        path = f"/_stcore/upload_file/{self.id if session is None else session}/{file}"
        return self.server.ask(method, path, Cookie=cookies, X_Xsrftoken=xsrf[1] if xsrf else "", **more)


@lru_cache(maxsize=2)
def form(size: int) -> bytes:
    """The body of an upload of so many bytes."""
    return b"".join([HEAD, bytes(size), b"\r\n--x--\r\n"])
