"""Selected test images as a word for an address: the data set's name, a dot, and their bits, deflated."""

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Self

import numpy as np

from dmlviz.config.projection import pack_bits, unpack_bits


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
