"""One address for everything that runs in the background: how it stands, its end by hand, its file."""

import threading

import pytest

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import UserError
from dmlviz.jobs.order import projection, training
from dmlviz.parts import CORE, Kind
from dmlviz.workers import answers
from tests.waiting import until

CONFIG = TrainConfig(dataset="digits", net="mlp", steps=1000, seed=3)


@pytest.fixture
def waiting(here, monkeypatch):
    """Jobs wait in the queue: no process is started."""
    monkeypatch.setattr(here.scheduler.dispatcher, "dispatch", lambda: None)


@pytest.fixture
def slow(monkeypatch):
    """An answer that says that it is half done, and ends when it is told to."""
    go = threading.Event()

    def work(target, text):
        target.progress(0.5)
        go.wait(20)
        if text == "wrong":
            raise UserError("This cannot be.")
        target.file.write_text(text)
        return f"{text}.txt"

    monkeypatch.setattr(answers, "slow", work, raising=False)
    monkeypatch.setitem(CORE.kinds, "slow", Kind("dmlviz.workers.answers:slow", "answer"))
    yield go
    go.set()


def test_every_kind_of_job_has_one_status_and_one_stop(client, here, run, waiting):
    orders = [
        training(here.runs, CONFIG),
        projection(here.runs, run.id, ProjectionConfig(method="pca")),
        here.answers.order("archive", run.id, run=str(run.path), info={}),
    ]
    for order in orders:
        here.scheduler.submit(order)
        answer = client.get(f"/dmlviz/work/{order.id}").json()
        assert answer["phase"] == "queued"
        assert answer["live"]
        assert answer["position"] == answer["of"]
    assert [client.get(f"/dmlviz/work/{order.id}").json()["kind"] for order in orders] == [
        "train",
        "project",
        "archive",
    ]
    for order in orders:
        stopped = client.delete(f"/dmlviz/work/{order.id}").json()
        assert (stopped["phase"], stopped["live"]) == ("stopped", False)
        assert stopped == client.get(f"/dmlviz/work/{order.id}").json()
    assert not [*here.scheduler.turns]


def test_an_answer_says_how_far_it_is_and_gives_its_file_or_why_it_failed(client, here, slow):
    for text, ends in (("right", "finished"), ("wrong", "failed")):
        slow.clear()
        order = here.answers.order("slow", text=text)
        here.scheduler.submit(order)
        until(lambda order=order: client.get(f"/dmlviz/work/{order.id}").json()["share"] == 0.5)
        threading.Timer(0.3, slow.set).start()
        answer = client.get(f"/dmlviz/work/{order.id}/result")
        assert (answer.status_code, answer.text) == ((200, "right") if text == "right" else (404, answer.text))
        until(lambda order=order: not client.get(f"/dmlviz/work/{order.id}", params={"wait": "1"}).json()["live"])
        ended = client.get(f"/dmlviz/work/{order.id}").json()
        assert (ended["phase"], ended["reason"]) == (ends, "" if text == "right" else "This cannot be.")


def test_how_it_ended_is_known_of_the_last_ones_only(client, here, waiting, monkeypatch):
    monkeypatch.setattr("dmlviz.jobs.dispatcher.MAX_ENDED", 2)
    orders = [training(here.runs, CONFIG.replace(seed=seed)) for seed in range(3)]
    for order in orders:
        here.scheduler.stop(here.scheduler.submit(order))
    codes = [client.get(f"/dmlviz/work/{order.id}").status_code for order in orders]
    assert codes == [404, 200, 200]
    assert client.get("/dmlviz/work/unknown").json()["error"].startswith("There is no work unknown")


def test_who_deletes_a_run_hears_whether_it_can_come_back(client, here, run, monkeypatch):
    deleted = {"run": run.id, "deleted": True}
    assert client.post("/dmlviz/runs/change", json=deleted).json() == {"fits": True}
    assert client.post("/dmlviz/runs/change", json=deleted | {"deleted": False}).json() == {"fits": True}
    monkeypatch.setattr(type(here), "disk_limit", 1)
    assert client.post("/dmlviz/runs/change", json=deleted).json() == {"fits": False}
    assert "no room" in client.post("/dmlviz/runs/change", json=deleted | {"deleted": False}).json()["error"]
