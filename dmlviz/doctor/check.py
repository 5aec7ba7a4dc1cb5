"""The result of one check."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "broken"]


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        name: What was looked at.
        state: "broken" where dmlviz cannot work, "warning" where a part of it cannot or will soon not.
        finding: What there is.
        remedy: What to do; empty where nothing is to be done.
    """

    name: str
    state: State
    finding: str
    remedy: str = ""
