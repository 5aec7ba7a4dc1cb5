"""Learn: props of its index, and the glossary that explains words on all pages."""

from typing import Literal

from typing_extensions import TypedDict


class GlossaryProps(TypedDict):
    """What explains the words of a page: it needs nothing but to be there."""


class GlossaryTerm(TypedDict):
    """dmlviz/glossary.json: one for each term, by its name."""

    title: str
    text: str


class LearnCard(TypedDict):
    """A page to go to: its `address`, seen from Learn; the name of its drawing ("" for none); `note` is in gray."""

    address: str
    title: str
    text: str
    note: str
    picture: str


class LearnSection(TypedDict):
    """Cards below a heading of level 3 or 4: large ones with their text, small ones, or words alone."""

    title: str
    text: str
    heading: Literal[3, 4]
    form: Literal["large", "small", "words"]
    cards: list[LearnCard]


class LearnIndexProps(TypedDict):
    """The index, or the results of a search; `pictures` is the address of the drawings."""

    sections: list[LearnSection]
    pictures: str
