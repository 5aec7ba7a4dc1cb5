"""Cards of pages to go to, pictures of nets, the glossary, Help, and the view as the address holds it."""

from typing import Literal, NotRequired

from typing_extensions import TypeAliasType, TypedDict

from dmlviz.nets.architecture import Picture as Picture


class Card(TypedDict):
    """A page to go to.

    `address` is seen from the page, `picture` the name of a drawing ("" for none), `chart` an SVG picture of the
    card's own; `note` is in gray.
    """

    address: str
    title: str
    text: str
    note: str
    picture: str
    chart: NotRequired[str]


class CardSection(TypedDict):
    """Cards below a heading of level 3 or 4: large ones with their text, small ones, or words alone."""

    title: str
    text: str
    heading: Literal[3, 4]
    form: Literal["large", "small", "words"]
    cards: list[Card]


class CardIndexProps(TypedDict):
    """Cards in sections; `pictures` is the address of the drawings ("" for none)."""

    sections: list[CardSection]
    pictures: str


class GlossaryProps(TypedDict):
    """What explains the words of a page: it needs nothing but to be there."""


class ArchitectureProps(TypedDict):
    """The address of a net's picture."""

    url: str


class GlossaryTerm(TypedDict):
    """dmlviz/glossary.json: one for each term, by its name."""

    title: str
    text: str


ViewKey = TypeAliasType(
    "ViewKey",
    Literal[
        "pin",
        "partner",
        "step",
        "select",
        "isolate",
        "hide",
        "color",
        "metric",
        "open",
        "show.names",
        "show.trails",
        "show.contours",
        "show.pictures",
        "show.images",
        "show.markers",
    ],
)
"""The parameters of an address that the browser writes; all others are the server's."""


class ViewCommand(TypedDict):
    """A change of what is looked at that the server asks for, as parameters of an address; done once."""

    number: int
    query: dict[str, str]


class MethodInfo(TypedDict):
    """A caution about reading a projection."""

    title: str
    caution: str


class HelpProps(TypedDict):
    """Help, which is the same on every page."""
