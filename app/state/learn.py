"""Where a person is in the Learn page: at the index, at an entry, at a topic, at a lesson."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.content.catalog_index import KINDS, TOPICS
from dmlviz.lessons import LESSONS

KEY = "learning"
_PLACES: Mapping[str, Mapping[str, object]] = (
    {name: kind.catalog for name, kind in KINDS.items()} | {"topic": TOPICS} | {"lesson": LESSONS}
)


@dataclass
class LearnState:
    """`kind` and `name` of what is read, "" at the index; `search` is what is looked for there."""

    kind: str = ""
    name: str = ""
    search: str = ""
    last_query: dict[str, str] | None = None

    def to_query(self) -> dict[str, str]:
        """Encode the state as URL parameters, without defaults."""
        if self.kind:
            return {self.kind: self.name}
        return {"search": self.search} if self.search else {}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "LearnState":
        """Read an address; what is not there is the index."""
        for kind, names in _PLACES.items():
            if query.get(kind) in names:
                return cls(kind, query[kind])
        return cls(search=query.get("search", "")[:80])
