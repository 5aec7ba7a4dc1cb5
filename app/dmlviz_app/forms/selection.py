"""Selected test images as a word for an address, and what a page's Python hears of its view and asks of it."""

import re
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import streamlit as st

from dmlviz.config.projection import pack_bits, unpack_bits
from dmlviz_app.widgets.protocol import ViewCommand

_COMMAND = "view.command"


@dataclass(frozen=True)
class Selection:
    """Test images of `dataset`; `bits` as the map sends them: base64, bit i (little-endian) for image i."""

    dataset: str
    bits: str

    @classmethod
    def of(cls, dataset: str, items: np.ndarray) -> Self | None:
        """Select the images at these indices; None for none."""
        if not len(items):
            return None
        bits = np.zeros(int(items.max()) + 1, np.uint8)
        bits[items] = 1
        return cls(dataset, b64encode(np.packbits(bits, bitorder="little").tobytes()).decode())

    @property
    def encode(self) -> str:
        """For an address: the data set's name, a dot, and `word`."""
        return f"{self.dataset}.{self.word}"

    @property
    def word(self) -> str:
        """The images as a projection's `subset` names them."""
        return pack_bits(b64decode(self.bits))

    @property
    def count(self) -> int:
        """Number of images."""
        return int.from_bytes(b64decode(self.bits)).bit_count()

    @property
    def items(self) -> np.ndarray:
        """The indices of the images, ascending."""
        bits = np.unpackbits(np.frombuffer(b64decode(self.bits), np.uint8), bitorder="little")
        return np.flatnonzero(bits)

    @classmethod
    def decode(cls, word: str) -> Self | None:
        """Return the selection that a word encodes; None for an invalid word or an empty selection."""
        dataset, _, text = word.rpartition(".")
        bits = unpack_bits(text)
        return None if bits is None else cls(dataset, b64encode(bits).decode())


@dataclass(frozen=True)
class SeenView:
    """The part of the view that a page's Python needs.

    Attributes:
        pinned: Index of the pinned test image.
        step: Step at which the replay was paused; None at its end.
        selected: The selected test images.
    """

    pinned: int | None = None
    step: int | None = None
    selected: Selection | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """Read the parameters of an address or of a snapshot; what cannot be followed is left out."""
        pinned, step = (
            int(query[name]) if re.fullmatch("[0-9]{1,9}", query.get(name, "")) else None for name in ("pin", "step")
        )
        return cls(pinned, step, Selection.decode(query.get("select", "")))

    def to_query(self) -> dict[str, str]:
        """Return it as parameters of an address."""
        fields = {"pin": self.pinned, "step": self.step, "select": self.selected and self.selected.encode}
        return {name: str(value) for name, value in fields.items() if value is not None}


def command(page: str) -> ViewCommand | None:
    """Return the newest change that a page's browser was asked for."""
    newest: ViewCommand | None = st.session_state.get(f"{_COMMAND}.{page}")
    return newest


def ask(page: str, query: dict[str, str]) -> None:
    """Ask a page's browser for a change: parameters of an address; an empty `select` selects nothing."""
    number = time.time_ns() // 1000  # a new session may follow an old one in the same page
    st.session_state[f"{_COMMAND}.{page}"] = {"number": number, "query": query}
