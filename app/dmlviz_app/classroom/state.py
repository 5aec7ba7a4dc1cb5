"""The state of the page of a class: the code that a link brings."""

from collections.abc import Mapping
from dataclasses import dataclass

from dmlviz_app.people.classroom import normal_code

KEY = "page.class"


@dataclass
class ClassroomState:
    """`code` is what a link or QR code brings, for the form to join; empty without one."""

    code: str = ""
    last_query: dict[str, str] | None = None

    def to_query(self) -> dict[str, str]:
        """Encode the state as URL parameters, without defaults."""
        return {"code": self.code} if self.code else {}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "ClassroomState":
        """Read an address."""
        return cls(code=normal_code(query.get("code", "")))
