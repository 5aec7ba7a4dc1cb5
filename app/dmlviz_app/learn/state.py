"""State of the Learn page: at the index, at an entry, a topic, a lesson, an answer."""

from collections.abc import Mapping
from dataclasses import dataclass

from dmlviz.catalog.parameters import describe_unknown
from dmlviz.lessons import LESSONS
from dmlviz_app.learn.answers import ANSWERS
from dmlviz_app.learn.catalog_index import KINDS, TOPICS

KEY = "page.learn"


def _places() -> dict[str, dict[str, str]]:
    """Return the titles of all places by kind and name; plug-ins may have brought some."""
    catalogs = {kind: {name: spec.title for name, spec in entry.catalog.items()} for kind, entry in KINDS.items()}
    topics = {name: title for name, (title, _) in TOPICS.items()}
    lessons = {name: lesson.title for name, lesson in LESSONS.items()}
    return catalogs | {"topic": topics, "lesson": lessons, "answer": {name: one.title for name, one in ANSWERS.items()}}


@dataclass
class LearnState:
    """`kind` and `name` of what is read, "" at the index; `search` is what is looked for there.

    `note` says that the address names something that does not exist.
    """

    kind: str = ""
    name: str = ""
    search: str = ""
    note: str = ""
    last_query: dict[str, str] | None = None

    def to_query(self) -> dict[str, str]:
        """Encode the state as URL parameters, without defaults."""
        if self.kind:
            return {self.kind: self.name}
        return {"search": self.search} if self.search else {}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "LearnState":
        """Read an address; for what does not exist it is the index, with a note."""
        note = ""
        for kind, titles in _places().items():
            if query.get(kind) in titles:
                return cls(kind, query[kind])
            if kind in query:
                note = describe_unknown(KINDS[kind].catalog.noun if kind in KINDS else kind, query[kind], titles)
        return cls(search=query.get("search", "")[:80], note=note)
