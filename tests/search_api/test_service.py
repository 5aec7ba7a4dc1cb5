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
SECRET = "a-secret-of-these-tests"
TOKEN = {"Authorization": f"Bearer {SECRET}"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    return SearchService(Runs(tmp_path_factory.mktemp("runs")).get(RUN), SECRET)


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


def test_a_photograph_of_two_things_is_said_to_be_one(client):
    page = np.random.default_rng(0).integers(240, 256, (120, 240)).astype(np.uint8)
    page[20:100, [*range(50, 60), *range(180, 190)]] = 0
    found = client.post("/neighbors", content=png(page), headers=TOKEN).json()
    assert found["notes"] == ["One of 2 things in the picture: cut out the one that is meant."]
    assert client.post("/neighbors", content=vertical_line(), headers=TOKEN).json()["notes"] == []


def test_a_test_image_that_is_sent_back_finds_itself(client):
    for item in (3, 42, 100, 333, 595):
        image = client.get(f"/images/{item}.png", headers=TOKEN).content
        nearest = client.post("/neighbors?k=1", content=image, headers=TOKEN).json()["neighbors"][0]
        assert (nearest["item"], round(nearest["distance"], 5)) == (item, 0)


def test_a_form_with_a_file_gives_what_the_file_as_the_body_gives(client):
    sent = client.post("/neighbors", content=vertical_line(), headers=TOKEN).json()
    assert len(sent["neighbors"]) == 10
    form = {"image": ("one.png", vertical_line(), "image/png")}
    assert client.post("/neighbors", files=form, headers=TOKEN).json() == sent


FORM = {"Content-Type": "multipart/form-data; boundary=x"}
NO_FILE = b'--x\r\nContent-Disposition: form-data; name="image"\r\n\r\nhello\r\n--x--\r\n'


@pytest.mark.parametrize(
    ("body", "headers", "words"),
    [
        (b"", {}, "The body is empty"),
        (NO_FILE, FORM, "The form holds no file"),
        (b"hello", FORM, "The form could not be read"),
        (NO_FILE, {"Content-Type": "multipart/form-data"}, "The form could not be read"),
        (NO_FILE.replace(b'name="image"', b'name="image"; filename="a"').replace(b"hello", b""), FORM, "body is empty"),
    ],
)
def test_a_request_without_a_picture_is_told_how_to_send_one(client, body, headers, words):
    answer = client.post("/neighbors", content=body, headers=TOKEN | headers)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/neighbors", b"hello", "PNG, JPEG, WebP, BMP, GIF, TIFF, HEIC or AVIF"),
        ("/neighbors", png(np.full((9, 9), 255, np.uint8)), "blank"),
        ("/neighbors?k=0", vertical_line(), "1 to 1000"),
        ("/neighbors?k=many", vertical_line(), "1 to 1000"),
        ("/neighbors?k=0000000019999", vertical_line(), "1 to 1000"),
    ],
)
def test_a_bad_question_gets_one_sentence(client, path, body, words):
    answer = client.post(path, content=body, headers=TOKEN)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_a_file_that_is_too_large_is_not_read_to_its_end(client):
    assert client.post("/neighbors", content=bytes(31 * 1024**2), headers=TOKEN).status_code == 413
    form = {"image": bytes(31 * 1024**2)}
    assert client.post("/neighbors", files=form, headers=TOKEN).status_code == 413


@pytest.mark.parametrize("sent", [None, "Bearer other", f"Bearer {SECRET}x", SECRET, f"Basic {SECRET}", "Bearer"])
def test_without_the_token_nothing_is_told(client, sent):
    headers = {} if sent is None else {"Authorization": sent}
    assert client.post("/neighbors", content=vertical_line(), headers=headers).status_code == 401
    assert client.get("/images/0.png", headers=headers).status_code == 401


def test_the_scheme_of_the_token_may_be_written_in_any_case(client):
    for scheme in ("bearer", "BEARER"):
        assert client.get("/images/0.png", headers={"Authorization": f"{scheme} {SECRET}"}).status_code == 200


@pytest.mark.parametrize("token", ["", "short", "tökén-of-some-length", "words of some length"])
def test_a_token_that_is_guessed_or_fits_no_header_is_refused(tmp_path, token):
    with pytest.raises(UserError, match="at least 16 letters"):
        SearchService(Runs(tmp_path).get(RUN), token)


def test_all_that_is_refused_is_json(client):
    missing, wrong = client.get("/nothing"), client.get("/neighbors", headers=TOKEN)
    assert (missing.status_code, wrong.status_code, wrong.headers["allow"]) == (404, 405, "POST")
    assert "/docs" in missing.json()["error"]
    assert wrong.json()["error"] == "/neighbors takes POST; got GET."


def test_a_fault_of_the_service_is_json(service, monkeypatch):
    monkeypatch.setattr(service, "answer", lambda picture, k: 1 / 0)
    client = TestClient(service.app, raise_server_exceptions=False)
    answer = client.post("/neighbors", content=vertical_line(), headers=TOKEN)
    assert (answer.status_code, "terminal" in answer.json()["error"]) == (500, True)


def test_a_test_image_is_sent_as_png(client):
    answer = client.get("/images/3.png", headers=TOKEN)
    assert Image.open(io.BytesIO(answer.content)).size == (8, 8)
    for other in ("99999", "-1", "9" * 5000, "0" * 5000, "٣"):
        answer = client.get(f"/images/{other}.png", headers=TOKEN)
        assert answer.status_code == 404
        assert "numbered 0 to 595" in answer.json()["error"]


def test_the_description_names_every_route(client, service):
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) == {route.path for route in service.app.routes} - {"/", "/docs", "/openapi.json"}
    assert document["security"] == [{"token": []}]
    assert "curl" in client.get("/").text
    assert client.get("/docs").text == client.get("/").text


def test_the_description_says_what_is_done_to_pictures_and_every_refusal(client):
    document = client.get("/openapi.json").json()
    asked, image = document["paths"]["/neighbors"]["post"], document["paths"]["/images/{item}.png"]["get"]
    words = "A gray picture of exactly 8 × 8 pixels on a dark ground, as the test images are, is taken as it is."
    assert asked["description"].startswith(words)
    assert words in client.get("/").text
    assert asked["parameters"][0]["schema"] == {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10}
    assert {*asked["requestBody"]["content"]} == {"image/png", "image/jpeg", "image/webp", "multipart/form-data"}
    assert ({*asked["responses"]}, {*image["responses"]}) == ({"200", "400", "401", "413"}, {"200", "401", "404"})
    for answer in [*asked["responses"].values(), *image["responses"].values()]:
        for content in answer["content"].values():
            if reference := content.get("schema", {}).get("$ref"):
                assert reference == "#/components/schemas/Error"
    assert document["components"]["schemas"]["Error"]["required"] == ["error"]


def test_a_run_without_a_net_is_refused(tmp_path):
    run = Runs(tmp_path).create(Runs(tmp_path).get(RUN).config.replace(seed=9))
    with pytest.raises(UserError, match="no net to search with"):
        SearchService(run, None)
