"""Every answer in JSON is standard JSON, also of a run whose net and embeddings are NaN."""

import json
import re
import shutil
import sys
from functools import cache
from itertools import cycle, islice
from pathlib import Path

import dmlviz_app
import numpy as np
import pytest
from dmlviz_app import routes
from dmlviz_app.server.headers import JSONResponse
from safetensors.numpy import load_file, save_file
from starlette.routing import Mount, Route

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
from probe import OTHER, Probe, make_seed

from dmlviz.export.look import KEYS


def standard(text):
    """Parse JSON as a browser does."""

    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    """A server with a run whose net, loss and embeddings are NaN."""
    folder = tmp_path_factory.mktemp("nan")
    run = make_seed(folder / "runs")
    for path in (*run.glob("*.safetensors"), *run.glob("nets/*")):
        save_file({name: np.full_like(value, np.nan) for name, value in load_file(path).items()}, path)
    for path in (run / "embeddings.npy", *run.glob("snapshots/*.npy"), *run.glob("projections/*/coordinates.npy")):
        np.save(path, np.full_like(np.load(path), np.nan))
    opened = Probe(folder / "runs", folder / "data")
    yield opened
    opened.close()
    shutil.rmtree(folder)


def test_nan_and_infinity_are_null_and_what_is_finite_is_unharmed():
    content = {"a": [1.5, float("nan"), -float("inf")], "b": np.float32("nan"), "c": "é\ud800", "d": 1e308}
    assert standard(JSONResponse(content).body) == {"a": [1.5, None, None], "b": None, "c": "é?", "d": 1e308}


def test_no_route_has_another_class_for_its_answers():
    sources = {path.name: path.read_text() for path in Path(dmlviz_app.__file__).parent.rglob("*.py")}
    assert len(sources) > 10
    found = [name for name, text in sources.items() if re.search(r"starlette.responses import .*\bJSONResponse", text)]
    assert found == []


def addresses(routes, prefix, run):
    values = {"run": run, "a": run, "b": OTHER, "view": "live", "item": "5", "first": "0", "second": "5", "step": "150"}
    for route in routes:
        if isinstance(route, Mount):
            yield from addresses(route.routes, prefix + route.path, run)
        elif isinstance(route, Route) and route.path.endswith(".json") and "GET" in route.methods:
            path = re.sub(r"\{(\w+)(:\w+)?\}", lambda match: values.get(match[1], match[0]), route.path)
            if "{" not in path:
                yield prefix + path


@pytest.mark.slow
def test_every_answer_about_a_run_of_nan_is_json(probe):
    (run,) = (path.name for path in probe.folder.iterdir() if re.fullmatch("[0-9a-f]{16}", path.name))
    asked = [*addresses(routes.routes(), "", run)]
    assert len([path for path in asked if "/runs/" in path]) >= 9
    answered = 0
    for path in asked:
        answer = probe.client.get(path)
        assert answer.status_code < 500, (path, answer.text)
        standard(answer.content)
        answered += answer.status_code == 200
    assert answered >= 6


WRONG = [None, True, 1, -1.5, 1e308, "x", "", [], [[]], [None], {}, {"x": "y"}, ["x"] * 3, [[1, "x"]]]
ROUTES = {
    "losses/triplet/curve.json": {"params": {}, "held": {}, "samples": 3},
    "losses/triplet/forces.json": {"points": [[0, 1]], "labels": [0], "weights": [], "triplet": False},
    "losses/triplet/ground.json": {"points": [[0, 1]], "labels": [0], "index": 0, "places": [[0, 1]]},
    "scores.json": {"points": [[0, 1], [1, 0]], "classes": [0, 0]},
    "labs/{lab}/digits/ready-made/answer.json": {"trial": "none"},
    "runs/{run}/query": {"drawing": {"side": 1, "strokes": 1, "ink": "AA=="}},
    "runs/{run}/query?": {"sample": "none"},
    "runs/change": {"run": "{run}", "title": "x", "tags": [], "pinned": True, "visibility": "link", "deleted": False},
    "runs/{run}/cleaning/decisions": {"actions": [{"image": 10**9, "action": "tag", "label": None, "tag": "x"}]},
    "runs/{run}/occlusion/0.json": {"sample": "none"},
    "runs/{run}/gallery?name=x": {"drawing": {"side": 1, "strokes": 1, "ink": "AA=="}},
    "runs/{run}/map": {"view": "live", "query": {"run": "{run}"}},
    "runs/{run}/threshold": {"rate": 0.01},
    "figures/contrastive.json": {"margin": 1.0},
    "classrooms/ABCD/place": {"page": "", "query": {}, "step": 1},
    "classrooms/ABCD/action": {"what": "lead", "on": True},
}

BODILESS = {"/runs/{run}/cleaning/search"}  # its body is not read
FILES = {"/runs/{run}/new_batch.json", "/runs/{run}/rows.csv", "/uploads/data", "/uploads/weights", "/runs/import"}
VALUES = ["-1", "x", "9" * 30, "1e308", "nan", "a" * 300, *"[ é %00 %ff %2e%2e %0d%0a ~ null [1]".split()]


def known_routes():
    """Every route, with the names of the parts of its address."""
    (mount,) = routes.routes()
    return [(route, re.findall(r"\{(\w+)", route.path)) for route in mount.routes]


@cache
def query_names(folder):
    """Every name that the routes of a folder read in an address."""
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    return sorted({*(KEYS if "KEYS" in text else ()), *re.findall(r'query_params\.get\("(\w+)"', text)}) or ["x"]


@pytest.fixture
def post(client, here, run, monkeypatch):
    """Ask a route; the worker says no to all that reaches it."""
    from dmlviz.errors import UserError
    from dmlviz.labs.registry import LABS

    def refuse(question, timeout=0):
        raise UserError("The worker was asked.")

    monkeypatch.setattr(here.scheduler.inference_worker, "call", refuse)
    lab = next(name for name, lab in LABS.items() if "digits" in lab.datasets)

    def post(path, content):
        headers = {"content-type": "application/json"}
        return client.post("/dmlviz/" + path.format(run=run.id, lab=lab), content=content, headers=headers)

    return post


def check(answer, what):
    assert 400 <= answer.status_code < 500 or (answer.status_code == 200 and "error" not in (answer.json() or {})), what
    if answer.status_code != 200:
        assert 5 < len(answer.json()["error"]) < 500, what


@pytest.mark.parametrize("path", ROUTES)
def test_a_body_of_other_types_is_refused_in_a_sentence(post, path):
    whole = ROUTES[path]
    bodies = [*WRONG, *({**whole, name: wrong} for name in whole for wrong in WRONG)]
    bodies += [{**whole, "more": wrong} for wrong in WRONG[:3]]
    for name, value in whole.items():
        if isinstance(value, dict):
            bodies += [{**whole, name: {**value, inner: wrong}} for inner in (*value, "x") for wrong in WRONG]
    for body in bodies:
        check(post(path, json.dumps(body)), (path, body))


@pytest.mark.parametrize("path", ROUTES)
def test_a_body_that_is_no_json_is_refused_in_a_sentence(post, path):
    for text in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": NaN', b"nul", b'"' + b"x" * 100 + b'"'):
        check(post(path, text), (path, text[:20]))


def test_every_route_that_takes_a_body_is_among_those_asked():
    takes = {route.path for route, _ in known_routes() if "POST" in route.methods}
    asked = [path.format(run="a", lab="b").partition("?")[0] for path in ROUTES]
    patterns = {path: re.sub(r"{\w+(:int)?}", "[^/]+", path) for path in takes - BODILESS - FILES}
    missing = [path for path, pattern in patterns.items() if not any(re.fullmatch(pattern, f"/{one}") for one in asked)]
    assert missing == []
    assert takes >= BODILESS | FILES


@pytest.mark.parametrize("path", sorted(FILES))
def test_a_file_that_is_something_else_is_refused_in_a_sentence(post, path):
    for content in (b"", b"{}", b"null", b"\xff" * 20, b"A", json.dumps(WRONG).encode()):
        check(post(path[1:], content), (path, content))


@pytest.mark.slow
def test_no_part_of_an_address_of_another_kind_breaks_a_route(client, run, post):
    right = {"run": run.id, "a": run.id, "b": run.id, "view": "live", "projection": "none", "dataset": "digits"}
    values = cycle(VALUES)
    for route, names in known_routes():
        for name in names:
            for value in islice(values, 7):  # so that each meets many routes, and each route half of them
                parts = {one: right.get(one, "0") for one in names} | {name: value}
                path = re.sub(r"\{(\w+)[^}]*\}", lambda match, parts=parts: parts[match[1]], route.path)
                for method in route.methods - {"HEAD"}:
                    answer = client.request(method, f"/dmlviz{path}")
                    assert answer.status_code < 500 or route.path == "/health/ready", (method, path, answer.text)


@pytest.mark.slow
def test_no_value_in_an_address_of_another_kind_breaks_a_route(client, run, post):
    right = {"run": run.id, "a": run.id, "b": run.id, "view": "live", "dataset": "digits", "format": "svg"}
    values = cycle(VALUES)
    for route, _ in known_routes():
        if "GET" in route.methods and "events" not in route.path:
            path = re.sub(r"\{(\w+)[^}]*\}", lambda match: right.get(match[1], "0"), route.path)
            for name in query_names(Path(sys.modules[route.endpoint.__module__].__file__).parent):
                address = f"/dmlviz{path}?{name}={next(values)}"
                answer = client.get(address)
                assert answer.status_code < 500 or route.path == "/health/ready", (address, answer.text)
