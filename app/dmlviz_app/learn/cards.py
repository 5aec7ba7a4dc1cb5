"""Cards of Learn: a link with a drawing, for each entry of the catalog, topic, lesson, answer and lab."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal
from zlib import crc32

from dmlviz.lessons import LESSONS
from dmlviz_app.learn.answers import ANSWERS
from dmlviz_app.learn.catalog_index import TOPICS, kind_of
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.protocol import Card, CardIndexProps, CardSection

PICTURES = Path(__file__).resolve().parent / "pictures.svg"
Form = Literal["large", "small", "words"]


@cache
def pictures() -> tuple[bytes, frozenset[str]]:
    """Return the drawings' file (scripts/make_learn_pictures.py writes it) and their names."""
    content = PICTURES.read_bytes()
    return content, frozenset(re.findall(r'<symbol id="([^"]+)"', content.decode()))


def card(kind: str, name: str, *, note: str = "") -> Card:
    """Return the card of an entry; one without a drawing of its own shows that of the first entry it is related to."""
    page_name = "learn"
    related: tuple[tuple[str, str], ...] = ()
    if kind == "topic":
        title, text = TOPICS[name]
    elif kind in ("lesson", "answer"):
        page = LESSONS[name] if kind == "lesson" else ANSWERS[name]
        title, text, related = page.title, page.summary, page.related
    else:
        spec, page_name = kind_of(kind).catalog[name], kind_of(kind).page
        title, text = spec.title, spec.summary
    names = ("-".join(place) for place in ((kind, name), *related))
    picture = next((drawing for drawing in names if drawing in pictures()[1]), "")
    return Card(address=f"{page_name}?{kind}={name}", title=title, text=text, note=note, picture=picture)


def section(cards: Iterable[Card], form: Form, title: str = "", text: str = "", heading: int = 3) -> CardSection:
    """Return cards below a heading."""
    return CardSection(title=title, text=text, heading=3 if heading == 3 else 4, form=form, cards=list(cards))


def show(sections: Iterable[CardSection], key: str) -> None:
    """Render sections of cards."""
    address = f"{ROUTES}/learn-pictures.svg?{crc32(pictures()[0]):08x}"
    mount("card_index", key=key, data=CardIndexProps(sections=list(sections), pictures=address))
