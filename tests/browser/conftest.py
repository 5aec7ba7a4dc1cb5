"""A real server on a free port, a real Chromium, and a person who uses both."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-compositing",  # as browsers do by themselves where there is no GPU: only WebGL is emulated
]
SLOW = 60_000  # milliseconds; two busy cores that draw WebGL in software
expect.set_options(timeout=SLOW)


def data_folder() -> Path | None:
    """Where MNIST is, if it is anywhere."""
    for folder in (os.environ.get("DMLVIZ_DATA"), ROOT.parent / "shared" / "data"):
        if folder and (Path(folder) / "MNIST" / "raw").is_dir():
            return Path(folder)
    return None


class Server:
    """A server process; `log` is what it printed. Its address is found in there."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"} | environment,
            cwd=ROOT / "tests",  # from anywhere but the checkout's root
        )
        self.log = ""
        self._found = threading.Event()
        self.url = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._found.wait(60):
            self.close()
            raise AssertionError(f"the server never told its address:\n{self.log}")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.log += line
            found = re.search(r"Serving dmlviz at (http://\S+)", line)
            if found and not self.url:
                self.url = found[1]
                self._found.set()

    def kill_workers(self) -> None:
        """Kill all its workers, which one child of the server forks."""

        def children(parent: int, *named: str) -> list[int]:
            found = subprocess.run(["pgrep", "-P", str(parent), *named], capture_output=True, text=True, check=False)
            return [int(pid) for pid in found.stdout.split()]

        fork_servers = children(self.process.pid, "-f", "dmlviz.jobs.fork_server")
        workers = [pid for fork_server in fork_servers for pid in children(fork_server)]
        assert workers
        for pid in workers:
            os.kill(pid, signal.SIGKILL)

    def close(self) -> float:
        """Stop it as Ctrl-C does; seconds that took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"the server did not end:\n{self.log}") from None
        finally:
            self._reader.join(5)
            assert self.process.stdout is not None
            self.process.stdout.close()
        return time.monotonic() - began


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the server's runs."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., Server]]:
    """`serve(*options)`: `dmlviz serve` with these options, as a person starts it; it stops when the session ends."""
    servers: list[Server] = []

    def start(*options: object) -> Server:
        command = [sys.executable, "-m", "dmlviz", "serve", "--port", "0", "--no-browser", *map(str, options)]
        servers.append(Server(command, {"NUMBA_DISABLE_JIT": "1"}))
        return servers[-1]

    yield start
    for started in servers:
        started.close()
        assert "Traceback" not in started.log


@pytest.fixture(scope="session")
def server(runs: Path, serve: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    """The server that most stories visit."""
    data = tmp_path_factory.mktemp("data")  # what a story adds stays here
    if (folder := data_folder()) is not None:
        for known in folder.iterdir():
            (data / known.name).symlink_to(known)
    return serve("--runs", runs, "--data", data)


@pytest.fixture
def streamlit_server(runs: Path, tmp_path: Path) -> Iterator[Server]:
    """`streamlit run app/main.py`, as a host starts it that knows Streamlit only."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = str(ROOT / "app" / "main.py")
    listen = ["--server.address", "127.0.0.1", "--server.port", str(port)]  # everywhere, it would be for several people
    command = [sys.executable, "-m", "streamlit", "run", script, *listen]
    folders = {"DMLVIZ_RUNS": str(runs), "DMLVIZ_DATA": str(tmp_path)}
    started = Server(command, folders)
    yield started
    started.close()
    assert "Traceback" not in started.log


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[tuple[Server, dict[str, Any]]]:
    """A server that trains nothing itself, and two machines that train for it, by name."""
    pytest.importorskip("distributed")
    sys.path.insert(0, str(ROOT / "tests" / "fleet"))
    from cluster import Worker, free_port

    from dmlviz.fleet.certificates import make_certificates

    certificates, address = tmp_path / "certificates", f"tls://127.0.0.1:{free_port()}"
    make_certificates(certificates)
    environment = {"DMLVIZ_CERTIFICATES": str(certificates), "NUMBA_DISABLE_JIT": "1"}
    if (folder := data_folder()) is not None:
        environment["DMLVIZ_DATA"] = str(folder)
    command = [sys.executable, "-m", "dmlviz", "serve", "--port", "0", "--no-browser", "--slots", "0"]
    started = Server([*command, "--fleet", address, "--runs", str(tmp_path / "runs")], environment)
    machines = {name: Worker(address, certificates, name) for name in ("gpu-1", "gpu-2")}
    yield started, machines
    started.close()
    for machine in machines.values():
        print(machine.name, *machine.said())
    print(started.log)
    assert "Traceback" not in started.log


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Person:
    """Somebody at a browser: opens the page, looks, clicks. Complains of every error in the console."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.context = context
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.tabs: list[Page] = []
        self.page = self.tab()

    def tab(self) -> Page:
        page = self.context.new_page()
        self.tabs.append(page)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)
        page.on("request", lambda request: self.requests.append(request.url))
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        # Seen once, behind nginx on a busy machine, in a story that went well: Chromium gave up on a file by itself.
        if message.type == "error" and "net::ERR_TOO_MANY_RETRIES" not in message.text:
            self.errors.append(f"{message.text} {message.location['url']}")

    def open(self, query: str = "") -> None:
        """Open the page and wait for the map."""
        self.page.goto(f"{self.url}/{query}")
        self.map_has("ready", "true")

    def train(self, settings: str) -> str:
        """Set up by address, press Train, wait until that run is on the map; its id."""
        self.page.goto(f"{self.url}/?{settings}")
        self.press("Train")
        expect(self.page).to_have_url(re.compile("run=[0-9a-f]{16}"))
        run = self.page.url.partition("run=")[2][:16]
        self.map_has("run", run)
        return run

    @property
    def map(self):
        return self.page.locator(".map")

    def of_map(self, name: str) -> str:
        return self.map.get_attribute(f"data-{name}") or ""

    def map_has(self, name: str, value: str | re.Pattern[str], timeout: float = SLOW) -> None:
        expect(self.map).to_have_attribute(f"data-{name}", value, timeout=timeout)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def choose(self, name: str) -> None:
        """Click one of a segmented control."""
        self.page.get_by_test_id("stButtonGroup").get_by_text(name, exact=True).click()

    def place_of(self, item: int) -> tuple[float, float]:
        """Where an image is in the window."""
        x, y = self.map.evaluate("(root, item) => root.map.clientOf(item)", item)
        return x, y

    def score(self, key: str) -> str:
        return self.page.locator(f"[data-score={key}] .value").inner_text()

    @property
    def words(self):
        """The line that says how the run stands."""
        return self.page.locator(".progress .words")

    def leave(self) -> None:
        """Close every tab."""
        for page in self.tabs:
            page.close()


@pytest.fixture(scope="session")
def window(chromium: Browser):
    """`window(width, height, **options)`: a browser's window, which has the program's files from its last page."""
    contexts: dict[tuple[object, ...], BrowserContext] = {}

    def opened(width: int, height: int, **options: Any) -> BrowserContext:
        key = width, height, *sorted(options.items())
        if key not in contexts:
            contexts[key] = chromium.new_context(viewport={"width": width, "height": height}, **options)
            contexts[key].set_default_timeout(SLOW)
            contexts[key].new_page()  # stays: a window opened anew brings pages of Chromium's own, a second of work
        return contexts[key]

    return opened


@pytest.fixture
def visit(window, server: Server):
    """`visit(width, height, theme, server)`: a person with tabs of their own.

    Stillness is asked for unless a story is about motion: a map that plays is drawn in software, for nobody.
    """
    people = []

    def come(
        width: int = 1280,
        height: int = 720,
        theme: str = "light",
        at: Server = server,
        motion: bool = False,
        **options: Any,
    ) -> Person:
        moving = "no-preference" if motion else "reduce"
        people.append(Person(window(width, height, color_scheme=theme, reduced_motion=moving, **options), at.url))
        return people[-1]

    yield come
    for person in people:
        person.leave()
        assert person.errors == []
        elsewhere = [url for url in person.requests if not url.startswith((person.url, "data:", "blob:"))]
        assert elsewhere == [], "the page asked other hosts"


@pytest.fixture
def person(visit) -> Person:
    """A person at a projector of 1280 × 720."""
    return visit()


@pytest.fixture(scope="session")
def dataset() -> str:
    """MNIST where it is, otherwise the digits."""
    return "mnist" if data_folder() else "digits"


@pytest.fixture(scope="session")
def digits_run(server: Server, runs: Path, window) -> Run:
    """A finished run of the digits, trained through the page."""
    person = Person(window(1280, 720, color_scheme="light", reduced_motion="reduce"), server.url)
    run = person.train("dataset=digits&net=mlp&steps=60")
    person.map_has("state", "finished")
    person.leave()
    return Runs(runs).get(run)
