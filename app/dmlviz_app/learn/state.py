"""State of the Learn page: at the index, at an entry, a topic, a lesson, an answer."""

from collections.abc import Mapping
from dataclasses import dataclass

from dmlviz.lessons import LESSONS
from dmlviz_app.learn.answers import ANSWERS
from dmlviz_app.learn.catalog_index import KINDS, TOPICS
from dmlviz_app.widgets.address import SEARCH, Address, Param, UrlState, choice

KEY = "page.learn"


def _places() -> dict[str, dict[str, str]]:
    """Return the titles of all places by kind and name; plug-ins may have brought some."""
    catalogs = {kind: {name: spec.title for name, spec in entry.catalog.items()} for kind, entry in KINDS.items()}
    topics = {name: title for name, (title, _) in TOPICS.items()}
    lessons = {name: lesson.title for name, lesson in LESSONS.items()}
    return catalogs | {"topic": topics, "lesson": lessons, "answer": {name: one.title for name, one in ANSWERS.items()}}


def _place_params(state: "LearnState") -> list[Param]:
    """Return a parameter for each kind of place."""
    return [_place_param(kind, titles) for kind, titles in _places().items()]


def _place_param(kind: str, titles: Mapping[str, str]) -> Param:
    noun = KINDS[kind].catalog.noun if kind in KINDS else kind
    return Param(
        kind,
        choice(noun, lambda state: titles),
        "",
        get=lambda state: state.name if state.kind == kind else "",
        set=lambda state, name: state.open(kind, name),
    )


@dataclass
class LearnState(UrlState):
    """`kind` and `name` of what is read, "" at the index; `search` is what is looked for there."""

    kind: str = ""
    name: str = ""
    search: str = ""
    last_query: dict[str, str] | None = None

    ADDRESS = Address(Param("search", SEARCH, ""), more=[_place_params])

    def open(self, kind: str, name: str) -> None:
        """Read this place, if none is read yet."""
        if not self.kind:
            self.kind, self.name, self.search = kind, name, ""
