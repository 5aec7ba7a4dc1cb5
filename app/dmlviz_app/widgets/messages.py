"""What could not be done, or needs to be known: one sentence at a place of the page, until its cause is gone."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from dmlviz.errors import BusyError

LOOK_S = 1.0  # between two looks whether somebody still has to wait
_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|<>$:~&-])")


def escape_markdown(text: object) -> str:
    """Escape `text`, so that Markdown renders no link, image, color or formula."""
    return _MARKS.sub(r"\\\1", str(text))


def warn(sentence: object) -> None:
    """Render a sentence that says what could not be done."""
    st.caption(f":orange[{escape_markdown(sentence)}]")


@dataclass
class _Message:
    sentence: str
    cause: Callable[[], object]
    lasts: Callable[[], bool] | None = None  # of a `BusyError`
    entry: Any = None  # what was entered and is refused
    seen: object = None  # the cause when the sentence was first asked for, as a tuple of one
    is_shown: bool = False


class Messages:
    """The sentences of a page by place: the key of a widget, or the name of a part, as "map".

    A place has one sentence, and loses it when its cause, a value read from the state of now, is another than when the
    sentence was first asked for. Whoever says it may go on changing the state until then.
    """

    def __init__(self, cause: Callable[[str], object]) -> None:
        """`cause(place)` is what the sentences of a place are about, unless they say otherwise."""
        self._cause = cause
        self._said: dict[str, _Message] = {}

    def say(self, place: str, sentence: object, cause: Callable[[], object] | None = None, entry: Any = None) -> None:
        """Say something at a place, in place of what was said; of a `BusyError` while it lasts; see `refused`."""
        lasts = sentence.lasts if isinstance(sentence, BusyError) else None
        self._said[place] = _Message(str(sentence), cause or (lambda: self._cause(place)), lasts, entry)

    def forget(self, *places: str) -> None:
        """Forget what was said at these places and within them ("map.seed" is within "map")."""
        self._said = {
            key: message for key, message in self._said.items() if not any(_is_within(key, place) for place in places)
        }

    def all(self) -> dict[str, str]:
        """Return the sentences whose cause lasts, by place."""
        for place, message in list(self._said.items()):
            now = (message.cause(),)
            message.seen = message.seen or now
            if message.seen != now or (message.lasts is not None and not message.lasts()):
                del self._said[place]
        return {place: message.sentence for place, message in self._said.items()}

    def refused(self) -> dict[str, Any]:
        """Return the refused entries that stay in their fields, by place."""
        return {place: self._said[place].entry for place in self.all() if self._said[place].entry is not None}

    def show(self, *places: str) -> None:
        """Render what is said at these places and within them."""
        for sentence in self.take(*places):
            warn(sentence)

    def take(self, *places: str) -> list[str]:
        """Return what is said at these places and within them, to be shown by the caller."""
        said = {
            place: sentence for place, sentence in self.all().items() if any(_is_within(place, name) for name in places)
        }
        for place in said:
            self._said[place].is_shown = True
        return list(said.values())

    def begin(self) -> None:
        """Begin to draw the page: nothing is shown yet."""
        for message in self._said.values():
            message.is_shown = False

    def show_rest(self) -> None:
        """Render what found no place on the page since `begin`; draw the page anew where a `BusyError` is over."""
        self.show(*(place for place, message in self._said.items() if not message.is_shown))
        if any(message.lasts is not None for message in self._said.values()):
            st.fragment(self._look, run_every=LOOK_S)()

    def _look(self) -> None:
        said = len(self._said)
        if len(self.all()) < said:
            st.rerun()


class Speaking:
    """The state of a form or page that says what it could not do."""

    @cached_property
    def messages(self) -> Messages:
        """What is said at its places."""
        return Messages(self.cause)

    def cause(self, place: str) -> object:
        """Return what the sentences at a place are about."""
        raise NotImplementedError


def _is_within(place: str, outer: str) -> bool:
    return place == outer or place.startswith(f"{outer}.")
