"""The search service: what it finds, whom it refuses, and what it says of itself."""

import io

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from dmlviz.errors import UserError
from dmlviz.runs.store import Runs
from dmlviz.search_api.service import SearchService

RUN = "476b1d8df4e46879"  # comes with the program: digits, `small`, in the plane
TOKEN = {"Authorization": "Bearer secret"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    return SearchService(Runs(tmp_path_factory.mktemp("runs")).get(RUN), "secret")


@pytest.fixture(scope="module")
def client(service):
    return TestClient(service.app)


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def vertical_line():
    pixels = np.full((56, 56), 255, np.uint8)
    pixels[8:48, 25:31] = 0
    return png(pixels)


def test_a_drawn_one_finds_ones(client):
    answer = client.post("/neighbors?k=5", content=vertical_line(), headers=TOKEN)
    assert answer.status_code == 200
    found = answer.json()
    assert found["class"] == "1"
    assert len(found["neighbors"]) == 5
    assert len(found["embedding"]) == 2
    distances = [neighbor["distance"] for neighbor in found["neighbors"]]
    assert distances == sorted(distances)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/neighbors", b"hello", "PNG, JPEG or WebP"),
        ("/neighbors", png(np.full((9, 9), 255, np.uint8)), "blank"),
        ("/neighbors?k=0", vertical_line(), "1 to 1000"),
        ("/neighbors?k=many", vertical_line(), "1 to 1000"),
    ],
)
def test_a_bad_question_gets_one_sentence(client, path, body, words):
    answer = client.post(path, content=body, headers=TOKEN)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_a_file_that_is_too_large_is_not_read_to_its_end(client):
    assert client.post("/neighbors", content=bytes(3 * 1024**2), headers=TOKEN).status_code == 413


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer other"}, {"Authorization": "secretx"}])
def test_without_the_token_nothing_is_told(client, headers):
    assert client.post("/neighbors", content=vertical_line(), headers=headers).status_code == 401
    assert client.get("/images/0.png", headers=headers).status_code == 401


def test_a_test_image_is_sent_as_png(client):
    answer = client.get("/images/3.png", headers=TOKEN)
    assert Image.open(io.BytesIO(answer.content)).size == (8, 8)
    assert client.get("/images/99999.png", headers=TOKEN).status_code == 404


def test_the_description_names_every_route(client, service):
    document = client.get("/openapi.json").json()
    described = {path.replace("{item}", "{item:int}") for path in document["paths"]}
    assert described == {route.path for route in service.app.routes} - {"/", "/openapi.json"}
    assert document["security"] == [{"token": []}]
    assert "curl" in client.get("/").text


def test_a_run_without_a_net_is_refused(tmp_path):
    run = Runs(tmp_path).create(Runs(tmp_path).get(RUN).config.replace(seed=9))
    with pytest.raises(UserError, match="no net to search with"):
        SearchService(run, None)
