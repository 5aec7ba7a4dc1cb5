"""A person's own picture goes to a route, and comes back with its neighbors, its frames and the steps of its way."""

import asyncio
import base64
import io
import json
from contextlib import ExitStack
from threading import Timer

import numpy as np
import pytest
from dmlviz_app.answers import query_routes as queries
from dmlviz_app.answers.item_neighbors import query_neighbor_history
from dmlviz_app.answers.protocol import QueryAnswer, QueryRefusal
from dmlviz_app.answers.query import QueryResult, TrajectoryPoint
from dmlviz_app.server.answers import Turns
from PIL import Image, ImageFilter
from pydantic import TypeAdapter
from starlette.requests import Request

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data import load
from dmlviz.data.query_file import decode
from dmlviz.errors import UserError
from dmlviz.runs import run_recorder
from dmlviz.runs.frames import Frame
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.query_confidence import Confidence
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.store import Runs, bundled_runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.storage.run_schema.events import LayoutEvent
from dmlviz.training.events import Snapshot, Started
from dmlviz.training.loop import MAX_CHECKPOINTS
from dmlviz.workers.questions import answer

ANSWER, REFUSAL = TypeAdapter(QueryAnswer), TypeAdapter(QueryRefusal)
SURE = Confidence(level="sure", title="Surely 4", sentence="", basis="")


@pytest.fixture
def trained(here, monkeypatch):
    """A ready-made run with its net; what its worker does is done in this process."""

    def call(question, **_):
        return answer(question | {"confidence": True}, here.data)

    monkeypatch.setattr(here.scheduler.inference_worker, "call", call)
    return next(run for run in Runs(bundled_runs()).list() if not run.info.get("fails"))


@pytest.fixture
def ask(client, trained):
    """Send a body to the route."""

    def send(body=b"", question=None, person=client, run=trained, **parameters):
        url = f"/dmlviz/runs/{run.id}/query"
        sent = {"json": question} if question is not None else {"content": body}
        return person.post(url, params=parameters, **sent)

    return send


def file_of(picture, form="PNG"):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, form)
    return file.getvalue()


def sheet(*items):
    """Test images of the digits as they are written on a large sheet, side by side."""
    page = np.full((240, 400), 235, np.uint8)
    for place, item in enumerate(items):
        digit = Image.fromarray(load("digits").test.images[item]).resize((80, 80), Image.Resampling.BICUBIC)
        left = 30 + 190 * place
        page[80:160, left : left + 80] -= (np.asarray(digit) * (200 / 255)).astype(np.uint8)
    return page


def photograph(*items):
    """The same with a camera's noise, as a JPEG."""
    page = sheet(*items) + np.random.default_rng(0).normal(0, 4, (240, 400))
    return file_of(np.clip(page, 0, 255).astype(np.uint8), "JPEG")


def test_a_test_image_is_its_own_nearest_neighbor(ask, trained):
    for item in (0, 100, 333):
        answer = ANSWER.validate_python(ask(file_of(load("digits").test.images[item])).json(), strict=False)
        assert answer["near"][0] == (item, int(trained.labels[item]), 0)
        assert answer["frame"] is None
        assert answer["title"].endswith(f" {answer['vote']['label']}")  # surely, perhaps …


def test_an_answer_has_the_steps_the_places_and_only_if_asked_the_picture(ask, trained):
    answer = ask(file_of(sheet(7)), picture="1").json()
    assert answer["steps"][0]["caption"] == "gray"
    assert len(answer["steps"]) > 3
    way = answer["places"]["ways"]["live"]
    assert answer["places"]["views"]["live"] == pytest.approx(way[-1][1:], rel=1e-3)
    assert len(way) == len({*trained.checkpoint_steps, trained.end["step"]})
    assert answer["trajectory_length"] == len(trained.checkpoint_steps)
    assert decode(base64.b64decode(answer["picture"]), "digits").shape == (240, 400)
    assert "picture" not in ask(file_of(sheet(7))).json()


def test_an_answer_says_that_a_photograph_is_blurred(ask):
    page = Image.new("L", (400, 240), 235)
    page.paste(30, (190, 60, 204, 180))
    for radius in (1, 14):
        blurred = np.asarray(page.filter(ImageFilter.GaussianBlur(radius)))
        assert ask(file_of(blurred)).json()["far"].startswith("Blurred: ") == (radius > 1)


def test_a_picture_and_a_test_image_have_the_parts_that_two_test_images_have(client, here, trained, monkeypatch):
    monkeypatch.setattr(here.scheduler.inference_worker, "call", lambda question: answer(question, here.data))
    address = f"/dmlviz/runs/{trained.id}/occlusion"
    between = client.get(f"{address}/333/7.json").json()
    assert client.post(f"{address}/7.json", content=file_of(load("digits").test.images[333])).json() == between
    assert "numbered 0 to 595" in client.post(f"{address}/596.json", content=file_of(sheet(7))).json()["error"]
    assert "A picture is a PNG" in client.post(f"{address}/7.json", content=b"none").json()["error"]


def test_the_frame_decides_what_is_cut_out(ask, trained):
    first, second = 3, 36
    alone = [ask(photograph(item)).json()["vote"]["label"] for item in (first, second)]
    assert alone[0] != alone[1]
    found = ask(photograph(first, second), picture="1").json()
    assert len(found["frames"]) == 2
    small = base64.b64decode(found["picture"])
    labels = {}
    for frame in found["frames"]:
        asked = ",".join(str(frame[name]) for name in ("x", "y", "width", "height", "angle"))
        labels[frame["x"] < 0.5] = ask(small, frame=asked).json()["vote"]["label"]
    assert labels == {True: alone[0], False: alone[1]}


@pytest.mark.parametrize(
    "frame", ["", "1,2", "0.5,0.5,0,0.2,0", "nan,0.5,0.2,0.2,0", "0.5,0.5,0.2,0.2,inf", "3,0,1,1,0"]
)
def test_a_frame_that_is_none_is_one_sentence(ask, frame):
    answer = ask(file_of(sheet(7)), frame=frame)
    assert answer.status_code == 422
    assert "x,y,width,height,angle" in answer.json()["error"]


def test_a_drawing_and_a_sample_are_asked_about_in_json(ask):
    ink = np.zeros((56, 56), np.uint8)
    ink[8:48, 26:31] = 255
    drawing = {"side": 56, "strokes": 1, "ink": base64.b64encode(ink.tobytes()).decode()}
    ANSWER.validate_python(ask(question={"drawing": drawing}).json(), strict=False)
    assert ask(question={"sample": "seven"}, picture="1").json()["picture"]
    for odd in (
        {},
        [],
        {"drawing": {"side": 56}},
        {"drawing": None},
        {"sample": "../seven"},
        {"sample": []},
        {"drawing": 1},
    ):
        answer = ask(question=odd)
        assert answer.status_code == 422, odd
        assert REFUSAL.validate_python(answer.json())["error"].endswith((".", "'"))


def test_a_picture_that_could_be_read_comes_back_with_its_refusal(ask):
    blank = ask(file_of(np.full((90, 120), 200, np.uint8)), picture="1")
    assert blank.status_code == 422
    assert "blank" in blank.json()["error"]
    assert decode(base64.b64decode(blank.json()["picture"]), "digits").shape == (90, 120)
    broken = ask(b"no picture", picture="1")
    assert broken.status_code == 422
    assert set(broken.json()) == {"error"}
    assert "PNG, JPEG, WebP, BMP, GIF, TIFF, HEIC or AVIF" in broken.json()["error"]
    assert "no bytes" in ask(b"").json()["error"]


def test_more_than_30_mb_is_refused_before_it_is_read(ask):
    answer = ask(bytes(30 * 2**20 + 1))
    assert answer.status_code == 413
    assert "up to 30 MB; got 30 MB" in answer.json()["error"] or "up to 30 MB; got more" in answer.json()["error"]

    def unannounced():
        for _ in range(31):
            yield bytes(2**20)

    assert ask(unannounced()).status_code == 413
    assert ask(question={"drawing": "x" * 2**20}).status_code == 413


def test_a_photograph_of_12_megapixels_is_answered(ask):
    picture = Image.fromarray(sheet(7)).resize((4000, 3000)).convert("RGB")
    file = io.BytesIO()
    picture.save(file, "JPEG")
    answer = ask(file.getvalue(), picture="1")
    assert answer.status_code == 200
    assert len(answer.content) < 200_000


def test_one_person_sends_few_pictures_at_once(ask, monkeypatch):
    monkeypatch.setattr(queries, "WAITING", Turns(0, 8))
    assert ask(file_of(sheet(7))).status_code == 503, "at once"
    monkeypatch.setattr(queries, "WAITING", Turns(1, 8))
    with ExitStack() as others:
        monkeypatch.setattr(queries, "SENDERS", Turns(8, 1))
        others.enter_context(queries.SENDERS.of("another", "busy"))
        Timer(0.3, others.pop_all().close).start()
        assert ask(file_of(sheet(7))).status_code == 200, "it waited for its turn"
    monkeypatch.setattr(queries, "MAX_WAIT_S", 0)
    monkeypatch.setattr(queries, "SENDERS", Turns(0, 8))
    answer = ask(file_of(sheet(7)))
    assert answer.status_code == 503
    assert "in a moment" in answer.json()["error"]
    monkeypatch.setattr(queries, "SENDERS", Turns(1, 8))
    for _ in range(3):  # a place is given back, whether the picture was taken or not
        assert ask(file_of(sheet(7))).status_code == 200
        assert ask(b"no picture").status_code == 422


def test_other_sites_may_not_ask(client, trained):
    url = f"/dmlviz/runs/{trained.id}/query"
    answer = client.post(url, content=file_of(sheet(7)), headers={"Origin": "http://elsewhere.example"})
    assert answer.status_code == 403
    assert client.post("/dmlviz/runs/0123456789abcdef/query", content=b"x").status_code == 404
    assert client.get(url).status_code in (404, 405)


@pytest.mark.slow
@pytest.mark.parametrize(("dimensions", "share", "end"), [(2, 9, ""), (3, 9, "failed"), (16, 0, "interrupted")])
def test_a_net_is_asked_while_it_trains_and_says_at_which_step(here, ask, monkeypatch, dimensions, share, end):
    monkeypatch.setattr(run_recorder, "NET_SHARE", share)  # 0: as where keeping a net takes long
    config = TrainConfig(
        dataset="digits", net="mlp", embedding_dim=dimensions, steps=16, num_snapshots=16, eval_subset_size=40
    )
    run = here.runs.create(config)
    training, row, asked = train_and_record(run), 7, []
    for event in training:
        if isinstance(event, Started):  # the page may ask as soon as it sees the run
            assert ask(file_of(load("digits").test.images[0]), run=run).status_code == 503
            layout = here.runs.create_projection(run, ProjectionConfig(method="tsne", follow=True))
        if not isinstance(event, Snapshot):
            continue
        frame, item = run.events()[-1]["frame"], int(run.tracked_indices[row])
        answer = ANSWER.validate_python(ask(file_of(load("digits").test.images[item]), run=run).json(), strict=False)
        step = answer["step"]
        asked.append(step)
        assert step == event.step if share else step in run.checkpoint_steps
        distances = np.linalg.norm(run.snapshot(step) - run.snapshot(step)[row], axis=1)
        assert answer["near"][0][2] < 0.05 * distances.mean()  # its net is kept in half precision
        near = {int(run.tracked_indices[other]) for other in np.argsort(distances)[:20]}
        assert {other for other, *_ in answer["near"]} <= near
        assert answer["title"].endswith(f" {answer['vote']['label']}")
        assert "40 of the 40 tracked test images" in answer["basis"]
        assert (answer["among"], len(answer["near"])) == (40, 4)  # of them alone: of all, ten would vote
        own = next(one["frame"] for one in run.events() if one.get("step") == step and one["event"] == "snapshot")
        assert answer["places"]["ways"]["live"][0] == pytest.approx(
            [step, *run.positions(own)[row]], abs=0.05 * own["scale"]
        )
        if len(asked) > 1:
            (way,) = answer["places"]["ways"][layout.id]
            assert way[0] == max(layout.layouts)
            assert np.isfinite(way).all()
        assert len(run.checkpoint_steps) <= MAX_CHECKPOINTS + 2
        if len(asked) == 1:
            with RecordWriter(layout) as writer:
                drawn = writer.frame(Frame.quantized(run.positions(frame)[:, :2], "tracked"))
                writer.event(LayoutEvent(event="frame", iteration=step, of=16, frame=drawn, step=step))
        if len(asked) == 14 and end:
            break
    training.close()
    if end == "failed":
        with RecordWriter(run) as writer:
            writer.failed(UserError("It diverged."))
    answer = ask(file_of(load("digits").test.images[item]), run=run).json()
    assert answer.get("step") == (asked[-1] if end else None)
    assert end or len(run.checkpoint_steps) == MAX_CHECKPOINTS  # the others were kept for questions alone
    assert end or [step for step, *_ in answer["places"]["ways"]["live"]] == [*run.checkpoint_steps, 16]


@pytest.mark.slow
def test_on_a_map_that_followed_a_picture_has_a_place_at_each_net_that_is_kept(here, ask):
    config = TrainConfig(
        dataset="digits", net="mlp", embedding_dim=8, steps=12, num_snapshots=4, eval_subset_size=120, seed=2
    )
    run = here.runs.create(config)
    list(train_and_record(run))
    layout = here.runs.create_projection(run, ProjectionConfig(method="tsne", params={"iterations": 100}, follow=True))
    run_projection(layout.path)
    item = int(run.tracked_indices[7])
    answer = ask(file_of(load("digits").test.images[item]), run=run).json()
    way = answer["places"]["ways"][layout.id]
    assert [step for step, *_ in way] == [*run.checkpoint_steps, 12]
    for step, *place in way[:-1]:
        positions = run.projection(layout.id).positions(layout.layouts[step])
        assert np.linalg.norm(positions[7] - place) < 0.1 * np.ptp(positions)
    assert way[-1][1:] == pytest.approx(layout.coordinates[item], rel=1e-3)


def query_result(way, embedding, label=4):
    return QueryResult((), [], label, 0, SURE, {}, way, embedding)


def test_a_query_equal_to_a_tracked_image_has_its_neighbor_history(run):
    row, steps = 11, run.snapshot_steps[:-1]
    item = int(run.tracked_indices[row])
    way = [TrajectoryPoint(step, [0.0, 0.0], run.snapshot(step)[row]) for step in steps]
    history = query_neighbor_history(run, query_result(way, run.embeddings[item]), 10)
    assert json.loads(json.dumps(history)) == history | {
        "near": [[list(one) for one in near] for near in history["near"]]
    }
    assert history["item"] is None
    assert (history["label"], history["among"]) == (4, len(run.tracked_indices))
    assert history["steps"] == [*steps, run.config.steps]
    for step, near in zip(steps, history["near"], strict=False):
        assert near[0] == (item, 0.0)
        assert [other for other, _ in near[1:]] == [neighbor.item for neighbor in run.neighbors(item, 9, step)]
    last = np.linalg.norm(run.embeddings[run.tracked_indices] - run.embeddings[item], axis=1)
    assert [other for other, _ in history["near"][-1]] == run.tracked_indices[
        np.argsort(last, kind="stable")[:10]
    ].tolist()
    assert all(history["labels"][str(other)] == run.labels[other] for near in history["near"] for other, _ in near)


def test_a_run_without_checkpoints_has_no_history_of_a_query_image(run):
    assert query_neighbor_history(run, query_result([], run.embeddings[0]), 10) is None


def test_a_question_that_is_taken_back_is_refused_without_an_error():
    async def leave():
        return {"type": "http.disconnect"}

    request = Request({"type": "http", "method": "POST", "headers": []}, leave)
    with pytest.raises(UserError, match="did not arrive whole"):
        asyncio.run(queries._body(request, 100, "A picture"))
