"""Cards of pages to go to, in sections: the index of Learn, and that of Labs."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict


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
