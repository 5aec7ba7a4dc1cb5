"""Live events, as an event stream over HTTP: one reader for all listeners, no event lost, no reader left running."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from dmlviz_app.server import event_stream
from dmlviz_app.server.event_stream import StreamHub

from dmlviz.jobs.job import Status
from dmlviz.storage.files import EventLog


class Job:
    """A log that a test writes, and the state of the job that would write it."""

    def __init__(self, folder):
        self.log = EventLog(folder / "events.jsonl")
        self.phase, self.position, self.of = "running", None, None
        self.machine = self.lost = ""
        self.asked = 0

    def state(self):
        self.asked += 1
        return Status(self.phase, self.position, self.of, machine=self.machine, lost=self.lost)

    def write(self, count, start=0):
        for step in range(start, start + count):
            self.log.append({"event": "step", "step": step})


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def data_of(block):
    return [json.loads(line[6:]) for line in block.splitlines() if line.startswith("data: ")]


async def collect(tails, job, after=-1, heartbeat=60.0, told=None):
    """Every event until the stream ends; `told` holds them as they come."""
    told = [] if told is None else told
    async for block in tails.follow(job.log.path, job.state, after, heartbeat):
        told += data_of(block)
    return told


async def hears(told, count):
    """Wait until so many events have come."""
    while len(told) < count:
        await asyncio.sleep(0.01)


def run(coroutine):
    """In a thread: a browser test in the same process leaves the loop of its driver running in the main one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asyncio.wait_for(coroutine, 120)).result()


def test_listeners_share_one_reader_and_receive_every_event(job, monkeypatch):
    opened = []
    original = event_stream.LogFollower
    monkeypatch.setattr(event_stream, "LogFollower", lambda path: opened.append(path) or original(path))

    async def story():
        tails = StreamHub()
        job.write(3)
        listeners = [asyncio.create_task(collect(tails, job)) for _ in range(30)]
        await asyncio.sleep(0.2)
        job.write(4, start=3)
        late = asyncio.create_task(collect(tails, job))
        await asyncio.sleep(0.2)
        job.phase = "finished"
        return await asyncio.gather(*listeners, late), tails.open_streams

    told, followed = run(story())
    assert len(opened) == 1
    assert followed == 0
    for events in told:
        assert [event["step"] for event in events[:-1]] == list(range(7))
        assert events[-1] == {"event": "end", "state": "finished"}


@pytest.mark.slow
def test_events_written_just_before_the_end_are_not_lost(job):
    async def story():
        tails = StreamHub()
        for number in range(20):
            job.phase = "running"
            job.log.path.unlink(missing_ok=True)
            job.write(2)
            listener = asyncio.create_task(collect(tails, job))
            await asyncio.sleep(0.013 * number)
            job.write(1, start=2)
            job.phase = "finished"
            events = await listener
            assert [event.get("step") for event in events] == [0, 1, 2, None]

    run(story())


def test_a_new_line_arrives_within_a_tenth_of_a_second(job):
    async def story():
        tails, loop = StreamHub(), asyncio.get_running_loop()
        stream = tails.follow(job.log.path, job.state)
        await anext(stream)
        waits = []
        for step in range(5):
            await asyncio.sleep(0.12)
            written = loop.time()
            job.write(1, start=step)
            await anext(stream)
            waits.append(loop.time() - written)
        await stream.aclose()
        return min(waits)

    assert run(story()) < 0.1


def test_queue_positions_are_sent_until_the_run_starts(job):
    async def story():
        tails, told = StreamHub(), []
        job.phase, job.position, job.of = "queued", 2, 2
        listener = asyncio.create_task(collect(tails, job, told=told))
        await hears(told, 1)
        job.position = 1
        await hears(told, 2)
        job.phase = "running"
        job.write(1)
        await hears(told, 3)
        job.phase = "finished"
        return await listener

    told = run(story())
    assert [event["event"] for event in told] == ["queue", "queue", "step", "end"]
    assert [event["position"] for event in told[:2]] == [2, 1]


def test_a_silent_stream_sends_heartbeats(job):
    async def story():
        tails, blocks = StreamHub(), []
        stream = tails.follow(job.log.path, job.state, heartbeat=0.1)
        for _ in range(3):
            blocks.append(await anext(stream))
        await stream.aclose()
        return blocks

    assert run(story())[1:] == [": still here\n\n"] * 2


def test_a_reader_without_listeners_stops_reading(job):
    async def story():
        tails, tasks = StreamHub(), len(asyncio.all_tasks())
        stream = tails.follow(job.log.path, job.state)
        await anext(stream)
        assert tails.open_streams == 1
        await stream.aclose()
        assert tails.open_streams == 0
        asked = job.asked
        await asyncio.sleep(0.6)
        assert job.asked <= asked + 1
        assert len(asyncio.all_tasks()) == tasks

    run(story())


def test_closing_ends_every_stream_at_once(job):
    async def story():
        tails = StreamHub()
        listeners = [asyncio.create_task(collect(tails, job)) for _ in range(3)]
        await asyncio.sleep(0.1)
        tails.close()
        return await asyncio.wait_for(asyncio.gather(*listeners), 60)

    assert run(story()) == [[], [], []]


def test_an_incomplete_last_line_is_held_back(job):
    async def story():
        tails = StreamHub()
        job.write(1)
        with open(job.log.path, "ab") as file:
            file.write(b'{"event":"st')
        listener = asyncio.create_task(collect(tails, job))
        await asyncio.sleep(0.2)
        with open(job.log.path, "ab") as file:
            file.write(b'ep","step":1}\n')
        await asyncio.sleep(0.2)
        job.phase = "finished"
        return await listener

    assert [event.get("step") for event in run(story())] == [0, 1, None]


def test_an_error_in_the_status_ends_the_stream(job):
    async def story():
        def broken():
            raise RuntimeError("gone")

        told = []
        async for block in StreamHub().follow(job.log.path, broken):
            told += data_of(block)
        return told

    assert run(story()) == [{"event": "end", "state": "interrupted"}]


@pytest.mark.slow
def test_a_run_that_is_begun_again_elsewhere_is_told_from_its_start_and_where_it_is(job):
    job.machine = "gpu-1"

    async def story():
        tails = StreamHub()
        job.write(5)
        listener = asyncio.create_task(collect(tails, job))
        await asyncio.sleep(0.4)
        job.log.path.rename(job.log.path.with_name("before"))
        job.machine, job.lost = "gpu-2", "gpu-1 was lost."
        job.log.path.touch()
        await asyncio.sleep(0.2)  # what was told before is void as soon as the run is begun again
        job.write(2)
        await asyncio.sleep(0.5)
        job.phase = "finished"
        return await listener

    told = run(story())
    restart = told.index({"event": "begun"})
    assert [event["step"] for event in told[:restart] if event["event"] == "step"] == [0, 1, 2, 3, 4]
    assert [event["step"] for event in told[restart:] if event["event"] == "step"] == [0, 1]
    places = [(event["machine"], event["lost"]) for event in told if event["event"] == "machine"]
    assert places[0] == ("gpu-1", "")
    assert {"event": "machine", "machine": "gpu-2", "lost": "gpu-1 was lost."} in told[restart:]


def events_of(text):
    """(id, data) of every event of a stream."""
    blocks = [dict(line.split(": ", 1) for line in block.splitlines()) for block in text.strip().split("\n\n")]
    return [(block.get("id"), json.loads(block["data"])) for block in blocks if "data" in block]


def test_a_finished_run_streams_all_events_and_ends(client, run):
    told = events_of(client.get(f"/dmlviz/runs/{run.id}/events").text)
    assert [event for _, event in told[:-1]] == run.events()
    assert [number for number, _ in told[:-1]] == [str(i) for i in range(len(run.events()))]
    assert told[-1] == (None, {"event": "end", "state": "finished"})


@pytest.mark.parametrize("how", ["header", "query"])
def test_a_stream_resumes_after_the_last_event_received(client, run, how):
    headers = {"Last-Event-ID": "4"} if how == "header" else {}
    params = {"after": "4"} if how == "query" else {}
    told = events_of(client.get(f"/dmlviz/runs/{run.id}/events", headers=headers, params=params).text)
    assert told[0] == ("5", run.events()[5])


def test_a_stream_resumed_at_the_end_sends_only_the_end(client, run):
    last = str(len(run.events()) - 1)
    told = events_of(client.get(f"/dmlviz/runs/{run.id}/events", headers={"Last-Event-ID": last}).text)
    assert told == [(None, {"event": "end", "state": "finished"})]


@pytest.mark.parametrize("after", ["-7", "99999999999", "x", "²", "1e9", ""])
def test_an_invalid_resume_position_is_ignored(client, run, after):
    answer = client.get(f"/dmlviz/runs/{run.id}/events", params={"after": after})
    assert answer.status_code == 200
    assert events_of(answer.text)[-1][1]["event"] == "end"


def test_an_interrupted_run_ends_its_stream_as_interrupted(client, here, write):
    run = write(here.runs, upto=8)
    told = events_of(client.get(f"/dmlviz/runs/{run.id}/events").text)
    assert told[-1][1] == {"event": "end", "state": "interrupted"}
    assert len(told) == 9


def test_proxies_are_told_not_to_buffer_events(client, run):
    headers = client.get(f"/dmlviz/runs/{run.id}/events").headers
    assert headers["x-accel-buffering"] == "no"
    assert headers["cache-control"] == "no-store"
    assert headers["content-type"].startswith("text/event-stream")
