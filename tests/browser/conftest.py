"""A real server on a free port, a real Chromium, and a person who uses both."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Error, Page, Playwright, expect, sync_playwright

from dmlviz.config import TrainConfig
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from tests.browser.person import SLOW, Person, Tabs
from tests.browser.server_process import ROOT, Server
from tests.waiting import free_port

FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
BROWSERS = (os.environ.get("DMLVIZ_CHROMIUM", ""), "chromium-headless-shell", "chromium", "google-chrome")
# Its shell without windows, if there is one, opens and draws a page with half of the work of the whole program.
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # what a tab has compiled is there for the next one: half of its load
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--in-process-gpu",  # a twentieth of what stories cost
    "--disable-gpu-compositing",  # as browsers do by themselves where there is no GPU: only WebGL is emulated
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",  # another host is an error
    # A page is soon left: only what runs ten times as often as usual is compiled well. A tenth of what stories cost.
    "--js-flags=--max-lazy --invocation-count-for-maglev=4000 --invocation-count-for-maglev-osr=1000"
    " --invocation-count-for-turbofan=30000 --invocation-count-for-osr=5000",
]
# Playwright describes the whole page after each look at what `expect` waits for, in case that is the last: a tenth of
# what stories cost.
NO_SNAPSHOTS = """import { Module } from "node:module";
const compile = Module.prototype._compile;
Module.prototype._compile = function (code, ...rest) {
  const quick = code.replace("ariaSnapshotForExpectFailure(element, options) {", "$& return undefined;");
  return compile.call(this, quick, ...rest);
};"""
BASE = "/x/y"
ROLES = ("member", "teacher", "guest")
expect.set_options(timeout=SLOW)


class School(NamedTuple):
    """A server that several people share below a path: its address, the folder of its runs, the token of each role.

    The site `frames` may show it in a frame.
    """

    url: str
    runs: Path
    tokens: dict[str, str]
    frames: str


def data_folder() -> Path | None:
    """Where MNIST is, if it is anywhere."""
    for folder in (os.environ.get("DMLVIZ_DATA"), ROOT.parent / "shared" / "data"):
        if folder and (Path(folder) / "MNIST" / "raw").is_dir():
            return Path(folder)
    return None


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the server's runs."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., Server]]:
    """`serve(*options, **environment)`: `dmlviz serve`, as a person starts it; it stops when the session ends."""
    servers: list[Server] = []

    def start(*options: object, **environment: str) -> Server:
        command = [sys.executable, "-m", "dmlviz", "serve", "--port", "0", "--no-browser", *map(str, options)]
        servers.append(Server(command, {"NUMBA_DISABLE_JIT": "1"} | environment))
        return servers[-1]

    yield start
    for started in servers:
        started.close()
        assert "Traceback" not in started.log, started.log


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """All plug-ins of docs/EXTENDING.md, the loss in its own file, a lab of quick trials, and a sampler that rests."""
    loss = ROOT / "examples" / "margin_ratio_loss.py"
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "EXTENDING.md").read_text(), re.DOTALL)
    others = tmp_path_factory.mktemp("plugins") / "shown_in_contributing.py"
    others.write_text("\n".join(shown))
    ours = (ROOT / "tests" / "studies" / "counting_lab.py", Path(__file__).parent / "unhurried_sampler.py")
    return [loss, others, *ours]


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the feature of docs/EXTENDING.md is installed, as a package with an entry point."""
    folder = tmp_path_factory.mktemp("packages")
    shutil.copytree(ROOT / "examples" / "class_sizes", folder / "class_sizes")
    installed = folder / "class_sizes-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: class-sizes\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[dmlviz.features]\nclass_sizes = class_sizes.feature\n")
    return folder


@pytest.fixture(scope="session")
def server(
    runs: Path,
    serve: Callable[..., Server],
    tmp_path_factory: pytest.TempPathFactory,
    plugins: list[Path],
    package: Path,
) -> Server:
    """The server that most stories visit."""
    data = tmp_path_factory.mktemp("data")  # what a story adds stays here
    if (folder := data_folder()) is not None:
        for known in folder.iterdir():
            (data / known.name).symlink_to(known)
    options = [word for file in plugins for word in ("--plugin", file)]
    return serve("--runs", runs, "--data", data, *options, PYTHONPATH=str(package))


@pytest.fixture(scope="session")
def school(serve: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> School:
    """A server that several people share, with a token for each role."""
    home, tokens = tmp_path_factory.mktemp("school"), {role: f"{role}-0123456789abcdef" for role in ROLES}
    options = ["--shared", "--runs", home / "runs", "--data", home / "data", "--token", tokens["member"]]
    options += ["--teacher-token", tokens["teacher"], "--guest-token", tokens["guest"]]
    frames = f"https://127.0.0.1:{free_port()}"
    server = serve(*options, "--base-path", BASE, "--forwarded-allow-ips", "127.0.0.1", "--embed", frames)
    return School(server.url.partition("/?")[0], home / "runs", tokens, frames)


@pytest.fixture
def streamlit_server(runs: Path, tmp_path: Path) -> Iterator[Server]:
    """`streamlit run app/main.py`, as a host starts it that knows Streamlit only."""
    port = free_port()
    script = str(ROOT / "app" / "main.py")
    listen = ["--server.address", "127.0.0.1", "--server.port", str(port)]  # everywhere, it would be for several people
    quiet = ["--server.fileWatcherType", "none"]  # it would look through the whole checkout again and again
    command = [sys.executable, "-m", "streamlit", "run", script, *listen, *quiet]
    folders = {"DMLVIZ_RUNS": str(runs), "DMLVIZ_DATA": str(tmp_path)}
    started = Server(command, folders | {"NUMBA_DISABLE_JIT": "1"})
    yield started
    started.close()
    assert "Traceback" not in started.log, started.log


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """What drives the browsers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODE_OPTIONS", f"--import=data:text/javascript,{quote(NO_SNAPSHOTS)}")
        driver = sync_playwright().start()
    yield driver
    driver.stop()


@pytest.fixture(scope="session")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """The browser."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def tabs(chromium: Browser) -> Tabs:
    """The browser's tabs."""
    return Tabs(chromium)


@pytest.fixture(scope="session")
def firefox_downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Firefox saves files: it does not tell Playwright of those that a page has fetched."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def firefox_tabs(playwright: Playwright, firefox_downloads: Path) -> Iterator[Tabs]:
    """Tabs of Firefox as Debian has it."""
    if FIREFOX is None:
        pytest.skip("there is no Firefox on this machine")
    browser = playwright.firefox.launch(
        channel="moz-firefox",
        downloads_path=firefox_downloads,
        executable_path=Path(__file__).parent / "firefox_for_playwright.py",
        env=os.environ | {"DMLVIZ_FIREFOX": FIREFOX, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    yield Tabs(browser)
    browser.close()


@pytest.fixture
def visit(tabs: Tabs, server: Server):
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
        browser: Tabs = tabs,
        **options: Any,
    ) -> Person:
        people.append(Person(browser, at.url, width=width, height=height, theme=theme, motion=motion, **options))
        return people[-1]

    yield come
    for person in people:
        person.leave()
        assert person.errors == [], "something failed, or the page asked another host"


class Files(ThreadingHTTPServer):
    """A server of the plain files of a folder; `url` is its address."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=folder))
        self.url = f"http://127.0.0.1:{self.server_port}"
        Thread(target=self.serve_forever, daemon=True).start()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Any]:
    """A page in a window of its own, with what it `asked` for and its `failures`."""
    context = chromium.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    context.set_default_timeout(SLOW)
    page: Any = context.new_page()
    page.asked, page.failures = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.failures.append(str(error)))
    yield page
    context.close()


@pytest.fixture
def come(tabs: Tabs) -> Iterator[Callable[..., Page]]:
    """`come(width, height)`: a page of somebody who is here for the first time, with cookies of their own."""
    pages: list[Page] = []
    errors: list[str] = []

    def hear(error: Error) -> None:
        errors.append(str(error))

    def somebody(width: int = 1280, height: int = 720) -> Page:
        pages.append(tabs.take(width, height, motion=False, first_visit=True, owner=str(len(pages))))
        pages[-1].on("pageerror", hear)
        return pages[-1]

    yield somebody
    for page in pages:
        page.remove_listener("pageerror", hear)
        tabs.leave(page)
        page.context.clear_cookies()
    assert errors == []


@pytest.fixture
def person(visit) -> Person:
    """A person at a projector of 1280 × 720."""
    return visit()


@pytest.fixture(scope="session")
def digits_run(runs: Path) -> Run:
    """A finished run of the digits."""
    config = TrainConfig(dataset="digits", net="mlp", steps=60, num_snapshots=12)
    list(train_and_record(run := Runs(runs).create(config)))
    return run
