"""The events of a run, as an event stream over HTTP."""

import json

import pytest


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
