"""The server's log: one line for each job that ended, each request that failed, and for each error.

Nothing personal is written: no pictures, no titles, no addresses with what follows the question mark, and of a person
only a pseudonym.
"""

import hashlib
import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from dmlviz.jobs.job import JobReport
from dmlviz_app.server.settings import LogFormat, LogLevel

LOGGER = logging.getLogger("dmlviz.server")
OUR_LOGGERS = ("dmlviz", "app")
_FIELDS = "fields"  # attribute of a log record that holds the fields of its line


class LineFormatter(logging.Formatter):
    """Writes one line for each record: time, level, event and its fields.

    Args:
        log_format: "text" for key=value, "json" for an object.
    """

    def __init__(self, log_format: LogFormat) -> None:
        super().__init__()
        self._write = json.dumps if log_format == "json" else _key_values

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record; a traceback is a field of it."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        fields = getattr(record, _FIELDS, None)
        line |= {"logger": record.name} if fields is None else fields
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return self._write(line)


def _key_values(line: dict[str, Any]) -> str:
    """Return the line as key=value; a traceback stays readable below it."""
    traceback = line.pop("traceback", None)
    parts = [line.pop("time"), line.pop("level").upper(), _plain(line.pop("event"), quote=False)]
    parts += [f"{key}={_plain(value)}" for key, value in line.items() if value not in (None, "")]
    return " ".join(parts) + ("" if traceback is None else f"\n{traceback}")


def _plain(value: object, quote: bool = True) -> str:
    """Return a value without line breaks or control characters; quoted where it holds a blank, a quote or =."""
    text = str(value)
    line = json.dumps(text, ensure_ascii=not text.isprintable())
    return line if quote and (any(sign in text for sign in ' "=') or not text.isprintable()) else line[1:-1]


class _ServerHandler(logging.StreamHandler[Any]):
    """The handler that `configure_logs` adds, with a class of its own by which it is found again."""


def configure_logs(log_format: LogFormat = "text", log_level: LogLevel = "info") -> None:
    """Write the log on standard error, from this level on; a second call replaces the first.

    Streamlit and the web server below it write through handlers of their own: these get the same format.
    """
    formatter = LineFormatter(log_format)
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _ServerHandler)]:
        root.removeHandler(handler)
    handler = _ServerHandler(sys.stderr)
    handler.setFormatter(formatter)
    root.addHandler(handler)
    for name in OUR_LOGGERS:
        logging.getLogger(name).setLevel(log_level.upper())
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger) and not logger.propagate:
            for other in logger.handlers:
                if isinstance(other, logging.StreamHandler):
                    other.setFormatter(formatter)


def pseudonym(person: str) -> str:
    """Return what the log calls a person: the same each time, and not the cookie or the e-mail.

    Examples:
        >>> pseudonym("ada@school.example")
        '0923909b'
    """
    return hashlib.sha256(person.encode()).hexdigest()[:8] if person else ""


def log_job(report: JobReport) -> None:
    """Write one line about a job that has ended; one about a job that begins only at level debug."""
    level = {"starting": logging.DEBUG, "failed": logging.WARNING}.get(report.state, logging.INFO)
    _log(
        level,
        "job",
        kind=report.kind,
        run=report.run,
        name=report.name,
        owner=pseudonym(report.owner),
        state=report.state,
        waited=round(report.waited, 3),
        seconds=round(report.seconds, 3),
        worker=report.worker,
        reason=report.reason,
    )


def log_failed_request(method: str, route: str, status: int, seconds: float) -> None:
    """Write one line about a request that was refused or failed.

    Args:
        method: Its HTTP method.
        route: Template of the route, such as "/runs/{run}/events": what was asked for is not written.
        status: Status of the answer, 400 or above.
        seconds: Seconds that it took.
    """
    level = logging.WARNING if status < 500 or status == 503 else logging.ERROR  # 503: not ready yet
    _log(level, "request", method=method, route=route, status=status, seconds=round(seconds, 3))


def _log(level: int, event: str, **fields: Any) -> None:
    LOGGER.log(level, event, extra={_FIELDS: fields})
