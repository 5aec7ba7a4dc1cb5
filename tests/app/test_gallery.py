"""Pictures are kept with a run by a route, name the next answer, and are removed; each person sees what they may."""

import base64
import io
import zipfile

import numpy as np
import pandas
import pytest
from dmlviz_app.answers.protocol import GalleryContent, NewBatchContent, QueryAnswer
from PIL import Image
from pydantic import TypeAdapter

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import load
from dmlviz.runs.add_data import add_data
from dmlviz.runs.gallery import Gallery

CONTENT, ANSWER, BATCH = TypeAdapter(GalleryContent), TypeAdapter(QueryAnswer), TypeAdapter(NewBatchContent)


@pytest.fixture
def gallery(client, trained):
    """Ask the gallery's routes."""

    def send(method="GET", path=".json", **request):
        return client.request(method, f"/dmlviz/runs/{trained.id}/gallery{path}", **request)

    return send


def png(image):
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()


def drawing():
    ink = np.zeros((56, 56), np.uint8)
    ink[10:20, 15:20] = ink[10:20, 36:41] = ink[36:42, 10:46] = 255
    return {"drawing": {"side": 56, "strokes": 3, "ink": base64.b64encode(ink.tobytes()).decode()}}


def test_a_drawing_is_kept_names_the_next_one_and_is_removed(client, gallery, trained):
    def asked():
        answer = client.post(f"/dmlviz/runs/{trained.id}/query", json=drawing())
        return ANSWER.validate_python(answer.json(), strict=False)

    before = asked()
    assert before["kept"] == []
    assert gallery().json() == {"pictures": [], "places": {}, "said": [], "shared": False}
    content = CONTENT.validate_python(
        gallery("POST", "", params={"name": "smiley"}, json=drawing()).json(), strict=False
    )
    [(id, name, is_mine)] = content["pictures"]
    assert (name, is_mine, content["said"]) == ("smiley", True, [])
    after = asked()
    assert after["kept"] == [(id, "smiley", pytest.approx(0, abs=1e-4))]
    assert after["title"] == "Like your “smiley”"
    assert before["title"] in after["far"]
    assert after["near"] == before["near"]
    assert content["places"]["live"][0] == pytest.approx(after["places"]["views"]["live"], rel=1e-3, abs=1e-3)
    assert Image.open(io.BytesIO(gallery(path=f"/{id}.png").content)).size == (8, 8)
    assert gallery("DELETE", f"/{id}").json()["pictures"] == []
    assert asked() == before
    assert "not in the gallery any more" in gallery("DELETE", f"/{id}").json()["error"]


@pytest.mark.parametrize(
    ("name", "sent", "words"),
    [
        ("", {"json": drawing()}, "at least one letter"),
        ("x" * 61, {"json": drawing()}, "up to 60 characters; got 61"),
        ("x", {"content": b"no picture"}, "this file is none of them"),
        ("x", {"content": b""}, "has no bytes"),
        ("x", {"content": b"PK\x03\x04 no zip"}, "The zip could not be read"),
        ("x", {"content": b"PK\x05\x06" + bytes(18)}, "The zip holds no picture"),
        ("x", {"json": {"drawing": None}}, "empty"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_a_sentence(gallery, name, sent, words):
    answer = gallery("POST", "", params={"name": name}, **sent)
    assert answer.status_code == 422
    assert words in answer.json()["error"]
    assert gallery().json()["pictures"] == []


def test_a_zip_is_taken_with_what_is_odd_in_it_and_given_back(gallery, trained):
    images, file = load("digits").train.images, io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("<i>cat/1.png", png(images[0]))
        archive.writestr("dog/2.png", png(images[0]))
        archive.writestr("dog/3.png", png(images[1]))
        archive.writestr("dog/notes.txt", "none")
        archive.writestr(f"{'x' * 61}/4.png", png(images[2]))
        page = np.random.default_rng(0).integers(240, 256, (120, 240)).astype(np.uint8)
        page[20:100, [*range(50, 60), *range(180, 190)]] = 0
        archive.writestr("two/5.png", png(page))
    content = gallery("POST", "", content=file.getvalue()).json()
    assert any(said.startswith("two/5.png: One of 2 things in the picture") for said in content["said"])
    assert [name for _, name, _ in content["pictures"]] == ["<i>cat", "dog", "dog", "two"]
    assert content["said"][0].startswith("dog/notes.txt: A picture is a")
    assert "A name has up to 60 characters; got 61" in content["said"][1]
    assert "The same picture is kept as “<i>cat” and “dog”; both stay." in content["said"]
    exported = gallery(path=".zip").content
    for id, _, _ in content["pictures"]:
        gallery("DELETE", f"/{id}")
    again = gallery("POST", "", content=exported).json()["pictures"]
    assert sorted(again) == sorted(content["pictures"])


def test_kept_pictures_are_laid_over_the_map_and_compared_with_the_test_images(client, gallery, trained):
    address, file = f"/dmlviz/runs/{trained.id}", io.BytesIO()
    assert "at least one image" in client.get(f"{address}/new_batch.json").json()["error"]
    train = load("digits").train
    with zipfile.ZipFile(file, "w") as archive:
        for row in range(12):
            archive.writestr(f"{train.labels[row]}/{row}.png", png(train.images[row]))
    kept = gallery("POST", "", content=file.getvalue()).json()
    batch = BATCH.validate_python(client.get(f"{address}/new_batch.json").json(), strict=False)
    assert batch["labels"] == [int(name) for _, name, _ in kept["pictures"]]
    np.testing.assert_allclose(batch["places"], kept["places"]["live"], rtol=2e-3, atol=1e-3)
    assert batch["said"][0].startswith("12 new images over the 596 test images of ")
    assert {DATASETS[name].size for name in client.get(f"{address}/batches.json").json()} <= {8}
    for query, words in [("data=nope", "no data set 'nope'"), ("view=0", "projection")]:
        assert words in client.get(f"{address}/new_batch.json?{query}").json()["error"]


def test_a_file_is_laid_over_the_map_and_is_not_kept(client, gallery, trained, here):
    address, file, digits = f"/dmlviz/runs/{trained.id}/new_batch.json", io.BytesIO(), load("digits").train
    with zipfile.ZipFile(file, "w") as archive:
        for row in range(6):
            archive.writestr(f"{digits.labels[row]}/{row}.png", png(digits.images[row]))
        archive.writestr("notes.txt", "none")
    batch = client.post(address, params={"file": "../../today.zip"}, content=file.getvalue()).json()
    BATCH.validate_python(batch, strict=False)
    assert batch["labels"] == digits.labels[:6].tolist()
    assert any(said.startswith("notes.txt: A picture is a") for said in batch["said"])
    for content, words in [(b"", "no bytes"), (b"none", "A picture is a"), (b"PK\5\6" + bytes(18), "no picture in it")]:
        answer = client.post(address, params={"file": "x.zip"}, content=content)
        assert (answer.status_code, words in answer.json()["error"]) == (422, True), answer.json()
    assert gallery().json()["pictures"] == []
    assert not [*here.answers.folder.glob("upload-*")]


def test_rows_of_a_file_are_laid_over_the_map_of_a_table_and_nothing_advises_what_the_map_has_chosen(client, here):
    run = add_data(
        pandas.DataFrame({"a": np.arange(9.0), "b": np.ones(9), "kind": list("xyz" * 3)}), runs=here.runs.folder
    )
    address = f"/dmlviz/runs/{run.id}/new_batch.json"
    batch = client.post(address, params={"file": "new.csv"}, content=b"kind,b,a\nx,1,4\n").json()
    assert batch["labels"] == [0]
    assert "Vector: a, b (1 row)." in batch["said"][-1]
    for content, words in [(b"a,kind\n1,x\n", "new.csv has no column 'b'"), (b"a,b\n1,\n2,3\n", "remove it. The map")]:
        assert words in client.post(address, params={"file": "new.csv"}, content=content).json()["error"]


def test_a_threshold_of_a_ready_made_run_is_kept_in_a_copy_and_a_damaged_one_takes_no_answer_away(
    client, here, trained
):
    address = f"/dmlviz/runs/{trained.id}"
    assert (
        "Answers to queries rest on it." in client.post(f"{address}/threshold", json={"rate": 0.1}).json()["sentence"]
    )
    assert not (trained.path / "thresholds.json").exists()
    (here.runs.get(trained.id).path / "thresholds.json").write_text("{")
    answer = client.post(f"{address}/query", json=drawing()).json()
    assert answer["near"]
    assert "The threshold is left out: " in answer["far"]


def test_a_damaged_gallery_takes_no_answer_away(client, gallery, trained, here):
    gallery("POST", "", params={"name": "x"}, json=drawing())
    path = Gallery(here.runs.get(trained.id)).folder / "index.json"
    path.write_text("{")
    answer = client.post(f"/dmlviz/runs/{trained.id}/query", json=drawing()).json()
    assert answer["near"]
    assert "The gallery is left out: " in answer["far"]
    assert gallery().status_code == 410
