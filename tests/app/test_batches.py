"""Payloads of recorded batches and of the distance histograms."""

import io
from base64 import b64decode
from dataclasses import asdict, replace

import numpy as np
import pytest
from dmlviz_app import routes
from dmlviz_app.batch_explorer.payloads import COLUMNS
from dmlviz_app.batch_explorer.protocol import BatchAnswer, DistancesAnswer
from dmlviz_app.batch_explorer.routes import MAX_IMAGES
from PIL import Image
from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.testclient import TestClient

from dmlviz import data
from dmlviz.errors import UserError
from dmlviz.runs.query_confidence import Confidence
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run_recorder import RunRecorder
from dmlviz.runs.thresholds import Threshold, judged, kept_threshold
from dmlviz.training.batch_record import BatchRecord

N = 24
IMAGES_SEEN = np.arange(N) * 7


def seen(step=3, d=2):
    """A batch of digits with mined triplets, in d dimensions."""
    random = np.random.default_rng(step)
    labels = data.load("digits").train.labels[IMAGES_SEEN]
    places = random.normal(size=(N, d)).astype(np.float32)
    rows = [(a, p, n) for a in range(N) for p in range(a) for n in range(4) if labels[a] == labels[p] != labels[n]]
    return BatchRecord(
        step=step,
        loss=0.5,
        active=0.25,
        images=IMAGES_SEEN,
        labels=labels,
        embeddings_before=places,
        embeddings_after=places + 1,
        gradient=-places,
        triplets=np.array(rows),
        num_mined=len(rows),
    )


@pytest.fixture
def client(here):
    with TestClient(
        Starlette(routes=routes.routes(), exception_handlers={UserError: routes.user_error}),
        base_url="http://localhost",
    ) as client:
        yield client


@pytest.fixture
def told(run):
    """The run with a batch in it."""
    with RecordWriter(run) as writer:
        RunRecorder(writer, run, np.asarray(run.labels)).write(seen())
    return run


def floats(text):
    return np.frombuffer(b64decode(text), "<f4").reshape(N, -1)


def test_batch_positions_are_those_of_the_runs_own_projection(client, told):
    answer = client.get(f"/dmlviz/runs/{told.id}/batches/3.json")
    assert "immutable" in answer.headers["cache-control"]
    found, batch = answer.json(), seen()
    np.testing.assert_array_equal(floats(found["before"]), batch.embeddings_before)
    np.testing.assert_allclose(
        floats(found["places"]), told.linear_projection.project(batch.embeddings_before), atol=1e-6
    )
    np.testing.assert_allclose(floats(found["moved"]) - floats(found["places"]), 1, atol=1e-5)
    np.testing.assert_allclose(floats(found["push"]), batch.embeddings_before, atol=1e-6)
    assert found["labels"] == batch.labels.tolist()
    assert sum(found["tuples"]["counts"]) == batch.num_mined
    assert found["loss_of"]["formula"]


def test_a_batch_and_its_histograms_are_what_the_protocol_declares(client, told):
    for path, kind in (("batches/3", BatchAnswer), ("distances/10", DistancesAnswer)):
        answer = client.get(f"/dmlviz/runs/{told.id}/{path}.json")
        assert answer.status_code == 200, answer.json()
        TypeAdapter(kind).validate_json(answer.content)


def test_the_terms_of_a_batch_come_from_the_worker(client, here, told, monkeypatch):
    heard = []
    monkeypatch.setattr(
        here.scheduler.inference_worker, "call", lambda question: heard.append(question) or {"terms": [[1]]}
    )
    answer = client.get(f"/dmlviz/runs/{told.id}/batches/3/terms.json")
    assert answer.json() == {"terms": [[1]]}
    assert heard == [{"ask": "batch", "run": str(told.path.resolve()), "step": 3}]
    assert client.get(f"/dmlviz/runs/{told.id}/batches/4/terms.json").status_code == 404
    assert len(heard) == 1


def test_batch_positions_use_the_last_snapshot_while_the_run_trains(client, here, write):
    run = write(here.runs, upto=6)
    with RecordWriter(run) as writer:
        RunRecorder(writer, run, np.asarray(run.labels)).write(seen())
    answer = client.get(f"/dmlviz/runs/{run.id}/batches/3.json")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json()["final"] is False
    assert answer.json()["view"] == "plane"


@pytest.mark.slow
def test_the_sheet_of_a_batch_holds_its_training_images(client, told):
    answer = client.get(f"/dmlviz/runs/{told.id}/batches/3.png")
    assert answer.headers["content-type"] == "image/png"
    picture = np.asarray(Image.open(io.BytesIO(answer.content)))
    images = data.load("digits").train.images
    assert picture.shape == (8 * 2, 8 * COLUMNS)
    for place in (0, 5, N - 1):
        row, column = divmod(place, COLUMNS)
        tile = picture[8 * row : 8 * row + 8, 8 * column : 8 * column + 8]
        np.testing.assert_array_equal(tile, images[IMAGES_SEEN[place]])


def test_histograms_count_every_pair_of_the_images_once(client, run):
    found = client.get(f"/dmlviz/runs/{run.id}/distances/10.json").json()
    same, different = (np.frombuffer(b64decode(found[name]), "<u4") for name in ("same", "different"))
    x, labels = run.snapshot(10), np.asarray(run.labels)[run.tracked_indices]
    assert found["images"] == found["tracked"] == len(x) <= MAX_IMAGES
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    first, second = np.triu_indices(len(x), 1)
    d = (1 - unit @ unit.T)[first, second]
    of_one = labels[first] == labels[second]
    assert found["measure"] == "cosine"
    assert (same.sum(), different.sum()) == (of_one.sum(), (~of_one).sum())
    bins = np.arange(len(same)) + 0.5
    assert (same * bins).sum() / same.sum() / len(bins) * found["high"] == pytest.approx(d[of_one].mean(), abs=0.01)


@pytest.mark.parametrize(
    ("loss", "params", "normalize", "place"),
    [
        ("nt_xent", {}, True, 0.125),
        ("nt_xent", {}, False, None),
        ("triplet", {"distance": "euclidean"}, False, 0.5),
        ("triplet", {"distance": "sqeuclidean"}, True, 0.25),
    ],
)
def test_a_threshold_is_kept_and_answers_rest_on_it_until_it_is_taken_back(
    client, here, run, write, loss, params, normalize, place, monkeypatch
):
    run = write(here.runs, run.config.replace(normalize=normalize, loss=loss, loss_params=params, seed=71))
    found = Threshold(0.5, (0.4, 0.6), 1000, 0.01, 0.2, "50 validation images", 0.01)
    monkeypatch.setattr(here.scheduler.inference_worker, "call", lambda question, *_: asdict(found))
    address, sure = f"/dmlviz/runs/{run.id}/threshold", Confidence(level="sure", title="7", sentence="", basis="")
    assert client.get(address).json() is None
    answer = client.post(address, json={"rate": 0.01}).json()
    assert answer["value"] == (place and pytest.approx(place))
    assert "1% false accepts" in answer["sentence"]
    assert client.get(address).json() == answer
    assert kept_threshold(run) == found
    assert judged(sure, 0.5, kept_threshold(run)) == sure
    assert judged(sure, 0.51, kept_threshold(run))["level"] == "unlike"
    (run.path / "thresholds.json").write_text("{")
    assert "thresholds.json" in client.get(address).json()["error"]
    assert client.post(address, json={"rate": None}).json() is client.get(address).json() is None
    for wrong in ({"rate": "1"}, {}, [1]):
        assert "A rate is a JSON object with other content" in client.post(address, json=wrong).json()["error"]


def test_the_final_embeddings_have_histograms(client, run):
    end = run.end["step"]
    assert client.get(f"/dmlviz/runs/{run.id}/distances/{end}.json").json()["step"] == end


@pytest.mark.parametrize("path", ["batches/4.json", "batches/4.png", "distances/4.json", "batches/-1.json"])
def test_a_batch_that_was_not_recorded_is_one_sentence(client, told, path):
    answer = client.get(f"/dmlviz/runs/{told.id}/{path}")
    assert answer.status_code == 404
    assert "Traceback" not in answer.text


@pytest.mark.slow
def test_a_batch_of_other_images_or_classes_is_one_sentence(client, run):
    with RecordWriter(run) as writer:
        recorder = RunRecorder(writer, run, np.asarray(run.labels))
        recorder.write(replace(seen(3), images=IMAGES_SEEN + 10_000))
        recorder.write(replace(seen(4), labels=np.full(N, 77)))
    assert "does not have" in client.get(f"/dmlviz/runs/{run.id}/batches/3.png").json()["error"]
    assert "not trained on" in client.get(f"/dmlviz/runs/{run.id}/batches/4.json").json()["error"]


@pytest.mark.parametrize("run", ["../secret", "0123456789abcdeg", "ffffffffffffffff"])
def test_files_outside_the_runs_cannot_be_requested(client, run):
    for path in ("batches/1.json", "batches/1.png", "distances/1.json"):
        assert client.get(f"/dmlviz/runs/{run}/{path}").status_code == 404
