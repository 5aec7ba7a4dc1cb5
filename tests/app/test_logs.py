"""The server's log: one line each, for people and for programs, with nothing personal in it."""

import io
import json
import logging
import re

import pytest
from dmlviz_app.server import logs
from dmlviz_app.server.logs import LineFormatter, configure_logs, log_failed_request, log_job, pseudonym
from dmlviz_app.server.settings import Settings

from dmlviz.errors import UserError
from dmlviz.jobs.job import JobReport

FAILED = JobReport(
    kind="train",
    run="0123456789abcdef",
    name="",
    owner="ada@school.example",
    state="failed",
    waited=1.23456,
    seconds=2.0,
    worker="4711",
    reason='The loss "triplet"\nis NaN.',
)


@pytest.fixture
def written(monkeypatch):
    """`written(**settings)` configures the log; what is written from then on is in the stream that it returns."""
    loggers = {name: logging.getLogger(name) for name in (*logs.OUR_LOGGERS,)}
    levels = {name: logger.level for name, logger in loggers.items()}
    handlers = [*logging.getLogger().handlers]

    def configure(**settings):
        stream = io.StringIO()
        monkeypatch.setattr("sys.stderr", stream)
        configure_logs(**settings)
        return stream

    yield configure
    logging.getLogger().handlers[:] = handlers
    for name, logger in loggers.items():
        logger.setLevel(levels[name])


def test_a_job_is_one_json_object_a_line(written):
    stream = written(log_format="json")
    log_job(FAILED)
    (line,) = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]{12}\+00:00", entry.pop("time"))
    assert entry == {
        "level": "warning",
        "event": "job",
        "kind": "train",
        "run": "0123456789abcdef",
        "name": "",
        "owner": pseudonym("ada@school.example"),
        "state": "failed",
        "waited": 1.235,
        "seconds": 2.0,
        "worker": "4711",
        "reason": 'The loss "triplet"\nis NaN.',
    }


def test_a_job_is_one_line_of_key_and_value_on_a_terminal(written):
    stream = written()
    log_job(FAILED)
    (line,) = stream.getvalue().splitlines()
    assert " WARNING job kind=train run=0123456789abcdef owner=" in line
    assert r'reason="The loss \"triplet\"\nis NaN."' in line
    assert "name" not in line
    assert "ada" not in line


def test_a_failed_request_is_a_line(written):
    stream = written(log_format="json")
    log_failed_request("GET", "/runs/{run}/events", 500, 0.25)
    request = json.loads(stream.getvalue())
    assert (request["level"], request["route"], request["status"]) == ("error", "/runs/{run}/events", 500)


def test_an_exception_is_one_json_line_with_its_traceback(written):
    stream = written(log_format="json")
    try:
        raise ValueError("this\nand that")
    except ValueError:
        logging.getLogger("dmlviz_app.server.event_stream").exception("a log could not be followed")
    (line,) = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert entry["logger"] == "dmlviz_app.server.event_stream"
    assert entry["traceback"].startswith("Traceback")


def test_the_level_decides_what_is_written(written):
    stream = written(log_level="error")
    log_failed_request("GET", "/runs", 404, 0.25)
    assert stream.getvalue() == ""
    stream = written(log_level="debug")
    log_failed_request("GET", "/runs", 404, 0.25)
    assert stream.getvalue().count("\n") == 1  # the first handler is gone


def test_streamlits_own_loggers_get_the_same_format(written):
    logger = logging.getLogger("streamlit.tests.of.the.log")
    logger.propagate = False
    stream = io.StringIO()
    logger.addHandler(logging.StreamHandler(stream))
    written(log_format="json")
    logger.warning("a\nb")
    assert json.loads(stream.getvalue())["event"] == "a\nb"


def test_hostile_text_cannot_forge_a_line():
    record = logging.LogRecord("dmlviz", logging.INFO, "", 0, "job\n2026 INFO login\x1b[2J", None, None)
    record.fields = {"reason": "x\u2028y role=admin"}
    line = LineFormatter("text").format(record)
    assert line.isprintable()
    assert line.endswith(r'INFO job\n2026 INFO login\u001b[2J reason="x\u2028y role=admin"')


@pytest.mark.parametrize(
    ("variable", "value"),
    [("DMLVIZ_LOG_FORMAT", "xml"), ("DMLVIZ_LOG_LEVEL", "loud"), ("DMLVIZ_METRICS_TOKEN", "short")],
)
def test_an_unknown_setting_is_one_sentence(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(UserError, match=r"is one of|at least 16"):
        Settings()
