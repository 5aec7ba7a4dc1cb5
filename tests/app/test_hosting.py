"""Where the server may be reached: what the options take, and what every answer tells the browser."""

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from app.api.middleware import middleware
from app.runtime.hosting import Hosting, hosting_from_environment
from dmlviz.errors import UserError


def asked(hosting: Hosting, host: str = "127.0.0.1", base_url: str = "http://localhost") -> TestClient:
    """Who asks a server that has one page below the base path."""

    async def page(_request):
        answer = HTMLResponse("<p>a page</p>")
        answer.set_cookie("theirs", "1", samesite="lax")
        return answer

    routes = [Route(f"{hosting.base_path}/", page)]
    return TestClient(Starlette(routes=routes, middleware=middleware(hosting, host)), base_url=base_url)


@pytest.mark.parametrize(("given", "path"), [("", ""), ("/", ""), ("x/y", "/x/y"), ("/x/y/", "/x/y"), ("/~me", "/~me")])
def test_a_base_path_is_written_one_way(given, path):
    assert Hosting(base_path=given).base_path == path


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
        {"embedders": ("school.example",)},
        {"embedders": ("https://school.example/",)},
        {"embedders": ("https://a.example; script-src *",)},
        {"token": "short"},
        {"token": "with blanks and such; Path=/"},
    ],
)
def test_a_bad_value_is_one_sentence_with_a_remedy(bad):
    with pytest.raises(UserError, match=r"got .*\. (Give it as in --|Leave it out)"):
        Hosting(**bad)


def test_the_environment_says_the_same_as_the_options(monkeypatch):
    monkeypatch.setenv("DMLVIZ_ALLOWED_HOSTS", "a.example *.b.example")
    monkeypatch.setenv("DMLVIZ_EMBED", "https://c.example")
    monkeypatch.setenv("DMLVIZ_TOKEN", "0123456789abcdef")
    options = {"allowed_hosts": ("a.example", "*.b.example"), "embedders": ("https://c.example",)}
    assert hosting_from_environment("x") == Hosting(base_path="/x", token="0123456789abcdef", **options)


@pytest.mark.parametrize(
    ("host", "allowed", "name", "status"),
    [
        ("127.0.0.1", (), "localhost", 200),
        ("127.0.0.1", (), "127.0.0.1", 200),
        ("127.0.0.1", (), "[::1]", 200),
        ("127.0.0.1", (), "evil.example", 400),
        ("127.0.0.1", ("school.example",), "school.example", 200),
        ("127.0.0.1", ("*.school.example",), "a.school.example", 200),
        ("127.0.0.1", ("*",), "anything.example", 200),
        ("0.0.0.0", (), "anything.example", 200),
        ("0.0.0.0", ("school.example",), "evil.example", 400),
        ("0.0.0.0", ("school.example",), "localhost", 200),
    ],
)
def test_a_server_answers_to_its_names_only(host, allowed, name, status):
    client = asked(Hosting(allowed_hosts=allowed), host)
    assert client.get("/", headers={"Host": f"{name}:8501"}).status_code == status


def test_every_answer_says_what_a_page_may_load_and_who_may_frame_it():
    client = asked(Hosting(embedders=("https://school.example",)))
    for path in ("/", "/nothing"):
        headers = client.get(path).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["frame-ancestors"] == "'self' https://school.example"
        assert policy["default-src"] == policy["script-src"].split()[0] == "'self'"
        assert "unsafe" not in policy["script-src"]
        assert policy["object-src"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


def cookies(answer: Response) -> list[str]:
    """Every Set-Cookie of an answer."""
    return answer.headers.get_list("set-cookie")


@pytest.mark.parametrize(("embedders", "framed"), [((), False), (("https://school.example",), True)])
def test_cookies_are_secure_where_the_way_is(embedders, framed):
    hosting = Hosting(base_path="/x/y", embedders=embedders)
    for cookie in cookies(asked(hosting).get("/x/y/")):
        assert "Secure" not in cookie
        assert "lax" in cookie.lower()
    secure = cookies(asked(hosting, base_url="https://localhost").get("/x/y/"))
    assert len(secure) == 2
    for cookie in secure:
        assert cookie.count("; Secure") == 1
        assert cookie.lower().count("samesite") == 1
        assert ("SameSite=None" in cookie) == ("Partitioned" in cookie) == framed
    assert sum("Path=/x/y;" in cookie for cookie in secure) == 1
