"""Where the server may be reached: what the options take, and what every answer tells the browser."""

import shutil
import socket

import pytest
from dmlviz_app.people.cookies import COOKIE as BROWSER
from dmlviz_app.people.identity import COOKIE, AccessSettings, AccessTokens, Identity
from dmlviz_app.people.policy import Role
from dmlviz_app.server import monitoring_routes
from dmlviz_app.server.host_name import HostNameMiddleware
from dmlviz_app.server.middleware import middleware
from dmlviz_app.server.settings import Settings
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from dmlviz.errors import UserError

pytestmark = pytest.mark.usefixtures("here")  # what is asked without a cookie is asked of the services


def asked(settings: Settings, base_url: str = "http://localhost") -> TestClient:
    """Who asks a server that has one page below the base path."""

    async def page(_request):
        answer = HTMLResponse("<p>a page</p>")
        answer.set_cookie("theirs", "1", samesite="lax")
        return answer

    routes = [Route(f"{settings.base_path}/", page)]
    return TestClient(Starlette(routes=routes, middleware=middleware(settings, settings.access)), base_url=base_url)


@pytest.mark.parametrize(("given", "path"), [("", ""), ("/", ""), ("x/y", "/x/y"), ("/x/y/", "/x/y"), ("/~me", "/~me")])
def test_a_base_path_is_written_one_way(given, path):
    assert Settings(base_path=given).base_path == path


@pytest.mark.parametrize(
    "bad",
    [
        {"base_path": "/x/../y"},
        {"base_path": "/x//y"},
        {"base_path": "https://school.example/x"},
        {"base_path": "/x y"},
        {"allowed_hosts": ("https://school.example",)},
        {"allowed_hosts": ("school.example:443",)},
        {"allowed_hosts": ("a*b.example",)},
        {"embed": ("school.example",)},
        {"embed": ("https://school.example/",)},
        {"embed": ("https://a.example; script-src *",)},
        {"token": "short"},
        {"token": "with blanks and such; Path=/"},
    ],
)
def test_a_bad_value_is_one_sentence_with_a_remedy(bad):
    with pytest.raises(UserError, match=r"got .*\. (Give it as in --|Leave it out)"):
        Settings(**bad)


def test_the_environment_says_the_same_as_the_options(monkeypatch):
    monkeypatch.setenv("DMLVIZ_ALLOWED_HOSTS", "a.example *.b.example")
    monkeypatch.setenv("DMLVIZ_EMBED", "https://c.example")
    monkeypatch.setenv("DMLVIZ_TOKEN", "0123456789abcdef")
    options = {"allowed_hosts": ("a.example", "*.b.example"), "embed": ("https://c.example",)}
    assert Settings(base_path="x") == Settings(base_path="/x", token="0123456789abcdef", **options)


OWN = socket.gethostname().lower()


@pytest.mark.parametrize(
    ("host", "allowed", "name", "status"),
    [
        ("127.0.0.1", (), "localhost", 200),
        ("127.0.0.1", (), "127.0.0.1", 200),
        ("127.0.0.1", (), "[::1]", 200),
        ("127.0.0.1", (), "LOCALHOST.", 200),
        ("127.0.0.1", (), "evil.example", 400),
        ("127.0.0.1", (), "localhost.evil.example", 400),
        ("127.0.0.1", ("school.example",), "school.example", 200),
        ("127.0.0.1", ("School.example",), "school.EXAMPLE", 200),
        ("127.0.0.1", ("*.school.example",), "a.school.example", 200),
        ("127.0.0.1", ("*.school.example",), "school.example", 400),
        ("127.0.0.1", ("*",), "anything.example", 200),
        ("0.0.0.0", (), "evil.example", 400),
        ("0.0.0.0", (), "", 400),
        ("0.0.0.0", (), "localhost", 200),
        ("0.0.0.0", (), OWN, 200),
        ("0.0.0.0", (), f"{OWN.partition('.')[0]}.local", 200),
        ("0.0.0.0", (), "192.168.0.7", 200),
        ("0.0.0.0", (), "192.168.0.8", 400),
        ("box.school.example", (), "box.school.example", 200),
        ("0.0.0.0", ("192.168.0.8",), "192.168.0.8", 200),
        ("0.0.0.0", ("[fd00::1]",), "[fd00::1]", 200),
        ("0.0.0.0", ("school.example",), "evil.example", 400),
        ("0.0.0.0", ("school.example",), "localhost", 200),
        ("0.0.0.0", ("school.example",), OWN, 200),
    ],
)
def test_a_server_that_lets_everybody_in_answers_to_its_names_only(host, allowed, name, status):
    """Asked at its own address 192.168.0.7: a name that leads there for a while is another site's (DNS rebinding)."""
    client = asked(Settings(allowed_hosts=allowed, host=host), base_url="http://192.168.0.7")
    answer = client.get("/", headers={"Host": f"{name}:8501"})
    assert answer.status_code == status
    if status == 400:
        assert "start it with --allowed-host (or DMLVIZ_ALLOWED_HOSTS)" in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"
        with pytest.raises(WebSocketDisconnect) as closed:
            client.websocket_connect("/_stcore/stream", headers={"Host": f"{name}:8501"}).__enter__()
        assert closed.value.code == 1008


@pytest.mark.parametrize(
    ("settings", "access"),
    [
        (Settings(), AccessSettings(tokens=AccessTokens({Role.GUEST: "0123456789abcdef"}))),
        (Settings(), AccessSettings(user_header="X-Forwarded-User", proxies="10.0.0.1")),
    ],
)
def test_where_a_token_or_a_proxy_decides_every_name_is_answered_until_one_is_given(settings, access):
    def names(**changes):
        changed = settings.replace(host="0.0.0.0", **changes)
        return [duty.args for duty in middleware(changed, access) if duty.cls is HostNameMiddleware]

    assert names() == []
    assert names(allowed_hosts=("school.example",)) != []


@pytest.mark.parametrize(
    ("headers", "is_open"),
    [
        ({}, True),
        ({"Origin": "http://localhost:8501"}, True),
        ({"Origin": "https://localhost:8501"}, True),
        ({"Origin": "http://localhost:3000"}, False),
        ({"Origin": "http://localhost"}, False),
        ({"Origin": "http://127.0.0.1:8501"}, False),
        ({"Origin": "http://evil.example:8501"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://localhost:8501", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"}, False),
    ],
)
def test_a_page_of_another_port_opens_no_session(headers, is_open):
    async def stream(websocket):
        await websocket.accept()
        await websocket.close()

    duties = middleware(Settings(), AccessSettings())
    app = Starlette(routes=[WebSocketRoute("/_stcore/stream", stream)], middleware=duties)
    page = TestClient(app).websocket_connect("/_stcore/stream", headers={"Host": "localhost:8501", **headers})
    if is_open:
        page.__enter__()
    else:
        with pytest.raises(WebSocketDisconnect) as closed:
            page.__enter__()
        assert closed.value.code == 1008


def test_every_answer_says_what_a_page_may_load_and_who_may_frame_it():
    client = asked(Settings(embed=("https://school.example",)))
    for path in ("/", "/nothing"):
        headers = client.get(path).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["frame-ancestors"] == "'self' https://school.example"
        assert policy["default-src"] == policy["script-src"].split()[0] == "'self'"
        assert "'unsafe" not in policy["script-src"]  # no scripts from strings; 'wasm-unsafe-eval' lets none in
        assert policy["object-src"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


def cookies(answer: Response) -> list[str]:
    """Every Set-Cookie of an answer."""
    return answer.headers.get_list("set-cookie")


@pytest.mark.parametrize(("embedders", "framed"), [((), False), (("https://school.example",), True)])
def test_cookies_are_secure_where_the_way_is(embedders, framed):
    settings = Settings(base_path="/x/y", embed=embedders)
    for cookie in cookies(asked(settings).get("/x/y/")):
        assert "Secure" not in cookie
        assert "lax" in cookie.lower()
    secure = cookies(asked(settings, base_url="https://localhost").get("/x/y/"))
    assert len(secure) == 2
    for cookie in secure:
        assert cookie.count("; Secure") == 1
        assert cookie.lower().count("samesite") == 1
        assert ("SameSite=None" in cookie) == ("Partitioned" in cookie) == framed
    assert sum("Path=/x/y;" in cookie for cookie in secure) == 1


TOKEN = "0123456789abcdef"
PAGE = {"Accept": "text/html,*/*"}


@pytest.fixture
def stranger():
    """Who asks a server that wants a token, below a path."""
    client = asked(Settings(base_path="/x/y", token=TOKEN, host="0.0.0.0"), "http://school.example")
    client.follow_redirects = False
    return client


def test_the_link_with_the_token_lets_a_browser_in_for_good(stranger):
    answer = stranger.get(f"/x/y/?run=a1&token={TOKEN}", headers=PAGE)
    assert answer.status_code == 303
    assert answer.headers["location"] == "./?run=a1"
    (cookie,) = cookies(answer)
    assert "HttpOnly" in cookie
    assert "Path=/x/y;" in cookie
    assert TOKEN not in cookie
    assert stranger.get("/x/y/", headers=PAGE).status_code == 200


def test_each_role_has_a_token_of_its_own_and_the_last_that_a_browser_showed_counts(tmp_path):
    given = {"teacher_token": "teacher-teacher-1", "token": "member-member-123", "guest_token": "guest-guest-12345"}
    settings = Settings(shared=True, host="0.0.0.0", runs=tmp_path, **given)
    identity = Identity(settings.access, tmp_path)
    client, browser = asked(settings), f"{BROWSER}={identity.browsers.issue()}"
    client.follow_redirects = False

    def visitor(**headers):
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        return identity.of_request(HTTPConnection({"type": "http", "headers": sent}))

    assert visitor(cookie=browser).role is Role.NOBODY
    for name, role in (("teacher_token", Role.TEACHER), ("guest_token", Role.GUEST), ("token", Role.MEMBER)):
        (cookie,) = cookies(client.get(f"/?token={given[name]}", headers=PAGE))
        person = visitor(cookie=f"{browser}; {cookie}")
        assert (person.role, person.id.startswith("browser:")) == (role, True)
        assert identity.person(person.id).role is role, "while the browser is away"
        assert visitor(authorization=f"Bearer {given[name]}").role is role
        assert client.get("/", headers=PAGE).status_code == 200
    client.cookies.clear()
    client.cookies.set(COOKIE, "0" * 64)
    assert client.get("/", headers=PAGE).status_code == 401


def test_one_token_given_the_others_are_made_and_no_two_are_alike(tmp_path):
    tokens = Settings(shared=True, runs=tmp_path, teacher_token=TOKEN).access.tokens
    assert tokens.tokens[Role.TEACHER] == TOKEN
    assert len({*tokens.tokens.values(), *tokens.marks.values()}) == 6
    assert tokens.role({}, {}) is tokens.role({}, {COOKIE: TOKEN}) is tokens.role({}, {COOKIE: "é"}) is Role.NOBODY
    assert Settings(teacher_token=TOKEN, no_token=True).access.tokens.role({}, {}) is None
    with pytest.raises(UserError, match="a token of its own"):
        _ = Settings(teacher_token=TOKEN, token=TOKEN).access


def test_a_page_without_the_token_asks_for_it(stranger):
    answer = stranger.get("/x/y/", headers=PAGE)
    assert answer.status_code == 401
    assert "<form" in answer.text
    assert "not the token" not in answer.text
    wrong = stranger.post("/x/y/", data={"token": "fedcba9876543210"}, headers=PAGE)
    assert (wrong.status_code, cookies(wrong)) == (401, [])
    assert "not the token" in wrong.text
    assert stranger.post("/x/y/", data={"token": f" {TOKEN} "}, headers=PAGE).status_code == 303
    assert stranger.get("/x/y/", headers=PAGE).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer fedcba9876543210"},
        {"Cookie": f"dmlviz_access={TOKEN}"},
        {"Cookie": "dmlviz_access=é".encode()},
    ],
)
def test_whatever_else_is_asked_without_the_token_is_refused_in_a_sentence(stranger, headers):
    answer = stranger.get("/x/y/dmlviz/runs/a1/tracked_items.json", headers=headers)
    assert answer.status_code == 401
    assert "access token" in answer.json()["error"]


def test_a_program_shows_the_token_in_a_header(stranger):
    assert stranger.get("/x/y/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_the_health_of_the_server_is_no_secret_but_nothing_that_looks_like_it(stranger):
    assert stranger.get("/x/y/dmlviz/health").status_code == 404  # there is none here, but it was looked for
    for path in ("/x/y/dmlviz/healthy", "/dmlviz/health", "/x/y/dmlviz/health/x"):
        assert stranger.get(path).status_code == 401


def test_a_websocket_without_the_token_is_closed(stranger):
    with pytest.raises(WebSocketDisconnect) as closed, stranger.websocket_connect("/x/y/_stcore/stream"):
        pass
    assert closed.value.code == 1008


def test_a_server_is_ready_when_a_job_can_start(client, here, monkeypatch):
    answer = client.get("/dmlviz/health/ready")
    assert (answer.status_code, answer.json()) == (200, {"ready": True, "reasons": []})

    monkeypatch.setattr(monitoring_routes, "MIN_FREE_BYTES", 10**18)
    answer = client.get("/dmlviz/health/ready")
    assert answer.status_code == 503
    assert "MB left" in answer.json()["reasons"][0]

    monkeypatch.undo()
    here.scheduler.close()
    assert client.get("/dmlviz/health/ready").json()["reasons"] == ["No worker is ready yet."]
    shutil.rmtree(here.settings.runs)
    assert "folder of runs: No such file" in client.get("/dmlviz/health/ready").json()["reasons"][0]
    assert client.get("/dmlviz/health").status_code == 200  # alive all the same


def test_the_code_of_an_open_class_lets_students_in(stranger, here):
    room = here.classrooms.open("teacher", "Monday", 1)
    assert stranger.get("/x/y/class?code=WRONG2", headers=PAGE).status_code == 401
    answer = stranger.get(f"/x/y/class?code={room.code}", headers=PAGE)
    assert (answer.status_code, answer.headers["location"]) == (303, f"./class?code={room.code}")
    assert stranger.get("/x/y/", headers=PAGE).status_code == 200


def test_the_code_of_a_class_is_typed_instead_of_the_token_until_it_ends(stranger, here):
    room = here.classrooms.open("teacher", "Monday", 1)
    here.classrooms.end(room.code, "teacher")
    assert stranger.post("/x/y/", data={"token": room.code}, headers=PAGE).status_code == 401
    other = here.classrooms.open("teacher", "Tuesday", 1)
    assert stranger.post("/x/y/", data={"token": other.code.lower()}, headers=PAGE).status_code == 303
