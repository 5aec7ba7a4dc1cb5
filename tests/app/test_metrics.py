"""The metrics: who may read them, and whether they say what happens."""

import dataclasses
from types import SimpleNamespace

import pytest
from dmlviz_app.answers import event_routes as events
from dmlviz_app.server import services
from dmlviz_app.server.metrics import FETCH_TIME_S, FirstFrames, count_job
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from dmlviz.jobs.job import JobReport
from dmlviz.jobs.placement import MachineInfo

TOKEN = "0123456789abcdefghij"
PATH = "/dmlviz/metrics"


@pytest.fixture
def local(client):
    """Whoever asks from this machine."""
    return TestClient(client.app, base_url="http://localhost", client=("127.0.0.1", 4711))


@pytest.fixture
def read(local):
    """`read(name, **labels)`: the value of a metric now; 0 where there is none yet."""

    def value(name, **labels):
        families = text_string_to_metric_families(local.get(PATH).text)
        samples = [sample for family in families for sample in family.samples if sample.name == name]
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())

    return value


@pytest.fixture
def token(here, monkeypatch):
    monitored = here.settings.replace(metrics_token=TOKEN)
    monkeypatch.setattr(services, "_services", dataclasses.replace(here, settings=monitored))


def report(run, state, **more):
    return JobReport(kind="train", run=run, name="", owner="", state=state, waited=0.5, **more)


def test_only_this_machine_reads_them_without_a_token(client, local):
    assert local.get(PATH).status_code == 200
    assert client.get(PATH).status_code == 403  # from elsewhere
    for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"):
        assert local.get(PATH, headers={header: "127.0.0.1"}).status_code == 403, header  # a proxy asks for somebody


@pytest.mark.usefixtures("token")
def test_with_a_token_only_who_has_it_reads_them_from_anywhere(client, local):
    assert client.get(PATH, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    for refused in (
        local.get(PATH),
        client.get(PATH, headers={"Authorization": f"Bearer {TOKEN}x"}),
        client.get(PATH, headers={"Authorization": TOKEN}),
        client.get(f"{PATH}?token={TOKEN}"),
    ):
        assert refused.status_code == 401
        assert TOKEN not in refused.text


def test_requests_are_counted_by_route_and_not_by_what_they_ask_for(client, read, run):
    secret = "5e" * 8
    route = "/runs/{run}/tracked_items.json"
    begin = read("dmlviz_http_requests_total", route=route, status="200")
    client.get(f"/dmlviz/runs/{run.id}/tracked_items.json?token={secret}")
    client.get(f"/dmlviz/runs/{secret}/tracked_items.json")
    client.request("BREW", f"/dmlviz/runs/{secret}/tracked_items.json")
    assert read("dmlviz_http_requests_total", route=route, status="200") == begin + 1
    assert read("dmlviz_http_requests_total", route=route, status="404") > 0
    assert read("dmlviz_http_requests_total", method="other", status="405") > 0


def test_a_failed_request_is_a_line_without_what_was_asked_for(client, caplog):
    with caplog.at_level("WARNING", logger="dmlviz.server"):
        client.get("/dmlviz/runs/0123456789abcdef/tracked_items.json?token=secret")
    (record,) = caplog.records
    assert record.fields["route"] == "/runs/{run}/tracked_items.json"
    assert record.fields | {"method": "GET", "status": 404} == record.fields
    assert "secret" not in str(vars(record))


def test_an_error_of_ours_is_counted_and_written(client, run, caplog, monkeypatch, read):
    monkeypatch.setattr(events, "_record", lambda *_: 1 / 0)
    lenient = TestClient(client.app, base_url="http://localhost", raise_server_exceptions=False)
    with caplog.at_level("ERROR", logger="dmlviz.server"):
        assert lenient.get(f"/dmlviz/frames/{run.id}/0123456789abcdef.i16").status_code == 500
    assert caplog.records[0].fields["status"] == 500
    assert read("dmlviz_http_requests_total", route="/frames/{run}/{frame}.i16", status="500") > 0


def test_jobs_and_their_waiting_are_counted(read):
    begin = read("dmlviz_jobs_ended_total", kind="train", state="failed")
    waited = read("dmlviz_job_waiting_seconds_sum", kind="train")
    count_job(report("a" * 16, "starting"))
    count_job(report("a" * 16, "failed", seconds=1.0, reason="no"))
    assert read("dmlviz_jobs_ended_total", kind="train", state="failed") == begin + 1
    assert read("dmlviz_job_waiting_seconds_sum", kind="train") == waited + 0.5
    assert read("dmlviz_jobs", kind="train", state="running") == 0


def test_the_first_frame_counts_once_from_the_click_and_only_while_it_is_live(read, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("dmlviz_app.server.metrics.time.monotonic", lambda: clock[0])
    frames, name = FirstFrames(), "dmlviz_first_frame_seconds"
    count, seconds = read(f"{name}_count"), read(f"{name}_sum")
    frames.on_job(report("a" * 16, "starting"))
    clock[0] += 1
    frames.on_frame("b" * 16)  # of a run that nobody trains
    frames.on_frame("a" * 16)
    frames.on_frame("a" * 16)
    assert read(f"{name}_count") == count + 1
    assert read(f"{name}_sum") == pytest.approx(seconds + 1.5)
    frames.on_job(report("c" * 16, "starting"))
    frames.on_job(report("c" * 16, "finished"))
    clock[0] += FETCH_TIME_S + 1
    frames.on_frame("c" * 16)  # opened later
    assert read(f"{name}_count") == count + 1


def test_what_the_server_has_now_is_looked_up(read, here, run):
    assert read("dmlviz_job_slots") == here.scheduler.slots
    assert read("dmlviz_runs_disk_limit_bytes") == here.settings.disk_limit * 1e9
    size = sum(file.stat().st_size for file in run.path.rglob("*") if file.is_file())
    assert read("dmlviz_runs_disk_bytes") == size
    assert read("dmlviz_memory_bytes", process="server") > 20e6
    assert read("dmlviz_event_streams") == 0


def test_the_machines_of_a_fleet_are_counted(read, here, monkeypatch):
    assert read("dmlviz_fleet_connected") == 0  # there is no fleet, and so no figure
    machines = [
        MachineInfo(name, f"tls://{name}", slots=2, gpus=0, datasets=(), versions={}, busy=0, refused=refused)
        for name, refused in (("gpu-1", ""), ("old", "It has dmlviz 0.0.1."))
    ]
    fleet = SimpleNamespace(machines=machines, trouble="", close=lambda: None)
    monkeypatch.setattr(here.scheduler, "fleet", fleet)
    assert read("dmlviz_fleet_connected") == 1
    assert read("dmlviz_fleet_machines", state="used") == 1
    assert read("dmlviz_fleet_machines", state="refused") == 1
    assert read("dmlviz_fleet_slots") == read("dmlviz_fleet_slots", machine="gpu-1") == 2
    assert read("dmlviz_fleet_jobs", machine="gpu-1") == 0
    fleet.trouble = "Nobody answers."
    assert read("dmlviz_fleet_connected") == 0


def test_a_job_whose_machine_was_lost_is_counted_and_has_not_ended(read):
    begin, ended = read("dmlviz_fleet_jobs_lost_total"), read("dmlviz_jobs_ended_total")
    count_job(report("d" * 16, "lost", seconds=1.0, worker="gpu-1", reason="gpu-1 was lost."))
    assert read("dmlviz_fleet_jobs_lost_total") == begin + 1
    assert read("dmlviz_jobs_ended_total") == ended
