"""The whole server: options, cookie, pages and routes together, without torch; it ends on a signal."""

import asyncio
import base64
import hashlib
import http.client
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.resources import files
from urllib.request import Request, urlopen

import pytest
import uvicorn
from dmlviz_app.application import build_app, options
from dmlviz_app.people.cookies import COOKIE, BrowserCookie
from dmlviz_app.people.identity import AccessSettings
from dmlviz_app.server import services
from dmlviz_app.server.event_stream import event_hub
from dmlviz_app.server.metrics import REGISTRY
from dmlviz_app.server.middleware import RefusalMiddleware, middleware
from dmlviz_app.server.monitoring_routes import open_sessions
from dmlviz_app.server.settings import Settings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from streamlit import config as streamlit_config
from streamlit.runtime import Runtime

from tests.waiting import until


@pytest.fixture
def settings(tmp_path):
    return Settings(runs=tmp_path / "runs", data=tmp_path / "data")


def test_every_option_is_one_that_streamlit_has(settings):
    for name in options(settings):
        assert name in streamlit_config._config_options_template, name


def test_streamlits_garbage_collection_after_reruns_is_off(settings):
    assert options(settings)["runner.postScriptGC"] is False


def test_both_themes_are_set_so_that_people_can_choose(settings):
    chosen = options(settings)
    for theme in ("light", "dark"):
        for token in ("primaryColor", "backgroundColor", "secondaryBackgroundColor", "textColor", "borderColor"):
            assert re.fullmatch("#[0-9a-f]{6}", chosen[f"theme.{theme}.{token}"])
    assert chosen["theme.baseFontSize"] == 14


def test_text_can_be_read_in_both_themes(settings):
    chosen = options(settings)
    for theme, on_train in (("light", "#ffffff"), ("dark", chosen["theme.dark.backgroundColor"])):  # as page.css has it
        text, *grounds = (
            chosen[f"theme.{theme}.{name}"] for name in ("textColor", "backgroundColor", "secondaryBackgroundColor")
        )
        for ground in grounds:
            assert contrast(text, ground) > 7
        assert contrast(chosen[f"theme.{theme}.primaryColor"], on_train) > 4.5


def contrast(a, b):
    """WCAG's contrast of two colors, 1 to 21."""

    def luminance(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_usage_statistics_are_off(settings):
    assert options(settings)["browser.gatherUsageStats"] is False


@pytest.mark.slow
def test_pages_and_routes_load_no_torch(tmp_path):
    script = f"""
import sys
from importlib.resources import files
from pathlib import Path
from streamlit.testing.v1 import AppTest
from functools import partial
from importlib.resources import files
from dmlviz_app import application
from dmlviz_app.answers import nearest_neighbors
from dmlviz_app.server import services
from dmlviz_app.server.settings import Settings
services.start_services = partial(services.start_services, warm=False)
application.build_app(Settings(runs=Path({str(tmp_path)!r}) / "runs", data=Path({str(tmp_path)!r})))
test = AppTest.from_file(str(application.PAGE), default_timeout=60)
test.query_params["pin"] = "3"
test.run()
assert not test.exception
run = services.services().runs.list()[0]
run.neighbors(3, 10)
nearest_neighbors.nearest_neighbor_bytes(run)
services.stop_services()
heavy = [name for name in ("torch", "torchvision", "sklearn", "umap", "numba", "scipy") if name in sys.modules]
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    settings = Settings(runs=tmp_path_factory.mktemp("runs"), data=tmp_path_factory.mktemp("data"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "start_services", partial(services.start_services, warm=False))
        app = build_app(settings)
    with TestClient(app, base_url="http://localhost") as client:
        yield client
    event_hub.closing.clear()
    Runtime._instance = None  # Streamlit has one in a process, and never lets go of it


@pytest.fixture
def client(served):
    served.cookies.clear()
    return served


def test_a_browser_gets_one_http_only_cookie(client):
    first = client.get("/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert services.services().identity.browsers.token(first.cookies) is not None
    assert COOKIE not in client.get("/").headers.get("set-cookie", "")  # it has been given


def test_an_invalid_cookie_is_replaced(client):
    another_server = BrowserCookie(b"another key")
    for value in ("../../etc", "0" * 32, another_server.issue()):
        answer = client.get("/", headers={"Cookie": f"{COOKIE}={value}"})
        assert re.search(rf"{COOKIE}=[0-9a-f]{{32}}\.[\w-]{{27}};", answer.headers["set-cookie"])


def test_a_page_says_where_its_server_is(client):
    as_browser = {"Accept": "text/html,*/*;q=0.8", "Accept-Encoding": "gzip", "If-None-Match": "*"}
    page = client.get("/runs", headers=as_browser)
    assert page.status_code == 200
    assert page.text.count('BACKEND_BASE_URL: new URL(".", location).href') == 1
    assert page.text.count('class="opening"') == 1
    assert "<title>dmlviz</title>" in page.text
    assert len(page.content) == int(page.headers["content-length"])
    assert "etag" not in page.headers  # it would be that of the file, which has another text
    assert ".opening.opening {" in files("dmlviz_app").joinpath("page.css").read_text(), "what takes it away"
    assert "BACKEND_BASE_URL" not in client.get("/dmlviz/health", headers=as_browser).text


def test_only_the_scripts_that_a_page_has_may_run_in_it(client):
    page = client.get("/", headers={"Accept": "text/html"})
    scripts = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    assert len(scripts) == 2  # Streamlit's own, and where its server is
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page.headers["content-security-policy"]


def test_the_server_watches_no_files(client):
    assert not [thread for thread in threading.enumerate() if type(thread).__module__.startswith("watchdog")]


def test_static_files_set_no_cookie(client):
    assert COOKIE not in client.get("/_stcore/health").headers.get("set-cookie", "")


def test_pages_and_routes_are_served_together(client):
    assert client.get("/dmlviz/health").json()["ok"] is True
    assert "text/html" in client.get("/").headers["content-type"]
    assert client.get("/dmlviz/nothing").status_code == 404
    (entry,) = (files("dmlviz") / "_frontend").glob("progress-*.js")
    script = client.get(f"/_stcore/bidi-components/dmlviz.progress/{entry.name}")
    assert "as default" in script.text
    assert "immutable" in script.headers["cache-control"]
    assert "immutable" not in client.get("/").headers.get("cache-control", "")


def test_no_component_file_leads_out_of_its_folder(client):
    answer = client.get("/_stcore/bidi-components/dmlviz.workbench/..%2f..%2fserver.py")
    assert answer.status_code in (400, 404)


HOSTING = Settings(base_path="/x/y", embed=("https://school.example",), host="0.0.0.0")


@pytest.mark.parametrize("duty", middleware(HOSTING, AccessSettings()))
def test_no_middleware_touches_another_kind_of_connection(duty):
    seen = []

    async def app(scope, receive, send):
        seen.append((scope["type"], send))

    with ThreadPoolExecutor(1) as thread:  # the main one may hold the loop of a browser's driver
        for kind, site in (("lifespan", b"cross-site"), ("websocket", b"same-origin")):
            headers = [(b"host", b"localhost"), (b"sec-fetch-site", site)]
            scope = {"type": kind, "path": "/x/y/dmlviz/z", "headers": headers}
            thread.submit(asyncio.run, duty.cls(app, *duty.args, **duty.kwargs)(scope, None, None)).result()
    assert seen == [("lifespan", None), ("websocket", None)]


def test_a_page_of_another_site_is_refused_before_the_route(client):
    refused = client.get("/dmlviz/health", headers={"Sec-Fetch-Site": "cross-site"})
    assert refused.status_code == 403
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200  # a link leads here


@pytest.mark.slow
def test_a_signal_ends_the_server_promptly_even_with_listeners(tmp_path, write):
    from dmlviz.runs.store import Runs
    from dmlviz.storage.file_lock import FileLock

    run = write(Runs(tmp_path / "runs"), upto=5)
    lock = FileLock(run.path / "lock")
    assert lock.acquire()  # so that the run counts as training, and its stream stays open
    script = (
        "import sys; from functools import partial\n"
        "from dmlviz_app.server import services; from dmlviz.cli.main import main\n"
        "services.start_services = partial(services.start_services, warm=False)\n"
        "main(sys.argv[1:])"
    )
    folders = ["--runs", str(tmp_path / "runs"), "--data", str(tmp_path)]
    command = [sys.executable, "-c", script, "serve", "--no-browser", "--port", "0", *folders]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = ""
        while not (told := re.search(r"at (http://\S+)\s", said)):
            line = server.stdout.readline()
            assert line, f"the server ended before it said where it is:\n{said}"
            said += line
        with urlopen(f"{told[1]}/dmlviz/health", timeout=20) as answer:
            assert answer.status == 200
        stream = urlopen(Request(f"{told[1]}/dmlviz/runs/{run.id}/events"), timeout=10)
        assert stream.readline().startswith(b"retry")
        server.send_signal(signal.SIGINT)
        said, _ = server.communicate(timeout=60)  # the stream would never end by itself
        assert "Traceback" not in said
        stream.close()
    finally:
        server.kill()
        server.wait()
        lock.release()


def test_an_open_page_is_counted_as_long_as_it_is_open(client):
    assert open_sessions() == 0
    page = client.websocket_connect(
        "/_stcore/stream", ["streamlit"], headers={"Host": "localhost", "Origin": "http://localhost"}
    )
    with page:
        until(lambda: open_sessions() == 1)  # the session is made after the connection


def test_pages_and_their_files_are_counted_by_kind_and_not_by_address(client):
    def count(route):
        labels = {"method": "GET", "route": route, "status": "200"}
        return REGISTRY.get_sample_value("dmlviz_http_requests_total", labels) or 0

    pages, files_ = count("page"), count("static")
    page = client.get("/runs?token=secret", headers={"Accept": "text/html"})
    (script, *_) = re.findall(r'src="\.?/?(static/js/[^"]+)"', page.text)
    assert client.get(f"/{script}").status_code == 200
    assert (count("page"), count("static")) == (pages + 1, files_ + 1)


@pytest.mark.slow
@pytest.mark.parametrize("headers", [{}, {"Transfer-Encoding": "chunked"}], ids=["with its length", "in chunks"])
def test_who_is_refused_while_sending_a_large_body_reads_why(headers):
    async def refuse(request):
        return PlainTextResponse("too large", 404)

    app = Starlette(routes=[Route("/x", refuse, methods=["POST"])], middleware=[Middleware(RefusalMiddleware)])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    connection = http.client.HTTPConnection(*server.servers[0].sockets[0].getsockname())
    connection.request(
        "POST",
        "/x",
        iter([bytes(1_000_000)] * 40),
        headers or {"Content-Length": "40000000"},
        encode_chunked=bool(headers),
    )
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (404, b"too large")
    connection.close()
    server.should_exit = True
    thread.join()
