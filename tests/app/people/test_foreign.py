"""Another person's everything: refused as if it did not exist, and nothing is changed. Row R6 of the faults."""

import asyncio
import hashlib
import itertools
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from dmlviz_app import routes
from dmlviz_app.answers.sprites import image_tiles
from dmlviz_app.people.cookies import COOKIE, BrowserCookie
from dmlviz_app.server.access import Rule, while_visible
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from dmlviz.storage.files import write_json
from dmlviz.workers import questions

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PROJECTION = "00112233445566ff"
ORIGINS = (
    {},
    {"Origin": "http://localhost"},
    {"Sec-Fetch-Site": "same-origin"},
    {"Origin": "https://elsewhere.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Host": "elsewhere.example"},
    {"X-Forwarded-User": "ada", "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "localhost"},
)
REFUSED = (400, 401, 403, 404, 405)
(MOUNT,) = (route for route in routes.routes() if isinstance(route, Mount))
OURS = [route for route in MOUNT.routes if isinstance(route, Route)]


def addresses(run, dataset, content_hash, frame):
    """The address of each route, with these IDs in it."""
    values = {
        "run": run,
        "a": run,
        "b": run,
        "projection": PROJECTION,
        "frame": frame,
        "dataset": dataset,
        "hash": content_hash,
        "file": "index.html",
        "format": "csv",
        "theme": "light",
        "view": "live",
        "measure": "center",
        "step": "0",
        "item": "3",
        "first": "3",
        "second": "4",
        "name": "shop",
        "sheet": "0",
        "part": "0",
        "loss": "triplet",
        "kind": "loss",
        "figure": "cosine",
        "lab": "patches",
        "lesson": "why-mining",
        "source": "quick",
        "picture": "curve",
        "code": "ABC234",
        "rest": "nothing",
        "work": "0" * 16,
    }
    paths = [re.sub(r"{(\w+)(:\w+)?}", lambda part: values[part[1]], MOUNT.path + route.path) for route in OURS]
    of = {"/events": f"?of={run}"}
    return [(route, path + of.get(route.path, "")) for route, path in zip(OURS, paths, strict=True)]


def state_of(folder: Path):
    """What lies in a folder: names, content and time of the last change."""
    return {
        str(path): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).digest())
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def asked(shared, adas_run, adas_data):
    """The addresses of everything that is Ada's."""
    run = shared.store.get(adas_run)
    projection = run.path / "projections" / PROJECTION
    projection.mkdir(parents=True)
    write_json(projection / "projection.json", {"id": PROJECTION, "config": {"method": "pca"}})
    frame = next(event["frame"]["id"] for event in run.events() if event["event"] == "snapshot")
    return addresses(adas_run, adas_data, image_tiles(adas_data, shared.data).hash, frame)


def test_every_route_declares_who_may_ask():
    """A route without a rule is open to all by mistake."""
    assert {route.path for route in OURS if not isinstance(getattr(route.endpoint, "access_rule", None), Rule)} == set()
    for route in OURS:
        names = set(route.param_convertors)
        rule = route.endpoint.access_rule
        assert rule is Rule.RUN_READER or not names & {"run", "a", "b"}, route.path
        assert rule is Rule.DATA_READER or "dataset" not in names, route.path


def test_only_the_listed_routes_are_open_to_every_visitor():
    """These are open to whoever may look: nobody's runs or data are behind them. A class asks who is in it."""
    free = {
        route.path.rpartition("/")[2]
        for route in OURS
        if "code" not in route.param_convertors and route.endpoint.access_rule in (Rule.ANYONE, Rule.VISITOR)
    }
    assert free == {
        "health",
        "ready",
        "methods.json",
        "metrics",
        "import",
        "data",  # which takes what a person brings
        "weights",
        "change",  # which asks itself whose run it is
        "events",  # of runs that it asks for one by one
        "scores.json",
        "{picture}.json",
        "glossary.json",
        "learn-pictures.svg",
        "{work}",  # which ask themselves who wanted the work
        "result",
        "source.html",  # of the program itself
        "steps.json",
        "{figure}.json",
        "{name}.json",
        "printed-and-measured.html",
        "sheet.html",  # which asks itself whether the person is a student
        "{rest:path}",
    }


def test_the_owner_gets_an_answer_from_every_route(asked, ada, shared, monkeypatch):
    """Otherwise the refusals below would prove nothing."""
    worker = shared.scheduler.inference_worker
    monkeypatch.setattr(worker, "call", lambda question, **_: questions.answer(question, shared.data))
    answers = {route.path: ada.client.get(path).status_code for route, path in asked if "/events" not in path}
    served = {path for path, status in answers.items() if status == 200}
    assert len(served) >= 14, answers


@pytest.fixture
def nobody(app):
    """A browser without a cookie."""
    with TestClient(app, base_url="http://localhost") as client:
        yield client


@pytest.mark.slow
def test_everybody_else_is_refused_as_if_the_run_did_not_exist(asked, nobody, people, adas_run, adas_data, tmp_path):
    before = state_of(tmp_path)
    forged = (BrowserCookie(b"mine").issue(), people["ada"].id, "admin; role=admin")
    strangers = [(people[name].client, {}) for name in ("bob", "guest", "teacher")] + [(nobody, {})]
    strangers += [(nobody, {"Cookie": f"{COOKIE}={value}"}) for value in forged]
    bob = people["bob"].client, {}
    asks = [(method, who, ORIGINS[0]) for method in ("GET", "POST") for who in strangers]
    asks += [(method, bob, ORIGINS[0]) for method in METHODS if method not in ("GET", "POST")]
    theirs, few = [], []  # of each rule one route is asked from all origins: these are looked at before any route
    for rule in (Rule.RUN_READER, Rule.DATA_READER):
        paths = [path for route, path in asked if route.endpoint.access_rule is rule]
        theirs, few = theirs + paths, few + paths[:1]
    from_elsewhere = [(method, bob, origin) for method in ("GET", "POST") for origin in ORIGINS[1:]]
    tried = 0

    def as_if_absent(text):
        return text.replace(adas_run, "f" * 16).replace(adas_data, "custom-" + "f" * 16)

    every = itertools.chain(itertools.product(theirs, asks), itertools.product(few, from_elsewhere))
    for path, (method, (client, cookies), headers) in every:
        answer = client.request(method, path, headers=headers | cookies)
        tried += 1
        assert answer.status_code in REFUSED, (method, path, headers)
        assert b"Ada" not in answer.content
        if method == "GET" and answer.status_code == 404:
            absent = client.get(as_if_absent(path), headers=headers | cookies)
            assert (absent.status_code, absent.text) == (404, as_if_absent(answer.text)), "it tells that it exists"
    assert tried == len(theirs) * len(asks) + len(few) * len(from_elsewhere) > 500
    assert state_of(tmp_path) == before


def test_a_run_is_changed_by_its_holder_only(ada, bob, nobody, adas_run, tmp_path):
    wishes = {"title": ("x",), "tags": (["x"],), "pinned": (True,), "visibility": ("link",), "deleted": (True, False)}
    for name, value in ((name, value) for name, values in wishes.items() for value in values):
        change, before = {"run": adas_run, name: value}, state_of(tmp_path)
        for client, headers in ((bob.client, {}), (nobody, {}), (ada.client, {"Sec-Fetch-Site": "cross-site"})):
            assert client.post("/dmlviz/runs/change", json=change, headers=headers).status_code in REFUSED
        assert state_of(tmp_path) == before
        assert ada.client.post("/dmlviz/runs/change", json=change).status_code == 200


def test_a_stream_ends_when_the_run_is_taken_back(asked, ada, bob, adas_run, shared):
    ada.here.runs.share(adas_run, "link")
    bob.here.runs.open_link(adas_run, shared.run_owners.entry(adas_run, ada.id).key)

    async def blocks():
        yield "first"
        ada.here.runs.share(adas_run, "private")
        yield "second"

    async def heard():
        return [block async for block in while_visible(blocks(), bob.here, adas_run)]

    with ThreadPoolExecutor(1) as thread:  # the main one may hold the loop of a browser's driver
        assert thread.submit(asyncio.run, heard()).result() == ["first"]
