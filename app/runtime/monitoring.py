"""How a server tells what happens in it: its log, and the token for its metrics."""

import os
import re
from dataclasses import dataclass
from typing import Literal, get_args

from dmlviz.errors import UserError

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
MIN_TOKEN_LENGTH = 16
_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")


@dataclass(frozen=True, kw_only=True)
class Monitoring:
    """How a server tells what happens in it.

    Attributes:
        log_format: "text" writes key=value for a terminal, "json" one object a line.
        log_level: The least important level that is written.
        metrics_token: What whoever asks for metrics must know; None answers only programs on the same machine.
    """

    log_format: LogFormat = "text"
    log_level: LogLevel = "info"
    metrics_token: str | None = None

    def __post_init__(self) -> None:
        for option, value, choices in (
            ("log format", self.log_format, get_args(LogFormat)),
            ("log level", self.log_level, get_args(LogLevel)),
        ):
            if value not in choices:
                raise UserError(f"The {option} is one of {', '.join(choices)}; got {value[:40]!r}.")
        token = self.metrics_token
        if token is not None and (len(token) < MIN_TOKEN_LENGTH or not _TOKEN.fullmatch(token)):
            raise UserError(
                f"A metrics token has at least {MIN_TOKEN_LENGTH} letters, digits or . _ ~ -, so that nobody guesses "
                f"it; got {len(token)} characters. `openssl rand -hex 16` makes one."
            )


def monitoring_from_environment() -> Monitoring:
    """Return what DMLVIZ_LOG_FORMAT, DMLVIZ_LOG_LEVEL and DMLVIZ_METRICS_TOKEN say, as the options of `dmlviz serve`.

    Raises:
        UserError: If a value is none that the option takes.
    """
    return Monitoring(
        log_format=os.environ.get("DMLVIZ_LOG_FORMAT") or "text",  # type: ignore[arg-type]  # it checks them
        log_level=os.environ.get("DMLVIZ_LOG_LEVEL") or "info",  # type: ignore[arg-type]
        metrics_token=os.environ.get("DMLVIZ_METRICS_TOKEN") or None,
    )
