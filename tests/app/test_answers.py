"""Answers that take long: one for equal requests, so many for a person, none for a reader who is gone."""

import asyncio
import io
import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dmlviz_app.answers import nearest_neighbors, routes
from dmlviz_app.answers.cached_file import computed_file
from dmlviz_app.answers.sprites import image_tiles
from dmlviz_app.answers.thumbnails import PALETTE, SIZE, last_frame, render, thumbnail
from dmlviz_app.server import answers as served
from dmlviz_app.server import threads
from dmlviz_app.server.answers import AnswerFile
from dmlviz_app.server.services import SOLE, Services
from dmlviz_app.server.threads import ask_worker
from PIL import Image
from starlette.testclient import TestClient

from dmlviz.config import TrainConfig
from dmlviz.errors import BusyError, UserError
from dmlviz.parts import CORE, Kind
from dmlviz.runs.run import Run
from dmlviz.workers import answers
from tests.waiting import until


@pytest.fixture
def slow(monkeypatch):
    """An answer that ends when it is told to; each time it is begun is noted."""
    begun, go = [], threading.Event()

    def work(target, name):
        begun.append(name)
        go.wait(20)
        if name.startswith("wrong"):
            raise UserError("This cannot be.")
        if name == "killed" and begun == ["killed"]:
            raise SystemExit  # its worker is gone without a word
        target.file.write_bytes(b"x" * 100_000)
        return f"{name}.txt"

    monkeypatch.setattr(answers, "slow", work, raising=False)
    monkeypatch.setitem(CORE.kinds, "slow", Kind("dmlviz.workers.answers:slow", "answer"))
    yield begun, go
    go.set()


class Reader:
    """A request of a browser that may leave."""

    def __init__(self, here=None, person="ada"):
        self.gone = False
        self.state = SimpleNamespace(services=here and here.for_person(replace(SOLE, id=person)))

    async def is_disconnected(self):
        return self.gone


async def read(here, name, person="ada", reader=None):
    async with here.answers.open(reader or Reader(), person, here.answers.order("slow", name=name)) as record:
        return record.result.read_bytes()


def left(here):
    return [path for path in here.answers.folder.iterdir() if path.is_dir()]


def test_equal_requests_of_all_are_prepared_once_and_nothing_is_left(here, slow):
    begun, go = slow

    async def story():
        readers = [asyncio.create_task(read(here, "same", person)) for person in ("ada", "bob", "ada", "eve")]
        await asyncio.sleep(0.2)
        go.set()
        return await asyncio.gather(*readers)

    assert [len(content) for content in asyncio.run(story())] == [100_000] * 4
    assert begun == ["same"]
    until(lambda: not left(here))  # the end of an answer is known a moment before its folder goes


def test_one_person_s_flood_is_refused_and_others_are_answered(here, slow):
    begun, go = slow

    async def story():
        flood = [asyncio.create_task(read(here, str(number))) for number in range(32)]
        await asyncio.sleep(0.2)
        other = asyncio.create_task(read(here, "other", "bob"))
        await asyncio.sleep(0.2)
        assert begun == ["0", "other"], "one of each person is prepared at a time"
        go.set()
        return await other, await asyncio.gather(*flood, return_exceptions=True)

    other, flood = asyncio.run(story())
    assert len(other) == 100_000
    refused = [str(answer) for answer in flood if isinstance(answer, Exception)]
    assert len(refused) == 32 - served.MAX_OF_PERSON
    assert set(refused) == {"You have other answers on their way; ask again when they are here."}
    until(lambda: not left(here))


def test_what_fails_says_why_and_is_tried_again(here, slow):
    begun, go = slow
    go.set()
    for _ in range(2):
        with pytest.raises(UserError, match="This cannot be"):
            asyncio.run(read(here, "wrong"))
    assert begun == ["wrong", "wrong"]
    order = here.answers.order("slow", name="wrong, too")  # the one before may still be going
    deadline = time.monotonic() + 10
    while not (reason := here.answers.begin(order, "ada")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert reason == "This cannot be."
    assert here.answers.begin(order, "ada") == reason
    assert begun[2:] == ["wrong, too"], "what nobody waits for is not tried again at once"


def test_a_reader_who_is_gone_gives_up_the_place_in_the_queue(here, slow, monkeypatch):
    monkeypatch.setattr(served, "LOOK_S", 0.05)
    begun, go = slow

    async def story():
        first, second = asyncio.create_task(read(here, "first")), Reader()
        waiting = asyncio.create_task(read(here, "second", reader=second))
        await asyncio.sleep(0.2)
        second.gone = True
        with pytest.raises(UserError, match="gone"):
            await waiting
        go.set()
        await first

    asyncio.run(story())
    assert begun == ["first"]
    until(lambda: not left(here))


def test_a_reader_who_takes_nothing_is_gone_after_a_while(here, slow, monkeypatch):
    monkeypatch.setattr(served, "STALL_S", 0.1)
    _, go = slow
    go.set()
    sent = []

    async def send(message):
        sent.append(message["type"])
        if message["type"] == "http.response.body":
            await asyncio.sleep(30)

    async def receive():
        await asyncio.sleep(30)

    async def story():
        async with served.AsyncExitStack() as stack:
            order = here.answers.order("slow", name="file")
            record = await stack.enter_async_context(here.answers.open(Reader(), "ada", order))
            response = AnswerFile(record, stack.pop_all(), "text/plain", {})
        await response({"type": "http", "method": "GET", "headers": []}, receive, send)

    begun = time.monotonic()
    asyncio.run(story())
    assert time.monotonic() - begun < 10
    assert sent == ["http.response.start", "http.response.body"]
    until(lambda: not left(here))


@pytest.mark.slow
def test_an_answer_that_takes_too_long_is_ended(here, tmp_path, monkeypatch):
    """Its worker is a process, which waits for a pipe that nobody writes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(served, "LIMIT_S", 1.0)
    order = here.answers.order("unpack", archive=str(pipe), folder="", holder="", room=1)

    async def story():
        async with here.answers.open(Reader(), "ada", order):
            pass

    with pytest.raises(UserError, match="more than 1 seconds"):
        asyncio.run(story())
    until(lambda: not left(here))


def test_questions_wait_without_a_thread_and_one_person_s_flood_is_refused(here, monkeypatch):
    monkeypatch.setattr(threads, "LOOK_S", 0.05)
    monkeypatch.setattr(threads, "_places", asyncio.Semaphore(1))
    begun, go = [], threading.Event()

    def ask(name):
        begun.append(name)
        go.wait(20)
        return name

    async def story():
        readers = [Reader(here) for _ in range(threads.MAX_OF_PERSON + 4)]
        flood = [asyncio.create_task(ask_worker(reader, ask, str(n))) for n, reader in enumerate(readers)]
        await asyncio.sleep(0.2)
        other = asyncio.create_task(ask_worker(Reader(here, "bob"), ask, "other"))
        readers[1].gone = True
        await asyncio.sleep(0.2)
        assert begun == ["0"], "the others have no thread yet"
        go.set()
        return await other, await asyncio.gather(*flood, return_exceptions=True)

    other, answers = asyncio.run(story())
    assert (other, str(answers[1])) == ("other", "The reader is gone.")
    assert sum(isinstance(answer, BusyError) for answer in answers) == 4
    assert "1" not in begun


def test_equal_questions_at_once_reach_the_worker_once(here, monkeypatch):
    worker, asked, go = here.scheduler.inference_worker, [], threading.Event()

    def answer(question, timeout):
        asked.append(question["of"])
        go.wait(20)
        if question["of"] == "wrong":
            raise UserError("No.")
        return {"of": question["of"]}

    monkeypatch.setattr(worker, "_ask", answer)
    with ThreadPoolExecutor(8) as pool:
        told = [pool.submit(worker.call, {"ask": "x", "of": of}) for of in ("right", "wrong") for _ in range(3)]
        time.sleep(0.2)
        go.set()
        assert [one.result() for one in told[:3]] == [{"of": "right"}] * 3
        for one in told[3:]:
            with pytest.raises(UserError, match="No"):
                one.result()
        assert sorted(asked) == ["right", "wrong"]
        worker.call({"ask": "x", "of": "right"})
        assert len(asked) == 3, "nothing is kept"


def test_what_many_pages_need_is_computed_once_and_kept_and_nobody_s_page_is_refused(here, slow):
    begun, go = slow
    go.set()

    async def ask(name, person):
        return await computed_file(Reader(here, person), name, "slow")

    async def story():
        names = [str(number) for number in range(12)]  # more than a person may have under way
        return await asyncio.gather(
            *(ask(name, person) for name in names for person in ("ada", "bob")[: 1 + (name < "2")])
        )

    contents = asyncio.run(story())
    assert {len(content) for content in contents} == {100_000}
    assert sorted(begun) == sorted(str(number) for number in range(12))
    assert len(asyncio.run(ask("7", "eve"))) == 100_000
    assert len(begun) == 12, "it is kept"
    until(lambda: not left(here))


def test_what_a_page_needs_is_computed_once_more_if_its_worker_was_killed(here, slow):
    begun, go = slow
    go.set()
    assert len(asyncio.run(computed_file(Reader(here, "ada"), "killed", "slow"))) == 100_000
    assert begun == ["killed", "killed"]


@pytest.mark.slow
@pytest.mark.parametrize("address", ["nearest.bin", "values/live/faithfulness.f32", "sheet", "agreement"])
def test_a_worker_computes_of_many_images_what_the_server_does_of_few(client, here, run, monkeypatch, address):
    tiles = image_tiles("digits", here.data)
    url = {"sheet": tiles.describe()["sprites"]["urls"][0], "agreement": f"dmlviz/agreement/{run.id}/{run.id}.json"}
    url = url.get(address, f"dmlviz/runs/{run.id}/{address}")
    few = client.get(url).content
    shutil.rmtree(here.cache, ignore_errors=True)
    for module in (routes, nearest_neighbors):
        monkeypatch.setattr(module, "CHEAP", 10)
    done = here.scheduler.submit
    orders = []
    monkeypatch.setattr(here.scheduler, "submit", lambda order, *more: (orders.append(order), done(order, *more))[1])
    assert client.get(url).content == few
    assert client.get(url).content == few
    assert len(orders) == 1


SETTINGS = {"dataset": "digits", "net": "linear", "embedding_dim": 2, "images_per_class": 4, "steps": 20}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What workers were asked to write."""
    asked: list[str] = []

    written = answers.training_page

    def write(*arguments: Any, **more: Any) -> str:
        asked.append("training_page")
        return written(*arguments, **more)

    monkeypatch.setattr(answers, "training_page", write)
    return asked


def test_a_page_for_the_settings_of_a_run_is_written_once(client: TestClient, here: Services, asked: list[str]) -> None:
    run = here.runs.create(TrainConfig(**SETTINGS))
    place = f"/dmlviz/runs/{run.id}/training"
    page = client.get(f"{place}/index.html")
    assert page.status_code == 200
    assert "it asks no server" in page.text
    assert "'wasm-unsafe-eval'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    for name in ("training.bin", "digits.bin", "playground.js", "playground_worker.js", "style.css"):
        assert client.get(f"{place}/{name}").status_code == 200, name
    assert asked == ["training_page"]
    assert client.get(f"{place}/run.json").json()["error"] == "The page that trains has no file 'run.json'."


def test_where_a_tab_cannot_train_the_page_says_why(client: TestClient, here: Services, asked: list[str]) -> None:
    run = here.runs.create(TrainConfig(**SETTINGS, label_noise=0.1))
    page = client.get(f"/dmlviz/runs/{run.id}/training/index.html")
    assert page.status_code == 404
    assert "<p>A page trains with labels and images as they are; got label_noise: leave it out.</p>" in page.text


def ink(picture):
    """Share of the picture that is painted."""
    return float((np.asarray(picture)[..., 3] > 0).mean())


def test_a_thumbnail_draws_each_class_in_its_color():
    positions = np.array([[-1.0, 0.0], [1.0, 0.0], [np.nan, 0.0]], np.float32)
    pixels = np.asarray(render(positions, np.array([0, 3, 5]), 2.0, "light"))
    left, right = pixels[:, : SIZE[0] // 2], pixels[:, SIZE[0] // 2 :]
    for half, color in ((left, PALETTE["light"][0]), (right, PALETTE["light"][3])):
        solid = half[half[..., 3] == 255]
        assert len(solid)
        assert (solid[:, :3] == [int(color[i : i + 2], 16) for i in (1, 3, 5)]).all()


def test_the_last_frame_of_a_finished_run_has_all_test_images(run):
    positions, labels, around = last_frame(run)
    assert len(positions) == len(labels) == len(run.labels)
    assert np.abs(positions - run.linear_projection.project(np.asarray(run.embeddings))).max() < 0.01
    assert around >= np.ptp(positions, axis=0).max()


def test_a_collapsed_run_is_drawn_as_a_dot():
    positions = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    labels = np.arange(500) % 10
    wide, dot = (np.asarray(render(positions * size, labels, 6.0, "light"))[..., 3] > 0 for size in (1, 1e-3))
    assert wide.any(axis=1).mean() > 0.5
    assert 0 < dot.any(axis=1).mean() < 0.05


def test_a_running_run_shows_tracked_images_and_one_without_a_frame_is_empty(here, write):
    under_way = write(here.runs, upto=4)
    positions, labels, _ = last_frame(under_way)
    assert len(positions) == len(labels) == len(under_way.tracked_indices)
    assert ink(render(*last_frame(write(here.runs, upto=0)), "dark")) == 0


def test_a_thumbnail_is_cached_until_the_run_continues(run, tmp_path):
    png = thumbnail(run, "dark", tmp_path)
    (first,) = (tmp_path / "thumbnails").iterdir()
    made = first.stat().st_mtime_ns
    assert thumbnail(Run(run.path), "dark", tmp_path) == png == first.read_bytes()
    assert first.stat().st_mtime_ns == made
    assert ink(Image.open(io.BytesIO(png))) > 0.01
    os.utime(run.log.path, ns=(0, 10**15))
    thumbnail(run, "dark", tmp_path)
    (second,) = (tmp_path / "thumbnails").iterdir()
    assert second.name != first.name
